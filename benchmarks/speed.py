"""How fast are the pieces? Run it on an idle machine: `make bench`.

Measures start-up of commands, acting, one update, environment stepping per backend and whole
trainings, several times each in alternation, and prints medians with their spread.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gymsolve.config import EnvConfig
from gymsolve.envs.make import make_envs
from gymsolve.recipes import resolve
from gymsolve.training.loop import collect
from gymsolve.training.observer import Silent
from gymsolve.training.trainer import Trainer, build_trainer

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="store the figures in benchmarks/results")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"warning: the load average is {load:.1f}; figures will be noisy", file=sys.stderr)

    trainers = {
        name: build_trainer(resolve(name).config) for name in ("CartPole-v1:ppo", "LunarLander-v3:ppo")
    }
    pieces: dict[str, tuple[str, Callable[[], float]]] = {
        "start: gymsolve --help": ("s", lambda: _command("--help")),
        "start: gymsolve recipes": ("s", lambda: _command("recipes")),
        "start: gymsolve runs": ("s", lambda: _command("runs")),
        "start: import of training": ("s", _import_training),
    }
    for name, trainer in trainers.items():
        pieces[f"acting, {trainer.envs.num_envs} envs: {name}"] = ("µs", lambda t=trainer: _acting(t))
        pieces[f"collect: {name}"] = ("steps/s", lambda t=trainer: _collecting(t))
        pieces[f"update: {name}"] = ("steps/s", lambda t=trainer: _updating(t))
    for env_id, backend in (("CartPole-v1", "native"), ("CartPole-v1", "sync"), ("LunarLander-v3", "sync")):
        pieces[f"env alone: {env_id} {backend}"] = ("steps/s", lambda e=env_id, b=backend: _stepping(e, b))

    figures: dict[str, list[float]] = {name: [] for name in pieces}
    for _ in range(options.repeats):  # in alternation, so that a slow minute hits all alike
        for name, (_, measure) in pieces.items():
            figures[name].append(measure())
    rows = [_row(name, unit, figures[name]) for name, (unit, _) in pieces.items()]
    for row in rows:
        spread = f"({row['low']:,.4g} to {row['high']:,.4g})"
        print(f"{row['name']:44} {row['median']:>12,.4g} {row['unit']:8} {spread}")
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        machine = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": load}
        text = json.dumps({"machine": machine, "rows": rows}, indent=2)
        (RESULTS / "speed.json").write_text(text + "\n")


def _row(name: str, unit: str, values: list[float]) -> dict[str, object]:
    middle = statistics.median(values)
    return {"name": name, "unit": unit, "median": middle, "low": min(values), "high": max(values)}


def _command(*words: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "gymsolve", *words], check=True, capture_output=True, cwd=folder
        )
        return time.perf_counter() - began


def _import_training() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import gymsolve.training.session"], check=True)
    return time.perf_counter() - began


def _acting(trainer: Trainer, calls: int = 300) -> float:
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    for _ in range(calls):
        trainer.policy.act(trainer.collector.obs, trainer.collector.masks, rng)
    return (time.perf_counter() - began) / calls * 1e6


def _collecting(trainer: Trainer) -> float:
    began = time.perf_counter()
    rollout = collect(trainer, Silent())
    return rollout.env_steps / (time.perf_counter() - began)


def _updating(trainer: Trainer) -> float:
    rollout = trainer.collector.rollout
    began = time.perf_counter()
    trainer.algorithm.update(rollout, trainer.progress, trainer.minibatch_rng)
    return rollout.env_steps / (time.perf_counter() - began)


def _stepping(env_id: str, backend: str, steps: int = 500) -> float:
    envs = make_envs(EnvConfig.model_validate({"id": env_id, "num_envs": 8, "backend": backend}), "train")
    envs.reset(list(range(8)))
    rng = np.random.default_rng(0)
    choices = envs.spec.action.nvec[0]
    actions = rng.integers(0, choices, (steps, 8))
    began = time.perf_counter()
    for row in actions:
        envs.step(row)
    elapsed = time.perf_counter() - began
    envs.close()
    return steps * 8 / elapsed


if __name__ == "__main__":
    main()
