"""The share of the limit: how near training comes to what this machine's arithmetic and environments allow.

The bound for one environment step of PPO is the sum of what cannot be avoided, each measured bare on
this machine, at the very sizes of the task:

- the environment, at the best rate of a single core among all that step it, times the cores;
- the matrix products of acting, for all environments at once;
- the matrix products or convolutions, forward and backward, of every epoch over the step.

Activations, softmax, losses, advantages, the optimizer, shuffling, copying and Python count as nothing.
Small products run on one thread, which is faster here; convolutions on all cores, in the fastest code at
hand, our own included. Collecting and learning follow each other, as PPO demands. In every round the bound
is measured and then a training, since the speed of a machine changes from minute to minute.
"""

import os
from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options, load_tasks, train

__all__ = ["bound", "dense_products", "measure_limit"]

_SIZES = {"CartPole-v1": (4, 2), "LunarLander-v3": (8, 4), "Pendulum-v1": (3, 1), "ALE/Pong-v5": (0, 6)}
"""Numbers per observation and outputs of the policy."""


def measure_limit(options: Options) -> None:
    store = Store(options.results, "limit")
    tasks = load_tasks()
    for env_id in options.tasks or tasks:
        task = tasks[env_id]
        for number in range(options.repeats):
            job = {
                "env_id": env_id,
                "task": task,
                "products": dense_products(*_SIZES[env_id]),
                "quick": options.quick,
                "patience": options.patience,
            }
            record = measure(OURS, "limit_worker.py", job, threads=None, timeout=900)
            if "error" not in record:
                record["bound"] = bound(record, task, os.cpu_count() or 1)
                trained = train(env_id, task, number, options)
                record |= {key: trained[key] for key in ("error", "steps_per_second") if key in trained}
            store.add({"case": env_id, "round": number, **record})
            _say(env_id, record)


def _say(env_id: str, record: dict[str, Any]) -> None:
    if "error" in record:
        tell(f"{env_id:16} {record['error']}")
        return
    share = record["steps_per_second"] / record["bound"]
    tell(f"{env_id:16} {share:.0%} of {record['bound']:,.0f} steps/s ({record['env_source']})")


def dense_products(inputs: int, outputs: int, hidden: tuple[int, ...] = (64, 64)) -> list[tuple[int, int]]:
    """Weight matrices of actor and critic; the first ones need no gradient of their input."""
    return [pair for last in (outputs, 1) for pair in zip((inputs, *hidden), (*hidden, last), strict=True)]


def bound(measured: dict[str, Any], task: dict[str, Any], cores: int) -> float:
    """Steps per second that nothing built this way can exceed."""
    env = measured["env_seconds"] / cores
    act = measured["act_seconds"] / task["num_envs"]
    learn = task["num_epochs"] * measured["minibatch_seconds"] / task["batch_size"]
    return 1.0 / (env + act + learn)
