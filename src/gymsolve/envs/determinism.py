"""What seeds do in an environment: do copies differ, does a seed repeat, does a resumed copy go on alike?"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.config import EnvConfig
from gymsolve.envs.backends.ale import games_differ
from gymsolve.envs.backends.same_step import SameStepEnvs
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.envs.random_policy import blind_actions

__all__ = ["Determinism", "check_determinism", "know_determinism"]

_FEWEST = 8


@dataclass(frozen=True)
class Determinism:
    """What seeds do, judged from short trajectories under the same actions."""

    copies_identical: bool
    """Different seeds led to the same trajectory: parallel copies would add no variety."""
    seed_reproduces: bool
    """The same seed led to the same trajectory."""
    resumes_exactly: bool
    """A copy restored in the middle of things went on like the original."""


def know_determinism(config: EnvConfig) -> Determinism:
    """The same without a trial where none is needed: emulators start slowly and are known.

    ALE's own class resumes by replay, and a resume that is not exact is found by comparing pictures.
    """
    if choose_backend(config, "train") == "ale" and games_differ(config):
        return Determinism(copies_identical=False, seed_reproduces=True, resumes_exactly=True)
    return check_determinism(config)


def check_determinism(config: EnvConfig, steps: int = 64) -> Determinism:
    """Step four copies alike (two of one seed, two of others), then four restored ones beside them.

    Slow environments get fewer steps, so that this takes a second or two at the most.
    """
    # ALE's vector class draws and restores in a way of its own; the others give what sync gives.
    own = "ale" if choose_backend(config, "train") == "ale" else "sync"
    calm = config.model_copy(update={"backend": own})
    envs = make_envs(calm, "train", num_envs=4)
    twins = make_envs(calm, "train", num_envs=4)
    try:
        alike, taken = _compare_seeds(envs, steps)
        resumes = _compare_resumed(envs, twins, taken)
    finally:
        envs.close()
        twins.close()
    return Determinism(all(alike.values()), alike[1], resumes)


def _compare_seeds(envs: Envs, most: int) -> tuple[dict[int, bool], int]:
    """Which rows went the way of row 0 (row 1 had its seed), and for how many steps that was looked at.

    As many as fit into about half a second, at least a few. The quickest of the first three counts: on a
    busy machine a verdict must not rest on fewer steps than elsewhere.
    """
    if envs.backend != "ale":  # what only the first seed reaches must not differ; emulators start slowly
        envs.reset([0, 1, 2, 3])
    obs, masks = envs.reset([1, 1, 2, 3])
    rng = np.random.default_rng(0)
    alike = {row: _rows_equal(obs, 0, row) for row in (1, 2, 3)}
    taken, quickest = 0, float("inf")
    while taken < most and (taken < _FEWEST or taken * quickest < 0.5):
        actions = blind_actions(envs.spec.action, 4, masks, rng)
        if masks is None:
            actions[:] = actions[0]
        else:  # masks that differ are a difference already; each copy stays legal
            same = (masks == masks[0]).all(axis=1)  # [4]
            actions[same] = actions[0]
            alike = {row: alike[row] and bool(same[row]) for row in alike}
        began = time.perf_counter()
        step = envs.step(envs.spec.action.to_env(actions))
        if taken < 3:
            quickest = min(quickest, time.perf_counter() - began)
        taken += 1
        masks = step.masks
        seen = {**step.obs, "reward": step.rewards, "ended": step.terminated | step.truncated}
        alike = {row: alike[row] and _rows_equal(seen, 0, row) for row in alike}
    return alike, taken


def _compare_resumed(envs: Envs, twins: Envs, steps: int) -> bool:
    rng = np.random.default_rng(1)
    if isinstance(envs, SameStepEnvs):
        # Generators that only a seed reaches show in later episodes, and few steps may see none of those.
        masks = envs.restart()
        for _ in range(min(steps, 8)):
            actions = envs.spec.action.to_env(blind_actions(envs.spec.action, 4, masks, rng))
            masks = envs.step(actions).masks
    state = envs.capture()
    if state is None:
        return False
    _, masks, restarted = twins.restore(state, [4, 5, 6, 7])
    if restarted:
        return False
    for _ in range(steps):
        actions = envs.spec.action.to_env(blind_actions(envs.spec.action, 4, masks, rng))
        one, other = envs.step(actions), twins.step(actions)
        masks = one.masks
        same = all(np.array_equal(one.obs[key], other.obs[key]) for key in one.obs)
        if not same or not np.array_equal(one.rewards, other.rewards) or one.episodes != other.episodes:
            return False
    return True


def _rows_equal(values: dict[str, Any], one: int, other: int) -> bool:
    return all(np.array_equal(array[one], array[other]) for array in values.values())
