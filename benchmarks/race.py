"""Against a trainer that compiles its whole loop: CartPole, process start to 500,000 steps."""

from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options, rates

__all__ = ["CASE", "TASK", "measure_race"]

CASE = "CartPole-v1"
TASK: dict[str, Any] = {
    "steps": 500_000,
    "num_envs": 8,
    "num_steps": 128,
    "batch_size": 256,
    "num_epochs": 4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "learning_rate": 2.5e-4,
    "clip_coef": 0.2,
    "ent_coef": 0.01,
    "decay": False,
    "pixels": False,
    "ours": {},
}


def measure_race(options: Options) -> None:
    store = Store(options.results, "race")
    task = TASK | ({"steps": 10_240} if options.quick else {})
    for number in range(options.repeats):
        for tool, worker in ((OURS, "gymsolve_worker.py"), ("rejax", "rejax_worker.py")):
            job = {
                "env_id": CASE,
                "task": task,
                "seed": number,
                "bare_env": False,
                "patience": options.patience,
            }
            record = rates(measure(tool, worker, job, threads=None, timeout=1800))
            store.add({"case": CASE, "round": number, **record})
            told = record.get("error") or f"{record['finished']:.1f} s after the start of the process"
            tell(f"{CASE} {tool}: {task['steps']:,} steps, {told}")
