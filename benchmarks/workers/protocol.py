"""What all workers share: a job comes in on the command line, one JSON object goes out.

Runs in every peer's environment, so it needs nothing but the standard library.
"""

import itertools
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["answer", "peak_mib", "read_job", "seconds_per_env_step", "since_launch"]

JOB: dict[str, Any] = {}


def read_job() -> dict[str, Any]:
    JOB.update(json.loads(sys.argv[1]))
    return JOB


def since_launch() -> float:
    """Seconds since the process was started; the monotonic clock is the machine's."""
    return time.monotonic() - JOB["launched"]


def answer(**facts: Any) -> None:
    print("\n" + json.dumps({**facts, "peak_mib": peak_mib()}), flush=True)


def peak_mib() -> float:
    """Most memory this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_per_env_step(
    step: Callable[[Any], object], draws: Sequence[Any], num_envs: int, seconds: float = 0.5
) -> float:
    """What the environments alone take for one step of one of them: the median of three tries.

    `draws` are random actions for all environments, taken in turn.
    """
    found = []
    turns = itertools.cycle(draws)
    for _ in range(3):
        calls, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            step(next(turns))
            calls += 1
        found.append((time.perf_counter() - began) / (calls * num_envs))
    return statistics.median(found)
