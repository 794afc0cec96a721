"""What grows with what: speed with environments, network width and metrics, memory with the rollout."""

from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.race import TASK
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options, rates

__all__ = ["FAMILIES", "measure_growth"]

_SMALL = TASK | {"num_steps": 128, "batch_size": 64}

_LONG_ENOUGH = 81_920
"""Steps in which the speed of training counts for more than its beginning and its end."""

FAMILIES: dict[str, tuple[str, tuple[int, ...]]] = {
    "num_envs": ("CartPole-v1", (1, 2, 4, 8, 16, 32, 64)),
    "num_envs, LunarLander": ("LunarLander-v3", (1, 4, 16, 64)),
    "width": ("CartPole-v1", (16, 32, 64, 128, 256)),
    "metrics": ("CartPole-v1", (0, 30, 100, 300)),
    "rollout": ("CartPole-v1", (256, 1024, 4096, 16384)),
}
"""What is varied, on which environment, over which values.

`metrics` are so many more in every record; `rollout` is num_steps of 16 environments.
"""


def measure_growth(options: Options) -> None:
    store = Store(options.results, "growth")
    asked = options.among(dict.fromkeys(env_id for env_id, _ in FAMILIES.values()))
    for number in range(options.repeats):
        for family, (env_id, values) in FAMILIES.items():
            if env_id not in asked:
                continue
            for value in values[:2] if options.quick else values:
                task = _task(family, value, quick=options.quick)
                job = {
                    "env_id": env_id,
                    "task": task,
                    "seed": number,
                    "set": {"net.hidden": [value, value]} if family == "width" else {},
                    "more_metrics": value if family == "metrics" else 0,
                    "bare_env": False,
                    "patience": options.patience,
                }
                record = rates(measure(OURS, "gymsolve_worker.py", job, threads=None, timeout=900))
                size = {"value": value, "rollout_steps": task["num_envs"] * task["num_steps"]}
                store.add({"case": f"{family} {value}", "round": number, **size, **record})
                told = record.get("error") or f"{record['steps_per_second']:,.0f} steps/s"
                tell(f"{family:24} {value:6} {told}")


def _task(family: str, value: int, *, quick: bool) -> dict[str, Any]:
    if family == "rollout":
        # One rollout and one pass over it: memory is what is looked at.
        one = {"num_envs": 16, "num_steps": value, "steps": 16 * value, "num_epochs": 1}
        return _SMALL | one | {"batch_size": 1024}
    envs = 8 if family in ("width", "metrics") else value
    rollout = envs * _SMALL["num_steps"]
    steps = rollout if quick else max(_LONG_ENOUGH, 4 * rollout)
    return _SMALL | {"num_envs": envs, "steps": steps}
