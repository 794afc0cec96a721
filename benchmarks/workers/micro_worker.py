"""One group of small measurements in a fresh process; see `benchmarks/micro.py`."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from protocol import answer, peak_mib, read_job, seconds_per_env_step

job = read_job()
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np  # noqa: E402

from benchmarks.throughput import load_tasks  # noqa: E402
from benchmarks.timing import fastest  # noqa: E402
from gymsolve.envs.make import make_envs  # noqa: E402
from gymsolve.errors import GymsolveError  # noqa: E402
from gymsolve.experience.returns import gae  # noqa: E402
from gymsolve.runs.loading import load_checkpoint  # noqa: E402
from gymsolve.runs.run import create_run  # noqa: E402
from gymsolve.settings.config import EnvConfig  # noqa: E402
from gymsolve.training.build import build_trainer  # noqa: E402
from gymsolve.training.checkpoint import save  # noqa: E402
from gymsolve.training.loop import collect  # noqa: E402
from gymsolve.training.observer import Silent  # noqa: E402
from gymsolve.training.planning.plan import plan_run  # noqa: E402
from gymsolve.training.trainer import Trainer  # noqa: E402

Figures = dict[str, tuple[float, str]]
_EPOCHS, _MINIBATCHES = 10, 4


def make_trainer(env_id: str, num_envs: int, num_steps: int, **more: Any) -> Trainer:
    # Learning hardly at all, the same update can be repeated for ever.
    algo = {"name": "ppo", "num_steps": num_steps, "learning_rate": 1e-8, "num_epochs": _EPOCHS}
    settings = {"env.num_envs": num_envs, "algo": algo | {"num_minibatches": _MINIBATCHES}} | more
    return build_trainer(plan_run(env_id, settings).config)


def acting(trainer: Trainer) -> float:
    """Microseconds of one call for all environments."""
    rng, seen = np.random.default_rng(0), trainer.collector
    return fastest(lambda: trainer.policy.act(seen.obs, seen.masks, rng)) * 1e6


def updating(trainer: Trainer, minibatches: int) -> float:
    """Milliseconds per minibatch; advantages and gathering are shared out among them."""
    rollout = collect(trainer, Silent())
    progress, rng = trainer.progress, trainer.streams["minibatch"]
    return fastest(lambda: trainer.learner.update(rollout, progress, rng)) / minibatches * 1e3


def act() -> Figures:
    engine = job["engine"]
    return {
        f"act, {count} envs, 64 × 64, {engine}": (
            acting(make_trainer("CartPole-v1", count, 8, engine=engine)),
            "µs",
        )
        for count in (1, 8, 64)
    }


def update() -> Figures:
    engine = job["engine"]
    sizes = (64,) if job["quick"] else (64, 256, 1024)
    found: Figures = {}
    for size in sizes:
        # Not CartPole: steps its vector class spends on resets would make minibatches smaller.
        trainer = make_trainer("LunarLander-v3", 8, size * _MINIBATCHES // 8, engine=engine)
        cost = updating(trainer, _EPOCHS * _MINIBATCHES)
        found[f"update, minibatch {size}, 64 × 64, {engine}"] = (cost, "ms")
    return found


def pixels() -> Figures:
    task = load_tasks()["ALE/Pong-v5"]
    steps = 16 if job["quick"] else 128
    algo = {"name": "ppo", "num_steps": steps, "learning_rate": 1e-8, "num_epochs": 1}
    settings = {"env.num_envs": 8, "algo": algo | {"num_minibatches": 4}, **task["ours"]}
    trainer = build_trainer(plan_run("ALE/Pong-v5", settings).config)
    return {
        "act, 8 envs, Nature CNN": (acting(trainer), "µs"),
        f"update, minibatch {steps * 2}, Nature CNN": (updating(trainer, 4), "ms"),
        "memory with a rollout of pixels": (peak_mib(), "MiB"),
    }


def env() -> Figures:
    """Steps per second of every backend that takes the environment, at the task's number of copies."""
    env_id = job["env_id"]
    task = load_tasks()[env_id]
    ours = {key.removeprefix("env."): v for key, v in task["ours"].items() if key.startswith("env.")}
    found: Figures = {}
    for backend in get_args(EnvConfig.model_fields["backend"].annotation):
        if backend == "auto":
            continue
        try:
            config = EnvConfig.model_validate(
                {"id": env_id, "num_envs": task["num_envs"]} | ours | {"backend": backend}
            )
            envs = make_envs(config, "train")
        except GymsolveError as error:
            print(f"{env_id} {backend}: {error}", file=sys.stderr)
            continue
        spec, rng = envs.spec.action, np.random.default_rng(0)
        shape = (256, envs.num_envs, spec.size)
        drawn = rng.uniform(-1, 1, shape) if spec.kind == "box" else rng.integers(0, spec.nvec, shape)
        draws = [spec.to_env(row) for row in drawn]
        envs.reset(list(range(envs.num_envs)))
        seconds = 0.1 if job["quick"] else 1.0
        cost = seconds_per_env_step(envs.step, draws, envs.num_envs, seconds)
        envs.close()
        found[f"env, {envs.num_envs} × {env_id}, {backend}"] = (1.0 / cost, "steps/s")
    return found


def advantages() -> Figures:
    found: Figures = {}
    for shape in ((32, 8), (1024, 16), (128, 64)):
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=shape).astype(np.float32) for _ in range(3)]
        ends = [rng.random(shape) < 0.01 for _ in range(2)]
        cost = fastest(lambda a=arrays, e=ends: gae(*a, *e, gamma=0.99, gae_lambda=0.95))
        found[f"GAE, {shape[0]} × {shape[1]}"] = (cost * 1e6, "µs")
    return found


def checkpoint() -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer("CartPole-v1", 8, 32)
        collect(trainer, Silent())
        run = create_run(
            folder,
            name="CartPole-v1:ppo",
            config_json=trainer.config.model_dump(mode="json"),
            provenance={},
            command=["bench"],
            seed=0,
            steps=1000,
            parent=None,
        )

        def save_next() -> None:
            trainer.counters.env_steps += 256  # every checkpoint has a folder of its own
            save(trainer, run, "cadence")

        saved = fastest(save_next)
        loaded = fastest(lambda: load_checkpoint(run, "last"))
    return {"checkpoint, save": (saved * 1e3, "ms"), "checkpoint, load": (loaded * 1e3, "ms")}


_GROUPS: dict[str, Callable[[], Figures]] = {
    "act": act,
    "update": update,
    "pixels": pixels,
    "env": env,
    "gae": advantages,
    "checkpoint": checkpoint,
}

if __name__ == "__main__":
    answer(figures=_GROUPS[job["group"]]())
