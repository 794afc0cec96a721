"""A rollout as a table: one row per step, for people and for whatever shows episodes step by step."""

import csv
import io

import numpy as np

from gymsolve.rollout.rollout import Rollout

__all__ = ["rollout_csv", "rollout_table"]

_WIDEST = 16
"""Observations with more numbers than this are left out: nobody reads a picture in a table."""


def rollout_table(
    rollout: Rollout, *, gamma: float, gae_lambda: float, most_rows: int | None = None
) -> tuple[list[str], list[list[object]]]:
    """Column names and rows, environment by environment; whole environments up to `most_rows`.

    Rewards are the ones learned from; `return` is the advantage plus the value it was measured against.
    """
    advantages = rollout.advantages(gamma=gamma, gae_lambda=gae_lambda)
    steps, envs = rollout.rewards.shape
    columns = {
        "reward": rollout.rewards,
        "value": rollout.values,
        "next_value": rollout.next_values,
        "advantage": advantages,
        "return": advantages + rollout.values,
        "log_prob": rollout.log_probs,
        "terminated": rollout.terminated.astype(np.int8),
        "truncated": rollout.truncated.astype(np.int8),
    }
    for part in range(rollout.actions.shape[2]):
        columns[f"action_{part}"] = rollout.actions[:, :, part]
    for key, array in rollout.obs.items():
        flat = array.reshape(steps, envs, -1)  # [T, N, D]
        if flat.shape[2] <= _WIDEST:
            columns |= {f"{key}_{i}": flat[:, :, i] for i in range(flat.shape[2])}
    shown = envs if most_rows is None else max(1, min(envs, most_rows // steps))
    rows: list[list[object]] = [
        [env, t, *(array[t, env].item() for array in columns.values())]
        for env in range(shown)
        for t in range(steps)
        if rollout.valid[t, env]
    ]
    return ["env", "step", *columns], rows


def rollout_csv(rollout: Rollout, *, gamma: float, gae_lambda: float, most_rows: int | None = None) -> str:
    """The table as CSV text."""
    header, rows = rollout_table(rollout, gamma=gamma, gae_lambda=gae_lambda, most_rows=most_rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
