"""One recorded episode in a file: observations, actions, rewards and values, step by step.

`episodes/<name>.npz` holds plain arrays and one JSON text; reading it runs no code from it. Row t of
`actions` was chosen on row t of `obs`; `obs` and `values` have one row more, for the state at the end.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.errors import RunDamagedError
from gymsolve.runs.files import parse_json, replace_bytes, to_json
from gymsolve.runs.npz import Declarations, read_arrays
from gymsolve.runs.schema import is_shallow
from gymsolve.spec import Array

_MOST_BYTES = 4 << 30
_MOST_COLUMNS = 512 << 20
_MOST_FACTS = 16 << 20
_MOST_STEPS = 1 << 22
"""The most bytes that a file, its columns and its facts may unpack to: it may come from anybody."""
_DAMAGED = "the file is not a recorded episode."
_OBS = "obs/"
_ACTORS = ("actions", "who", "proposed")
_ARRAYS = (*_ACTORS, "rewards", "returns", "values", "masks")


@dataclass(frozen=True)
class RecordedEpisode:
    """T steps of one environment."""

    obs: dict[str, Array]  # [T + 1, ...], as the policy saw them
    actions: Array  # [T, *shape], as the environment took them
    rewards: Array  # [T], as the agent saw them
    returns: Array  # [T], sum of the stock environment's rewards so far
    values: Array  # [T + 1], as the policy expected
    masks: Array | None  # [T, mask_size]
    facts: dict[str, Any]
    """`end` (terminated, truncated or cut), `length`, `return`, and further facts of the recorder."""
    who: Array | None = None  # [T], text
    """The actor of each step, where a person may have acted: `person`, `policy`, `untrained` or `random`."""
    proposed: Array | None = None  # [T, *shape]
    """The action that the policy proposed; the action taken in steps without a policy."""

    def save(self, path: Path) -> None:
        arrays: dict[str, Any] = {f"obs/{key}": values for key, values in self.obs.items()}
        arrays |= {"actions": self.actions, "rewards": self.rewards}
        arrays |= {"returns": self.returns, "values": self.values}
        optional = {"masks": self.masks, "who": self.who, "proposed": self.proposed}
        arrays |= {name: values for name, values in optional.items() if values is not None}
        held = io.BytesIO()
        np.savez_compressed(held, facts=np.array(to_json(self.facts)), **arrays)
        replace_bytes(path, held.getvalue())


@dataclass(frozen=True)
class Actors:
    """The columns of an episode that say who acted; as in `RecordedEpisode`."""

    actions: Array
    who: Array | None
    proposed: Array | None


def load_episode(path: Path) -> RecordedEpisode:
    """An episode from its file."""
    arrays = read_arrays(path, _DAMAGED, lambda name: True, most=_MOST_BYTES, check=_check)
    facts = _facts_in(arrays.pop("facts"), path)
    seen = [name for name in arrays if name.startswith(_OBS)]
    obs = {name.removeprefix(_OBS): arrays.pop(name) for name in seen}
    return RecordedEpisode(obs=obs, masks=arrays.pop("masks", None), facts=facts, **arrays)


def read_actors(path: Path) -> Actors:
    """The actors of an episode, without what was seen."""
    arrays = read_arrays(path, _DAMAGED, _ACTORS.__contains__, most=_MOST_COLUMNS, check=_check)
    return Actors(arrays["actions"], arrays.get("who"), arrays.get("proposed"))


def read_facts(path: Path) -> dict[str, Any]:
    """The facts in a file, without its arrays."""
    arrays = read_arrays(path, _DAMAGED, "facts".__eq__, most=_MOST_FACTS, check=_check)
    return _facts_in(arrays["facts"], path)


def _facts_in(text: Array, path: Path) -> dict[str, Any]:
    try:
        facts = parse_json(str(text).encode(errors="replace"))
    except ValueError as error:
        raise RunDamagedError(_DAMAGED, where=str(path)) from error
    if not isinstance(facts, dict) or not is_shallow(facts):
        raise RunDamagedError(_DAMAGED, where=str(path))
    return facts


def _check(arrays: Declarations) -> None:
    """Raise a ValueError unless these are the arrays of one episode, with the rows that they should have."""
    (steps,) = arrays["rewards"].shape
    if steps > _MOST_STEPS or arrays["facts"].shape or arrays["facts"].kind != "U":
        raise ValueError("more steps than any episode has, or no facts")
    rows = {"values": steps + 1} | {name: steps + 1 for name in arrays if name.startswith(_OBS)}
    for name, array in arrays.items():
        if name == "facts":
            continue
        if name not in _ARRAYS and not name.startswith(_OBS):
            raise ValueError(f"{name} is not kept here")
        if array.shape[:1] != (rows.get(name, steps),) or (array.kind == "U") != (name == "who"):
            raise ValueError(f"{name} does not fit the other arrays")
    same = arrays.get("proposed", arrays["actions"]).shape == arrays["actions"].shape
    flat = all(len(arrays[name].shape) == 1 for name in ("returns", "values", "who") if name in arrays)
    if not same or not flat or not {"returns", "values"} <= arrays.keys():
        raise ValueError("arrays of other shapes than an episode has")
