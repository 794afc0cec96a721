"""A rollout as a table: one row per step, for people and for pages that show episodes step by step."""

import math
from collections.abc import Mapping

import numpy as np

from gymsolve.experience.credit import TASK, Credit
from gymsolve.experience.rollout import Rollout
from gymsolve.spec import Array

_WIDEST = 16
"""The table leaves out observations with more numbers than this, such as pictures."""


def rollout_columns(
    rollout: Rollout, credit: Credit, *, most_rows: int | None = None, more: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Columns by name, environment after environment; whole environments up to `most_rows`.

    Rewards are scaled as for learning; `return` is the value target. `more` are further columns [T, N].
    """
    steps, envs = rollout.rewards.shape
    columns = {
        "env": np.broadcast_to(np.arange(envs), (steps, envs)),
        "step": np.broadcast_to(np.arange(steps)[:, None], (steps, envs)),
        "reward": rollout.rewards,
        "value": rollout.values,
        "next_value": rollout.next_values,
        "advantage": credit.advantages,
        "return": credit.targets[TASK],
        "log_prob": rollout.log_probs,
        "terminated": rollout.terminated,
        "truncated": rollout.truncated,
    }
    for part in range(rollout.actions.shape[2]):
        columns[f"action_{part}"] = rollout.actions[:, :, part]
    for key, stored in rollout.obs.items():
        if math.prod(stored.shape[2:]) <= _WIDEST:
            flat = np.asarray(stored).reshape(steps, envs, -1)  # [T, N, D]
            columns |= {f"{key}_{i}": flat[:, :, i] for i in range(flat.shape[2])}
    columns |= more or {}
    count = envs if most_rows is None else max(1, min(envs, most_rows // steps))
    real = rollout.valid[:, :count].T  # [count, T]
    return {name: array[:, :count].T[real] for name, array in columns.items()}


def rollout_csv(rollout: Rollout, credit: Credit, *, most_rows: int | None = None) -> str:
    """The table as CSV text."""
    return columns_csv(rollout_columns(rollout, credit, most_rows=most_rows))


def columns_csv(columns: Mapping[str, Array]) -> str:
    """Columns as CSV text; nine digits are all that single precision has."""
    row = ",".join(_FORMATS.get(array.dtype.kind, "%d") for array in columns.values())
    # A format per row is several times as fast as the csv module, and checkpoints are written often.
    cells = (_quoted(array) if array.dtype.kind == "U" else array.tolist() for array in columns.values())
    rows = [row % numbers for numbers in zip(*cells, strict=True)]
    return "\n".join([",".join(columns), *rows, ""])


_FORMATS = {"f": "%.9g", "U": "%s"}


def _quoted(array: Array) -> list[str]:
    """Text for CSV; in quotation marks where a comma or a line break would split it."""
    plain = {text: text for text in set(array.tolist())}
    for text in plain:
        if any(sign in text for sign in ',"\n\r'):
            plain[text] = '"' + text.replace('"', '""') + '"'
    return [plain[text] for text in array.tolist()]
