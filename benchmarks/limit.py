"""The share of the limit: how near training comes to what this machine's arithmetic and environments allow.

The bound for one environment step of PPO is the sum of what cannot be avoided, each measured bare on
this machine, at the very sizes of the task:

- the environment, at the best rate of a single core among all that step it, times the cores;
- the matrix products of acting, for all environments at once;
- the matrix products or convolutions, forward and backward, of every epoch over the step.

Activations, softmax, losses, advantages, the optimizer, shuffling, copying and Python count as nothing.
Small products run on one thread, which is faster here; convolutions on all cores, in the fastest code at
hand, our own included. Collecting and learning follow each other, as PPO demands.

The speed of a machine changes from minute to minute. So each training stands between two measurements of
the bare costs, which are medians and not the best moments.
"""

import os
from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.store import OURS, Record, Store
from benchmarks.throughput import Options, load_tasks, train

__all__ = ["bound", "dense_products", "measure_limit"]

_COSTS = ("env_seconds", "act_seconds", "minibatch_seconds")
_SIZES = {"CartPole-v1": (4, 2), "LunarLander-v3": (8, 4), "Pendulum-v1": (3, 1), "ALE/Pong-v5": (0, 6)}
"""Numbers per observation and outputs of the policy, of each task whose limit is known."""


def measure_limit(options: Options) -> None:
    store = Store(options.results, "limit")
    tasks = load_tasks()
    for env_id in options.among(_SIZES):
        task = tasks[env_id]
        for number in range(options.repeats):
            job = {
                "env_id": env_id,
                "task": task,
                "products": dense_products(*_SIZES[env_id]),
                "quick": options.quick,
                "patience": options.patience,
            }
            record = _round(env_id, job, number, options)
            store.add({"case": env_id, "round": number, **record})
            _say(env_id, record)


def _round(env_id: str, job: dict[str, Any], number: int, options: Options) -> Record:
    """The bare costs, a training, and the bare costs again: the bound goes by the mean of the two."""
    before = measure(OURS, "limit_worker.py", job, threads=None, timeout=900)
    trained = train(env_id, job["task"], number, options)
    after = measure(OURS, "limit_worker.py", job, threads=None, timeout=900)
    failed = next((one for one in (before, trained, after) if "error" in one), None)
    if failed is not None:
        return failed
    costs = {key: (before[key] + after[key]) / 2 for key in _COSTS}
    return {
        "tool": OURS,
        "noisy": before["noisy"] or trained["noisy"] or after["noisy"],
        "env_source": before["env_source"],
        **costs,
        "bound": bound(costs, job["task"], os.cpu_count() or 1),
        "steps_per_second": trained["steps_per_second"],
    }


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
