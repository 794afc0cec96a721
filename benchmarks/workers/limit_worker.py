"""The bare costs that bound a task: environment, acting, one minibatch; see `benchmarks/limit.py`."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol import answer, read_job, seconds_per_env_step

job = read_job()
sys.path.insert(0, str(Path(__file__).parents[2]))

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.timing import typical  # noqa: E402
from gymsolve.envs.build import find_spec  # noqa: E402
from gymsolve.envs.describe import describe_env  # noqa: E402
from gymsolve.envs.families.classic_control.backend import compiled_obstacle  # noqa: E402
from gymsolve.envs.families.classic_control.lean import ClassicRows, find_classic  # noqa: E402
from gymsolve.envs.random_policy import random_actions  # noqa: E402
from gymsolve.kernels import load_kernels  # noqa: E402
from gymsolve.settings.config import EnvConfig  # noqa: E402

SECONDS = 0.1 if job["quick"] else 1.0


def env_cost(env_id: str, count: int) -> tuple[float, str]:
    """Seconds per environment step on one core, and whose they are: the best of all at hand."""
    makers: dict[str, Callable[[], Any]] = {}
    if env_id.startswith("ALE/"):
        from ale_py.vector_env import AtariVectorEnv

        game = env_id.removeprefix("ALE/").removesuffix("-v5").lower()
        makers["ale-py, one thread"] = lambda: AtariVectorEnv(game, num_envs=count, num_threads=1)
    else:
        makers["gymnasium, one by one"] = lambda: gym.make_vec(env_id, count, vectorization_mode="sync")
        if gym.spec(env_id).vector_entry_point:
            makers["gymnasium, vector class"] = lambda: gym.make_vec(
                env_id, count, vectorization_mode="vector_entry_point"
            )
    if importlib.util.find_spec("envpool"):
        import envpool

        name = env_id.removeprefix("ALE/")
        makers["EnvPool, one thread"] = lambda: envpool.make_gymnasium(name, num_envs=count, num_threads=1)
    costs = {who: _step_cost(make, count) for who, make in makers.items()}
    compiled = _compiled_cost(env_id, count)
    if compiled is not None:
        costs["gymsolve, compiled rules"] = compiled
    who = min(costs, key=lambda name: costs[name])
    return costs[who], who


def _step_cost(make: Callable[[], Any], count: int) -> float:
    envs = make()
    envs.reset()
    draws = [np.array([envs.single_action_space.sample() for _ in range(count)]) for _ in range(256)]
    cost = seconds_per_env_step(envs.step, draws, count, SECONDS)
    envs.close()
    return cost


def _compiled_cost(env_id: str, count: int) -> float | None:
    """Of our own rules for classic control, without anything around them; None where there are none."""
    config = EnvConfig(id=env_id, num_envs=count)
    if env_id.startswith("ALE/") or compiled_obstacle(config, "train") is not None:
        return None
    spec = describe_env(config)
    (entry,) = spec.obs.values()
    kind = find_classic(find_spec(env_id).entry_point)
    rows = ClassicRows(kind, load_kernels(), entry.shape[0], count, {}, spec.max_episode_steps)
    rows.reset(list(range(count)))

    def step(actions: np.ndarray) -> None:
        if rows.step(actions):
            rows.begin(np.flatnonzero(rows.terminated | rows.truncated))

    rng = np.random.default_rng(0)
    draws = [spec.action.to_env(random_actions(spec.action, count, None, rng)) for _ in range(256)]
    return seconds_per_env_step(step, draws, count, SECONDS)


def dense(products: list[list[int]], rows: int, *, backward: bool) -> float:
    """Seconds of the matrix products alone, on one thread."""
    total = 0.0
    rng = np.random.default_rng(0)
    for number, (inputs, outputs) in enumerate(products):
        x = rng.normal(size=(rows, inputs)).astype(np.float32)
        w = rng.normal(size=(inputs, outputs)).astype(np.float32)
        y = np.empty((rows, outputs), np.float32)
        total += typical(lambda x=x, w=w, y=y: np.matmul(x, w, out=y), seconds=SECONDS / 5)
        if not backward:
            continue
        dw = np.empty_like(w)
        total += typical(lambda x=x, y=y, dw=dw: np.matmul(x.T, y, out=dw), seconds=SECONDS / 5)
        if number % (len(products) // 2):  # the observation itself needs no gradient
            dx = np.empty_like(x)
            total += typical(lambda w=w, y=y, dx=dx: np.matmul(y, w.T, out=dx), seconds=SECONDS / 5)
    return total


def convolutions(rows: int, *, backward: bool) -> float:
    """Seconds of the Nature CNN's layers on all cores: torch in two memory layouts, or our kernels."""
    import torch
    from torch import nn

    from gymsolve.nn.convolutions import compile_stack

    pixels = torch.randint(0, 256, (rows, 4, 84, 84), dtype=torch.uint8)
    passes = []
    for layout in (torch.contiguous_format, torch.channels_last):
        layers = nature().to(memory_format=layout)
        frames = pixels.float().contiguous(memory_format=layout)
        passes.append((layers, lambda layers=layers, frames=frames: layers(frames)))
    layers = nature()
    convolved, rest = list(layers[:3]), layers[4:]
    stack = compile_stack(convolved, (4, 84, 84), 1.0)
    if stack is not None:
        packed = pixels.contiguous(memory_format=torch.channels_last)
        passes.append((layers, lambda: rest(stack(packed, convolved))))

    def work(layers: nn.Module, run: Callable[[], Any]) -> None:
        if backward:
            torch.autograd.grad(run().sum(), list(layers.parameters()))
        else:
            with torch.inference_mode():
                run()

    return min(typical(lambda one=one: work(*one), seconds=3 * SECONDS, least=2) for one in passes)


def nature() -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(4, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3, 1),
        nn.Flatten(), nn.Linear(3136, 512), nn.Linear(512, 7),
    )  # fmt: skip


def main() -> None:
    task, products = job["task"], job["products"]
    env_seconds, source = env_cost(job["env_id"], task["num_envs"])
    if task["pixels"]:
        act = convolutions(task["num_envs"], backward=False)
        learn = convolutions(task["batch_size"], backward=True)
    else:
        from gymsolve.fast import set_blas_threads

        set_blas_threads(1)
        act = dense(products, task["num_envs"], backward=False)
        learn = dense(products, task["batch_size"], backward=True)
    answer(env_seconds=env_seconds, env_source=source, act_seconds=act, minibatch_seconds=learn)


main()
