"""One recorded episode as data: what was seen, done, earned and expected, step by step, in one file.

`episodes/<name>.npz` holds plain arrays and one JSON text; reading it runs no code from it. Row t of
`actions` was chosen on row t of `obs`; `obs` and `values` have one row more, for the state at the end.
"""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.errors import RunDamagedError
from gymsolve.runs.files import replace_bytes, to_json
from gymsolve.spec import Array

_MOST_BYTES = 4 << 30
_MOST_FACTS = 16 << 20
"""Bytes that a file may unpack to, all of it and what it says of itself: it may come from anybody."""
_DAMAGE = (OSError, ValueError, KeyError, TypeError, MemoryError, RecursionError, zipfile.BadZipFile)


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
    """`end` (terminated, truncated or cut), `length`, `return`, and whatever else the recorder was told."""
    who: Array | None = None  # [T], text
    """Who acted, where a person may have: `person`, `policy`, `untrained` or `random`."""
    proposed: Array | None = None  # [T, *shape]
    """What the policy would have done, in the steps where there was one; where not, what was done."""

    def save(self, path: Path) -> None:
        arrays: dict[str, Any] = {f"obs/{key}": values for key, values in self.obs.items()}
        arrays |= {"actions": self.actions, "rewards": self.rewards}
        arrays |= {"returns": self.returns, "values": self.values}
        optional = {"masks": self.masks, "who": self.who, "proposed": self.proposed}
        arrays |= {name: values for name, values in optional.items() if values is not None}
        held = io.BytesIO()
        np.savez_compressed(held, facts=np.array(to_json(self.facts)), **arrays)
        replace_bytes(path, held.getvalue())


def load_episode(path: Path) -> RecordedEpisode:
    """An episode from its file."""
    try:
        arrays = _load(path, None, _MOST_BYTES)
        facts = json.loads(str(arrays.pop("facts")))
        seen = [name for name in arrays if name.startswith("obs/")]
        obs = {name.removeprefix("obs/"): arrays.pop(name) for name in seen}
        masks = arrays.pop("masks", None)
        return RecordedEpisode(obs=obs, masks=masks, facts=facts, **arrays)
    except _DAMAGE as error:
        raise RunDamagedError("the file is not a recorded episode.", where=str(path)) from error


def read_facts(path: Path) -> Any:
    """What a file says of itself, without its arrays."""
    try:
        return json.loads(str(_load(path, "facts", _MOST_FACTS)["facts"]))
    except _DAMAGE as error:
        raise RunDamagedError("the file is not a recorded episode.", where=str(path)) from error


def _load(path: Path, only: str | None, most: int) -> dict[str, Array]:
    """The arrays of a file, or one of them; a ValueError where they would unpack to more than `most`."""
    with zipfile.ZipFile(path) as packed:
        size = sum(
            one.file_size for one in packed.infolist() if only in (None, one.filename.removesuffix(".npy"))
        )
    if size > most:
        raise ValueError(f"it would unpack to {size:,} bytes")
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in (stored.files if only is None else (only,))}
