"""One recorded episode in a file: observations, actions, rewards and values, step by step.

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
"""The most bytes that a file, and its facts, may unpack to: it may come from anybody."""
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
    """The facts in a file, without its arrays."""
    try:
        return json.loads(str(_load(path, "facts", _MOST_FACTS)["facts"]))
    except _DAMAGE as error:
        raise RunDamagedError("the file is not a recorded episode.", where=str(path)) from error


def _load(path: Path, only: str | None, most: int) -> dict[str, Array]:
    """The arrays of a file, or one of them; a ValueError where they would unpack to more than `most`."""
    with zipfile.ZipFile(path) as packed:
        entries = [file for file in packed.infolist() if only in (None, file.filename.removesuffix(".npy"))]
    size = sum(file.file_size for file in entries)
    if size > most:
        raise ValueError(f"it would unpack to {size:,} bytes")
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in (stored.files if only is None else (only,))}
