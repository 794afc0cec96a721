"""A rollout as a table: one row per step, for people and for whatever shows episodes step by step."""

import math

import numpy as np

from gymsolve.rollout.credit import TASK, Credit
from gymsolve.rollout.rollout import Rollout
from gymsolve.spec import Array

__all__ = ["rollout_columns", "rollout_csv"]

_WIDEST = 16
"""The table leaves out observations with more numbers than this: nobody reads a picture in a table."""


def rollout_columns(rollout: Rollout, credit: Credit, *, most_rows: int | None = None) -> dict[str, Array]:
    """Columns by name, environment after environment; whole environments up to `most_rows`.

    Rewards are the ones learned from; `return` is what the value should have been.
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
    shown = envs if most_rows is None else max(1, min(envs, most_rows // steps))
    real = rollout.valid[:, :shown].T  # [shown, T]
    return {name: array[:, :shown].T[real] for name, array in columns.items()}


def rollout_csv(rollout: Rollout, credit: Credit, *, most_rows: int | None = None) -> str:
    """The table as CSV text; nine digits are all that single precision has."""
    columns = rollout_columns(rollout, credit, most_rows=most_rows)
    fractions = [array.dtype.kind == "f" for array in columns.values()]
    row = ",".join("%.9g" if fraction else "%d" for fraction in fractions)
    # A format per row is several times as fast as the csv module, and checkpoints are written often.
    rows = [row % numbers for numbers in zip(*(array.tolist() for array in columns.values()), strict=True)]
    return "\n".join([",".join(columns), *rows, ""])
