"""Branches of an inspected episode: the same steps up to one, another action there, then the policy.

The episode is played again from its seed, so the environment only has to be deterministic, and a recurrent
policy gets the same memory; where the family clones states, it is played from the last state that was kept
(`snapshots.py`). Up to the branch every state and step must be equal, bit for bit; otherwise nothing is
stored, and the error names the environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.recorder import LONGEST, EpisodeRecorder, Question, Watching
from gymsolve.apps.playback import Moment
from gymsolve.errors import CheckpointError, EnvFaultError, RunDamagedError, UsageError
from gymsolve.runs.inspections import Inspection
from gymsolve.spec import ActionSpec, Array, find_misfit

Forced = Mapping[int, tuple[float, ...]]
"""Actions by step, in the policy's units."""

_THOUGHT = ("value", "log_prob", "entropy", "params", "memory_norm", "memory_change", "forced", "seen/")
"""Fields that networks compute: their rounding depends on the number of rows in a batch."""
_OF_STATES = ("obs/", "planes/", "memory")
_LARGEST_NUMBER = 1e6


@dataclass(frozen=True)
class Branch:
    """An episode and its branch."""

    parent: InspectedEpisode
    child: InspectedEpisode
    step: int
    """The first step that may differ; all steps before are equal."""

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "compared": self.step + 1,
            "parent": _future(self.parent, self.step),
            "child": _future(self.child, self.step),
        }


def _future(episode: InspectedEpisode, step: int) -> dict[str, Any]:
    """The result of an episode from a step on."""
    facts, before = episode.facts, float(episode.column("raw_return")[step - 1]) if step else 0.0
    result = {key: facts.get(key) for key in ("length", "return", "end")}
    label = episode.labels[step] if step < len(episode) else None
    total = facts.get("return")
    return {
        "name": episode.stored.name,
        **result,
        "label": label,
        "action": episode.column("action")[step].tolist() if step < len(episode) else None,
        "to_come": None if total is None else total - before,
        "seen_to_come": float(episode.rewards[step:].sum()),
    }


def branch_off(
    examiner: EpisodeRecorder,
    parent: Inspection,
    forced: Forced,
    watching: Watching = lambda writer, states: True,
) -> Branch:
    """Play an episode again with other actions; the branch begins at the first of them."""
    if not forced:
        raise UsageError("a branch needs a step at which something else is done.")
    step, old = min(forced), InspectedEpisode(parent)
    require_step(old, step)
    require_checkpoint(examiner, parent)
    for actions in forced.values():
        _check_action(old.spec.action, actions)
    if old.masks is not None:
        require_legal(old.spec.action, forced[step], old.masks[step])
    question = same_question(examiner, parent, {**_forced_before(parent, step), **forced})
    inspection = examiner.stored(question)
    if inspection is None:
        inspection = examiner.play(question, watching, Same(old, step) if step else None)
    branch = Branch(old, InspectedEpisode(inspection), step)
    _require_equal(branch.parent, branch.child, step)
    return branch


def same_question(examiner: EpisodeRecorder, parent: Inspection, forced: Forced) -> Question:
    """The question that an episode answers, with other actions."""
    facts = parent.facts
    require_checkpoint(examiner, parent)
    about = {"parent": parent.name, "branch_at": min(forced)} if forced else {}
    cut = facts.get("end") == "cut"
    return Question(
        seed=facts["seed"],
        deterministic=facts["deterministic"],
        role=facts["role"],
        camera=parent.facts.get("camera") is True,
        task=facts.get("task"),
        steps=max((parent.facts["length"], 1, *(at + 1 for at in forced))) if cut else LONGEST,
        forced=forced,
        about=about,
    )


def require_checkpoint(examiner: EpisodeRecorder, parent: Inspection) -> None:
    """Refuse another policy than that which played the episode, and an episode of other spaces."""
    facts = parent.facts
    same = examiner.saved.meta["files"]["policy.safetensors"]["sha256"] == facts["policy_sha256"]
    if not same or find_misfit(examiner.policy.spec, InspectedEpisode(parent).spec) is not None:
        message = f"checkpoint {facts['checkpoint']} is not the one that played this episode."
        raise CheckpointError(message, hint="Inspect it again.")


def _check_action(action: ActionSpec, given: tuple[float, ...]) -> None:
    """Refuse an action that the policy cannot emit."""
    plain = len(given) == action.size and all(type(number) in (int, float) for number in given)
    if plain and action.nvec:
        pairs = zip(given, action.nvec, strict=True)
        plain = all(0 <= choice < choices and choice == int(choice) for choice, choices in pairs)
    elif plain:
        plain = all(abs(number) <= _LARGEST_NUMBER for number in given)
    if not plain:
        wanted = f"choices below {list(action.nvec)}" if action.nvec else f"{action.size} finite numbers"
        raise UsageError(f"{str(list(given))[:60]} is no action here: it takes {wanted}.", where="action")


def require_legal(action: ActionSpec, given: tuple[float, ...], mask: Array) -> None:
    """Refuse an action that the mask [mask_size] of its state forbids."""
    offsets = np.concatenate([[0], np.cumsum(action.nvec[:-1])])
    if not mask[(offsets + np.asarray(given)).astype(np.int64)].all():
        raise UsageError(f"{list(given)} is not legal in this state.", where="action")


def _forced_before(parent: Inspection, step: int) -> dict[int, tuple[float, ...]]:
    """Forced actions before a step, of an episode that is a branch itself."""
    given = parent.facts.get("forced") or {}
    try:
        return {int(at): tuple(action) for at, action in given.items() if int(at) < step}
    except (ValueError, TypeError, AttributeError) as error:
        raise RunDamagedError("forced actions are not told like this.", where=str(parent.path)) from error


class Same:
    """The states before a branch: they are reached again and compared bit for bit, but not drawn again."""

    def __init__(self, episode: InspectedEpisode, step: int) -> None:
        self.episode, self.states = episode, step
        self._memory, self._masks = episode.memory, episode.masks

    def holds(self, moment: Moment) -> bool:
        """The moment is before the branch; an error where it differs from the stored one."""
        if moment.step > self.states:
            return False
        name = self._difference(moment)
        if name is not None:
            raise _no_branch(self.episode, self.states, moment.step, name)
        return moment.step < self.states

    def _difference(self, moment: Moment) -> str | None:
        """The part of a moment that differs from the stored one, in words."""
        state, scene, old = moment.step, moment.scene, self.episode
        seen = old.observation(state)
        if any(scene.obs[key].tobytes() != seen[key].tobytes() for key in seen):
            return "the observation"
        if moment.over:
            return "the end"
        held, masks = self._memory, self._masks
        memory = moment.memory
        if memory is not None and held is not None and memory[0].tobytes() != held[state].tobytes():
            return "the memory"
        if scene.masks is not None and masks is not None and (scene.masks[0] != masks[state]).any():
            return "the mask"
        return self._step_difference(moment) if moment.chosen is not None else None

    def _step_difference(self, moment: Moment) -> str | None:
        """The part of the step before a moment that differs from the stored one, in words."""
        row, scene = self.episode.rows[moment.step - 1], moment.scene
        assert moment.chosen is not None
        if moment.chosen[0].astype(row["action"].dtype).tobytes() != row["action"].tobytes():
            return "the action before"
        if scene.reward != row["reward"] or scene.raw_return != row["raw_return"]:
            return "the reward"
        if row["lives"] != (-1 if scene.lives is None else scene.lives):
            return "the lives"
        paid = tuple(scene.components.values())
        return "a part of the reward" if paid and tuple(row["components"]) != paid else None


def _require_equal(old: InspectedEpisode, new: InspectedEpisode, step: int) -> None:
    """Refuse a stored branch that is not the same episode up to its step."""
    difference = find_difference(old, new, step, min(len(new.rows), step + 1))
    if difference is not None:
        raise _no_branch(old, step, *difference)


def _no_branch(old: InspectedEpisode, step: int, state: int, name: str) -> EnvFaultError:
    return does_not_replay(
        old, f"{name} of state {state} is not what it was, so there is no branch at step {step}"
    )


def does_not_replay(episode: InspectedEpisode, difference: str) -> EnvFaultError:
    """The error about an environment that is not deterministic."""
    same = "on the same seed and after the same actions"
    return EnvFaultError(
        f"{episode.facts['env_id']} does not replay: {same}, {difference}.",
        hint="`gymsolve check` says what an environment does with its seed.",
    )


def require_step(episode: InspectedEpisode, step: int) -> None:
    if not 0 <= step < len(episode):
        raise UsageError(f"the episode has {len(episode)} steps; there is no step {step}.", where="step")


def find_difference(
    old: InspectedEpisode, new: InspectedEpisode, step: int, states: int, *, policy: bool = True
) -> tuple[int, str] | None:
    """The first state below `states` that differs in two episodes, and the part that differs.

    Before `step`, states and steps are compared; at `step`, only observation and memory. Without `policy`,
    only inputs and outputs of the environment are compared.
    """
    if old.stored.fields != new.stored.fields:
        return 0, "the kind"
    differences: list[tuple[int, str]] = []
    for name in old.rows.dtype.names or ():
        if name.startswith(_THOUGHT) or (not policy and name in ("memory", "action")):
            continue
        last = min(states, len(old.rows), len(new.rows))
        if not name.startswith(_OF_STATES):
            last = min(last, step)
        differs = _rows_that_differ(old, new, name, last)
        if differs is not None:
            differences.append((differs, name.partition("/")[0]))
    if min(len(old.rows), len(new.rows)) < states:
        differences.append((min(len(old.rows), len(new.rows)), "the end"))
    if not differences:
        return None
    # Of several differences in a state, the observation comes first: the others may follow from it.
    state, name = min(differences, key=lambda pair: (pair[0], pair[1] not in ("obs", "planes")))
    return state, _IN_WORDS.get(name, f"the {name}")


_IN_WORDS = {"obs": "the observation", "planes": "the picture", "raw_return": "the return"}


def _rows_that_differ(old: InspectedEpisode, new: InspectedEpisode, name: str, last: int) -> int | None:
    ours, theirs = (_bits(episode.rows[name][:last]) for episode in (old, new))
    differ = np.flatnonzero((ours != theirs).any(axis=1))
    if len(differ):
        return int(differ[0])
    return _planes_that_differ(old, new, name, last) if name.startswith("planes/") else None


def _bits(column: Array) -> Array:
    """Rows as bytes [rows, bytes]: a NaN is equal to itself."""
    if not len(column):
        return np.zeros((0, 1), np.uint8)
    return np.ascontiguousarray(column).reshape(len(column), -1).view(np.uint8).reshape(len(column), -1)


def _planes_that_differ(old: InspectedEpisode, new: InspectedEpisode, name: str, last: int) -> int | None:
    """The first state whose planes differ although they have equal numbers."""
    numbers = old.rows[name][:last]
    for number in np.unique(numbers).tolist():
        if old.stored.read_planes([number]) != new.stored.read_planes([number]):
            return int(np.flatnonzero((numbers == number).reshape(len(numbers), -1).any(axis=1))[0])
    return None
