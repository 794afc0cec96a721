"""Two vectors of one environment, ours and the package's own, stepped in turns (`benchmarks/stepping.py`)."""

import fcntl
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol import answer, read_job

job = read_job()

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402

from gymsolve.envs.contract import Envs  # noqa: E402
from gymsolve.envs.make import make_envs  # noqa: E402
from gymsolve.settings.config import EnvConfig  # noqa: E402

COUNT = job["num_envs"]
NAME = job["ours"]["id"]
AUTORESET = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
Vector = gym.vector.VectorEnv
_STARTS = 3


def make_sync() -> Vector[Any, Any, Any]:
    return gym.make_vec(NAME, COUNT, "sync", vector_kwargs=AUTORESET)


def make_async() -> Vector[Any, Any, Any]:
    return gym.vector.AsyncVectorEnv([open_in_turn] * COUNT, shared_memory=True, **AUTORESET)


def open_in_turn() -> gym.Env[Any, Any]:
    """One process after the other: ViZDoom's engines now and then trip over each other while they start."""
    with Path("turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return gym.make(NAME)


def make_retro() -> Vector[Any, Any, Any]:
    return gym.vector.AsyncVectorEnv([open_game] * COUNT, shared_memory=True, **AUTORESET)


def open_game() -> gym.Env[Any, Any]:
    import stable_retro

    game: gym.Env[Any, Any] = stable_retro.make(NAME.rpartition("/")[2], render_mode="rgb_array")
    return game


def make_envpool() -> Vector[Any, Any, Any]:
    import envpool

    pool: Vector[Any, Any, Any] = envpool.make_gymnasium(NAME, num_envs=COUNT, seed=1)
    return pool


def make_ale() -> Vector[Any, Any, Any]:
    from ale_py.vector_env import AtariVectorEnv

    vector: Vector[Any, Any, Any] = AtariVectorEnv(
        game="pong", num_envs=COUNT, repeat_action_probability=0.25, reward_clipping=False, **AUTORESET
    )
    return vector


MAKERS = {
    "sync": make_sync,
    "async": make_async,
    "retro": make_retro,
    "envpool": make_envpool,
    "ale": make_ale,
}


def start_own() -> Vector[Any, Any, Any]:
    """The package's vector, at the start of its first episodes."""
    for _ in range(_STARTS):
        try:
            vector = MAKERS[job["own"]]()
            vector.reset()
        except EOFError:
            continue
        return vector
    raise RuntimeError(f"a process of the package's own vector died while it started, in {_STARTS} tries")


def draw_actions(envs: Envs) -> list[Any]:
    rng, action = np.random.default_rng(0), envs.spec.action
    shape = (256, COUNT, action.size)
    drawn = rng.uniform(-1, 1, shape) if action.kind == "box" else rng.integers(0, action.nvec, shape)
    return [action.to_env(row) for row in drawn]


def run(step: Callable[[Any], object], actions: list[Any], seconds: float) -> float:
    """Steps of all environments per second."""
    calls, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        step(actions[calls % len(actions)])
        calls += 1
    return calls * COUNT / (time.perf_counter() - began)


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:  # ViZDoom writes its settings where it is started
        os.chdir(folder)
        measure()


def measure() -> None:
    ours = make_envs(EnvConfig.model_validate({**job["ours"], "num_envs": COUNT}), "train")
    own = start_own()
    ours.reset(list(range(COUNT)))
    actions = draw_actions(ours)
    found: dict[str, list[float]] = {"gymsolve": [], "own": []}
    steppers = {"gymsolve": ours.step, "own": own.step}
    for turn in range(job["turns"] + 1):
        order = list(steppers) if turn % 2 else list(steppers)[::-1]
        for name in order:
            rate = run(steppers[name], actions, job["seconds"])
            if turn:  # the first one is to get warm
                found[name].append(rate)
    ours.close()
    own.close()
    answer(
        rates={name: statistics.median(rates) for name, rates in found.items()},
        turns=found,
        backend=ours.backend,
    )


if __name__ == "__main__":
    main()
