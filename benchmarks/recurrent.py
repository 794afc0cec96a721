"""Recurrent PPO beside sb3-contrib's: CartPole without velocities, an LSTM of 64 for policy and for value."""

from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options, rates

__all__ = ["CASE", "CONTRIB", "TASK", "measure_recurrent"]

CASE = "CartPole-v1, positions"
CONTRIB = "sb3-contrib"
TASK: dict[str, Any] = {
    "steps": 15_360,
    "num_envs": 8,
    "num_steps": 32,
    "batch_size": 256,
    "num_epochs": 20,
    "gamma": 0.98,
    "gae_lambda": 0.8,
    "learning_rate": 1e-3,
    "clip_coef": 0.2,
    "ent_coef": 0.0,
    "decay": True,
    "pixels": False,
    "kept": [0, 2],
    "memory": 64,
    "ours": {
        "env.wrappers": [{"keep_elements": {"elements": [0, 2]}}],
        "net.hidden": [64],
        "net.memory.cell": "lstm",
        "net.memory.size": 64,
        "net.memory.sequence": 32,
    },
}
_LONGEST = 900.0
"""Seconds until a tool is given up."""


def measure_recurrent(options: Options) -> None:
    store = Store(options.results, "recurrent")
    task = TASK | ({"steps": 512, "num_epochs": 2} if options.quick else {})
    for number in range(options.repeats):
        for tool, python, worker, threads in (
            (OURS, OURS, "gymsolve_worker.py", None),
            (CONTRIB, "sb3", "sb3_recurrent_worker.py", 1),
        ):
            job = {"env_id": "CartPole-v1", "task": task, "seed": number, "patience": options.patience}
            record = rates(measure(python, worker, job, threads=threads, timeout=_LONGEST) | {"tool": tool})
            store.add({"case": CASE, "round": number, **record})
            told = record.get("error") or f"{record['steps_per_second']:,.0f} steps/s"
            tell(f"{CASE} {tool}: {told}")
