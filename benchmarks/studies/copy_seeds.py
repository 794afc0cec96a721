"""Do different seeds per copy help, and how different are the transitions of copies?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gymsolve.experience.collect as collecting
from benchmarks.studies.study import Case, Row, Study, mean_and_range, newest_run, train_one
from gymsolve import load_policy
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.experience.agent import Agent
from gymsolve.experience.learner import Policy
from gymsolve.runs.trust import buildable_settings
from gymsolve.seeding import generator, integer_seeds
from gymsolve.spec import Array

__all__ = ["SPANS", "STUDY", "difference_between_copies"]

_ARMS = ("own_seeds", "one_seed", "one_start")
_STEPS = {"CartPole-v1": 50_000, "LunarLander-v3": 200_000, "MiniGrid-DoorKey-5x5-v0": 100_000}
_COPIES, _LENGTH = 16, 200
SPANS = ((0, 1), (1, 10), (10, 50), (50, 200))
"""Steps since the common start between which copies are compared."""


def _cases(seeds: Sequence[int]) -> list[Case]:
    return [
        Case("copy_seeds", arm, env, seed, steps)
        for env, steps in _STEPS.items()
        for seed in seeds
        for arm in _ARMS
    ]


def _run(case: Case, root: Path) -> Row:
    settings: dict[str, Any] = {"eval.episodes": 50}
    if case.arm == "one_start":
        found = _wrappers_of(case.env)
        again = {"benchmarks.studies.wrappers:SameStart": {"seed": case.seed, "roles": ["train"]}}
        settings["env.wrappers"] = [again, *found]
    if case.arm == "one_seed":
        _give_one_seed()
    row = train_one(case, root, settings)
    return row | {"difference": _differences(case, root)} if case.arm != "one_start" else row


def _wrappers_of(env: str) -> list[Any]:
    """The wrappers of a recipe, as settings."""
    from gymsolve.recipes import resolve

    return list(resolve(env).config.model_dump(mode="json")["env"]["wrappers"])


def _give_one_seed() -> None:
    """From here on in this process, all copies that train begin with the same seed."""

    def alike(seed: int, stream: Any, count: int, *key: int) -> list[int]:
        given = integer_seeds(seed, stream, count, *key)
        return [given[0]] * count

    collecting.integer_seeds = alike  # type: ignore[attr-defined]


def _differences(case: Case, root: Path) -> dict[str, list[float]]:
    """How different copies are with the trained policy, sampled, after a common start of the clock."""
    run = newest_run(case.folder(root))
    config, _ = buildable_settings(run)
    policy = load_policy(f"{run.path}@last").policy
    seeds = integer_seeds(case.seed, "held_out", _COPIES)
    if case.arm == "one_seed":
        seeds = [seeds[0]] * _COPIES
    envs = make_envs(config.env, "eval", num_envs=_COPIES)
    try:
        seen = _watch(policy, envs, seeds, generator(case.seed, "held_out"))
    finally:
        envs.close()
    whole = difference_between_copies(seen)
    return {"spans": [round(float(np.mean(whole[a:b])), 4) for a, b in SPANS]}


def _watch(policy: Policy, envs: Envs, seeds: list[int], rng: np.random.Generator) -> Array:
    """Observations [T, N, D] of a policy at play."""
    agent, rows = Agent(policy, envs.num_envs), []
    obs, masks = envs.reset(seeds)
    for _ in range(_LENGTH):
        rows.append(np.concatenate([array.reshape(envs.num_envs, -1) for array in obs.values()], axis=1))
        step = envs.step(policy.spec.action.to_env(agent.choose(obs, masks, rng)))
        obs, masks = step.obs, step.masks
    return np.stack(rows).astype(np.float64)


def difference_between_copies(seen: Array) -> Array:
    """By step [T]: the mean squared distance of two copies over that of any two observations.

    1 is as different as two observations drawn at random from all of them, 0 is the same. Elements count
    alike: each is divided by its own variance, and one that never moves is left out.
    """
    spread = seen.reshape(-1, seen.shape[2]).var(axis=0)  # [D]
    moving = spread > 1e-12
    if not moving.any():
        return np.zeros(len(seen))
    copies = seen.shape[1]
    # The mean over pairs of copies of (x - y)² / 2 is the unbiased variance among the copies.
    among = seen[:, :, moving].var(axis=1) * copies / (copies - 1)  # [T, D]
    ratio: Array = (among / spread[moving]).mean(axis=1)
    return ratio


def _page(rows: list[Row]) -> list[str]:
    lines = ["| environment | " + " | ".join(f"{arm}: mean of the curve | last" for arm in _ARMS) + " |"]
    lines.append("| --- |" + " --- |" * (2 * len(_ARMS)))
    for env in _STEPS:
        cells = []
        for arm in _ARMS:
            found = [row for row in rows if (row["env"], row["arm"]) == (env, arm)]
            cells += [mean_and_range([row[key] for row in found]) for key in ("mean_of_curve", "last")]
        lines.append(f"| {env} | " + " | ".join(cells) + " |")
    lines += ["", "Difference between copies (0 alike, 1 as two observations at random), by step:", ""]
    lines.append("| environment | seeds | " + " | ".join(f"{a} to {b - 1}" for a, b in SPANS) + " |")
    lines.append("| --- | --- |" + " --- |" * len(SPANS))
    for env in _STEPS:
        for arm in ("own_seeds", "one_seed"):
            found = [row["difference"]["spans"] for row in rows if (row["env"], row["arm"]) == (env, arm)]
            means = [f"{np.mean(column):.2f}" for column in zip(*found, strict=True)]
            lines.append(f"| {env} | {arm} | " + " | ".join(means or ["–"] * len(SPANS)) + " |")
    return lines


STUDY = Study(
    "copy_seeds",
    "Do different seeds per copy help, and how different are their transitions?",
    "The recipes' PPO. `own_seeds`: every copy has a seed of its own, as in every run. `one_seed`: all "
    "copies begin with the same seed, so the n-th episode of each begins alike. `one_start`: every episode "
    "of every copy begins with one and the same seed. Evaluation plays its usual seeds in all three.",
    _cases,
    _run,
    _page,
    seeds=5,
)
