"""Tests what seeds do: do copies differ, does a seed repeat, does a resumed copy go on alike?

Two copies are stepped beside each other, then two fresh ones are put where those are. Everything is counted
in steps and nothing in seconds: whether a resume is exact must not depend on how busy a machine is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.envs.backends.same_step import SameStepEnvs
from gymsolve.envs.build import find_spec
from gymsolve.envs.contract import Envs, Step
from gymsolve.envs.contract_faults import place_of_method
from gymsolve.envs.families import find_backends, find_creator
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.envs.random_policy import random_actions
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import EnvSpec, Obs

UNSEEDED = "the same seed does not give the same trajectory"
SEED_FIX = "begin `reset` with `super().reset(seed=seed)` and draw from `self.np_random`"
BOUNDS_FIX = "widen observation_space or clip what it returns"
_STEPS = 64
_OTHER_SEEDS = ([2, 3], [4, 5], [6, 7])
"""Pairs that are compared until one of them differs: where there are few ways to start, two may be alike."""


@dataclass(frozen=True)
class Determinism:
    """Findings about seeds, from short trajectories under the same actions."""

    copies_identical: bool
    """Different seeds led to the same trajectory: parallel copies would add no variety."""
    seed_reproduces: bool
    """The same seed led to the same trajectory."""
    resumes_exactly: bool
    """A copy restored in the middle of things went on like the original."""
    strays: tuple[str, ...] = ()
    """Entries of the observation that left the bounds of their space, in words."""


def know_determinism(config: EnvConfig, on_step: Callable[[], None] = lambda: None) -> Determinism:
    """Test what seeds do, or take the answer from a backend that is certain of it."""
    if config.tasks:
        tasks = [know_determinism(config.for_task(name), on_step) for name in config.tasks]
        return Determinism(
            copies_identical=all(task.copies_identical for task in tasks),
            seed_reproduces=all(task.seed_reproduces for task in tasks),
            resumes_exactly=all(task.resumes_exactly for task in tasks),
            strays=tuple(stray for task in tasks for stray in task.strays),
        )
    backend = find_backends(config.id).get(choose_backend(config, "train"))
    if backend is not None and backend.seeds_certain(config):
        return Determinism(copies_identical=False, seed_reproduces=True, resumes_exactly=True)
    return check_determinism(config, on_step=on_step)


def check_determinism(
    config: EnvConfig, steps: int = _STEPS, *, on_step: Callable[[], None] = lambda: None
) -> Determinism:
    """Step two copies alike, on one seed and on others, then restored copies beside them.

    `on_step` is called before every vector step.
    """
    # Backends of a family draw and restore in ways of their own; the others give what sync gives.
    trained = choose_backend(config, "train")
    own = find_backends(config.id).get(trained)
    calm = config.model_copy(update={"backend": "sync" if own is None else trained})
    envs = make_envs(calm, "train", num_envs=2)
    try:
        if own is None or not own.slow_start:  # generators that only a first seed reaches must not differ
            envs.reset([0, 1])
        bounds = Bounds(envs.spec)
        reproduces = _alike(envs, [1, 1], steps, bounds, on_step)
        identical = reproduces and all(_alike(envs, seeds, steps, bounds, on_step) for seeds in _OTHER_SEEDS)
        twins = make_envs(calm, "train", num_envs=2)
        try:
            resumes = _goes_on_alike(envs, twins, steps, on_step)
        finally:
            twins.close()
    finally:
        envs.close()
    return Determinism(identical, reproduces, resumes, tuple(bounds.strays.values()))


def place_in_class(config: EnvConfig, method: str) -> str:
    """Where the class defines a method; nothing for a function that builds environments."""
    creator = find_creator(find_spec(config.id).entry_point)
    return place_of_method(creator, method) if isinstance(creator, type) else ""


class Bounds:
    """Watches for observations outside of the bounds that their space declares."""

    def __init__(self, spec: EnvSpec) -> None:
        self._ends = {
            key: (np.reshape(entry.low, shape), np.reshape(entry.high, shape))
            for key, entry in spec.obs.items()
            if entry.low and (shape := entry.shape if entry.kind == "vector" else ()) is not None
        }
        self.strays: dict[str, str] = {}

    def look(self, obs: Obs) -> list[str]:
        """Entries that left their bounds for the first time, in words."""
        strays = []
        for key, (low, high) in self._ends.items():
            outside = (obs[key] < low) | (obs[key] > high)
            if key not in self.strays and outside.any():
                place = tuple(np.argwhere(outside)[0])
                index = ", ".join(str(part) for part in place[1:])
                ends = f"{low.min():g} to {high.max():g}"
                what = f"entry {key!r} of the observation leaves the bounds of its space ({ends})"
                self.strays[key] = f"{what}: element {index} is {obs[key][place]:g}"
                strays.append(self.strays[key])
        return strays


def _alike(envs: Envs, seeds: list[int], steps: int, bounds: Bounds, on_step: Callable[[], None]) -> bool:
    """Do two copies go the same way, under the same actions?"""
    obs, masks = envs.reset(seeds)
    rng = np.random.default_rng(0)
    bounds.look(obs)
    if not _rows_equal(obs):
        return False
    for _ in range(steps):
        on_step()
        if masks is not None and not (masks[0] == masks[1]).all():
            return False
        actions = random_actions(envs.spec.action, 2, masks, rng)
        actions[1] = actions[0]
        step = envs.step(envs.spec.action.to_env(actions))
        masks = step.masks
        bounds.look(step.obs)
        seen = {**step.obs, "reward": step.rewards, "ended": step.terminated | step.truncated}
        if not _rows_equal(seen):
            return False
    return True


def _goes_on_alike(envs: Envs, twins: Envs, steps: int, on_step: Callable[[], None]) -> bool:
    rng = np.random.default_rng(1)
    # Generators that only a seed reaches show in later episodes, and a few steps may not get that far.
    masks = envs.restart() if isinstance(envs, SameStepEnvs) else None
    for _ in range(min(steps, 8)):
        on_step()
        masks = _step(envs, masks, rng).masks
    state = envs.capture()
    if state is None:
        return False
    _, masks, restarted = twins.restore(state, [8, 9])
    if restarted:
        return False
    for _ in range(steps):
        on_step()
        actions = envs.spec.action.to_env(random_actions(envs.spec.action, envs.num_envs, masks, rng))
        step, twin = envs.step(actions), twins.step(actions)
        masks = step.masks
        same = all(np.array_equal(step.obs[key], twin.obs[key]) for key in step.obs)
        if not same or not np.array_equal(step.rewards, twin.rewards) or step.episodes != twin.episodes:
            return False
    return True


def _step(envs: Envs, masks: Any, rng: np.random.Generator) -> Step:
    return envs.step(envs.spec.action.to_env(random_actions(envs.spec.action, envs.num_envs, masks, rng)))


def _rows_equal(values: dict[str, Any]) -> bool:
    return all(np.array_equal(array[0], array[1]) for array in values.values())
