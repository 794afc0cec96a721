"""Verbs of the inspector's page about the network: filters, activations, saliency, dead channels.

Torch runs the networks here, whichever engine acts. Arrays go to the page as float32, one after another.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gymsolve.apps.inspector.branching import require_checkpoint
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.session import Desk, text_in, whole_in
from gymsolve.errors import UsageError
from gymsolve.nn.policy import Policy
from gymsolve.nn.saliency import (
    Asked,
    activations,
    answers,
    find_filters,
    gradients,
    occlude,
    occlusion_stride,
    shares_active,
)
from gymsolve.runs.inspections import open_inspection
from gymsolve.spec import Array
from gymsolve.training.engines.own_algorithm import find_policy

_MOST_STATES = 512
"""The most states of an episode in which dead channels are searched, evenly spread."""
_MOST_BYTES = 200 << 20
"""The most bytes of their observations."""


def look(desk: Desk, message: dict[str, Any]) -> None:
    """Send the page `what` the network does in a `state` of an `episode`."""
    parent = open_inspection(desk.run, text_in(message, "episode") or "")
    examiner = desk.examiner(parent.facts["checkpoint"])
    require_checkpoint(examiner, parent)
    about = examiner.saved.policy_metadata
    kind = find_policy(about.get("kind", "actor_critic"), examiner.config)
    policy: Any = kind.from_arrays(examiner.saved.policy, about, examiner.config.net.encoder)
    episode, what = InspectedEpisode(parent), text_in(message, "what") or ""
    if what not in _LOOKS:
        raise UsageError(f"there is nothing to see of {what[:40]!r}.", hint=f"There are {', '.join(_LOOKS)}.")
    facts, arrays = _LOOKS[what](policy, episode, message)
    places, blob = pack_arrays(arrays)
    desk.tell("done", blob, what=what, arrays=places, **facts)


_Seen = tuple[dict[str, Any], dict[str, Array]]


def _look_at_network(policy: Policy, episode: InspectedEpisode, message: dict[str, Any]) -> _Seen:
    """The network's layers and their shapes, and the filters of the first ones."""
    outputs = activations(policy, episode.observation(0), _memory(episode, 0))
    layers = [{"name": name, "shape": list(out.shape[1:])} for name, out in outputs.items()]
    filters = find_filters(policy)
    arrays = {f"filters/{number}": bank.weights for number, bank in enumerate(filters)}
    about = [
        {"entry": bank.entry, "side": bank.side, "array": name}
        for bank, name in zip(filters, arrays, strict=True)
    ]
    names = episode.facts["obs_names"]
    entries = [
        {"key": key, "kind": entry.kind, "shape": list(entry.shape), "names": names.get(key, [])}
        for key, entry in policy.spec.obs.items()
    ]
    return {"layers": layers, "filters": about, "entries": entries, "shared": policy.shared}, arrays


def _look_at_saliency(policy: Policy, episode: InspectedEpisode, message: dict[str, Any]) -> _Seen:
    """Gradients and occlusion of action and value, for every entry of the observation."""
    if not isinstance(policy, Policy):
        message = "saliency is about a policy and its values, and this run learns action values."
        raise UsageError(message, hint="Look at the layers and filters of its network.")
    asked, label = _asked(policy, episode, _state(episode, message))
    log_prob, value = answers(policy, asked)
    arrays: dict[str, Array] = {}
    for key, slope in gradients(policy, asked).items():
        arrays[f"gradient/action/{key}"] = slope.action * slope.unit
        arrays[f"gradient/value/{key}"] = slope.value * slope.unit
    for key, covered in occlude(policy, asked).items():
        arrays[f"occlusion/action/{key}"] = covered.action
        arrays[f"occlusion/value/{key}"] = covered.value
    images = {key: entry for key, entry in policy.spec.obs.items() if entry.kind == "image"}
    strides = {key: occlusion_stride(entry.shape) for key, entry in images.items()}
    return {"label": label, "log_prob": log_prob, "value": value, "strides": strides}, arrays


def _look_at_layer(policy: Policy, episode: InspectedEpisode, message: dict[str, Any]) -> _Seen:
    """The outputs of one layer."""
    state, name = _state(episode, message), text_in(message, "layer") or ""
    outputs = activations(policy, episode.observation(state), _memory(episode, state))
    if name not in outputs:
        raise UsageError(f"the network has no layer {name[:80]!r}.", where="layer")
    return {"layer": name}, {"layer": outputs[name][0]}


def _look_for_dead(policy: Policy, episode: InspectedEpisode, message: dict[str, Any]) -> _Seen:
    """The share of the episode's states in which each channel of each layer is not 0."""
    count = len(episode.rows)
    size = sum(array.nbytes for array in episode.observation(0).values())
    most = max(1, min(count, _MOST_STATES, _MOST_BYTES // size))
    states = np.unique(np.linspace(0, count - 1, most).astype(int))
    seen = [episode.observation(int(state)) for state in states]
    obs = {key: np.concatenate([observation[key] for observation in seen]) for key in seen[0]}
    memory = None if episode.memory is None else np.array(episode.memory[states])
    shares = shares_active(policy, obs, memory)
    dead = {name: int((share == 0).sum()) for name, share in shares.items()}
    return {"states": len(states), "dead": dead}, {f"active/{name}": share for name, share in shares.items()}


_LOOKS = {
    "network": _look_at_network,
    "saliency": _look_at_saliency,
    "layer": _look_at_layer,
    "dead": _look_for_dead,
}


def _asked(policy: Policy, episode: InspectedEpisode, state: int) -> tuple[Asked, str]:
    """The policy's inputs in a state and the name of its action; at the end, the action it would take."""
    obs, memory = episode.observation(state), _memory(episode, state)
    if state >= len(episode):
        own = {key: array.copy() for key, array in obs.items()}  # torch wants arrays that may be written to
        return Asked(own, policy.choose(own, None, memory).actions, None, memory), ""
    masks = episode.masks
    mask = None if masks is None else masks[state : state + 1]
    actions = np.array(episode.column("action")[state : state + 1])
    return Asked(obs, actions, mask, memory), episode.labels[state]


def _memory(episode: InspectedEpisode, state: int) -> Array | None:
    return None if episode.memory is None else np.array(episode.memory[state : state + 1])


def _state(episode: InspectedEpisode, message: dict[str, Any]) -> int:
    state = whole_in(message, "state", 0)
    count = len(episode.rows)
    if not 0 <= state < count:
        raise UsageError(f"the episode has {count} states; there is no state {state}.", where="state")
    return state


def pack_arrays(arrays: Mapping[str, Array]) -> tuple[list[dict[str, Any]], bytes]:
    """Places of the arrays, and the arrays as float32 bytes."""
    places, parts, at = [], [], 0
    for name, array in arrays.items():
        finite = np.nan_to_num(np.ascontiguousarray(array, "<f4"), posinf=0.0, neginf=0.0)
        places.append({"name": name, "shape": list(array.shape), "at": at})
        parts.append(finite.tobytes())
        at += len(parts[-1])
    return places, b"".join(parts)
