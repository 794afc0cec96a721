"""Bare stepping: environments through our contract beside the package's own fastest way of stepping them.

Both vectors live in one process (`workers/stepping_worker.py`) and take turns, a stretch each, with the same
actions, so that a machine that slows down hits both. No policy acts and nobody learns.
"""

from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["CASES", "LEAST", "OWN", "env_of", "measure_stepping"]

OWN = "own"
"""The package's way."""
LEAST = 0.85
"""Target: our steps per second over theirs."""

CASES: dict[str, dict[str, Any]] = {
    "ALE/Pong-v5, AtariVectorEnv": {
        "ours": {
            "id": "ALE/Pong-v5",
            "backend": "ale",
            "kwargs": {"frameskip": 1, "obs_type": "grayscale"},
            "wrappers": ["atari"],
            "frame_stack": 4,
        },
        "own": "ale",
        "num_envs": 8,
    },
    "VizdoomBasic-v1, processes": {
        # As in the recipes: a worker for each game.
        "ours": {"id": "VizdoomBasic-v1", "backend": "async", "workers": 4},
        "own": "async",
        "num_envs": 4,
    },
    "Airstriker-Genesis-v0, processes": {
        "ours": {"id": "Retro/Airstriker-Genesis-v0", "backend": "async"},
        "own": "retro",
        "num_envs": 4,
    },
    "HalfCheetah-v5, EnvPool": {
        "ours": {"id": "HalfCheetah-v5", "backend": "envpool"},
        "own": "envpool",
        "num_envs": 16,
    },
    "HalfCheetah-v5, processes": {
        "ours": {"id": "HalfCheetah-v5", "backend": "async"},
        "own": "async",
        "num_envs": 16,
    },
    "LunarLander-v3, EnvPool": {
        "ours": {"id": "LunarLander-v3", "backend": "envpool"},
        "own": "envpool",
        "num_envs": 16,
    },
    "LunarLander-v3, one process": {
        "ours": {"id": "LunarLander-v3", "backend": "sync"},
        "own": "sync",
        "num_envs": 16,
    },
}
"""By what the package's way is: its vector class, its processes, its threads in C++, or one process."""


def env_of(case: str) -> str:
    """The environment of a case, as the package calls it."""
    return case.partition(",")[0]


def measure_stepping(options: Options) -> None:
    store = Store(options.results, "stepping")
    asked = options.among(dict.fromkeys(map(env_of, CASES)))
    chosen = [name for name in CASES if env_of(name) in asked]
    for number in range(options.repeats):
        for name in chosen:
            seconds, turns = (0.2, 2) if options.quick else (2.0, 5)
            job = {**CASES[name], "seconds": seconds, "turns": turns, "patience": options.patience}
            record = measure(OURS, "stepping_worker.py", job, threads=1, timeout=600)
            shared = {"case": name, "round": number}
            if "error" in record:
                store.add({**shared, "tool": OURS, "error": record["error"]})
                tell(f"{name}: {record['error']}")
                continue
            rates = record.pop("rates")
            for tool in (OURS, OWN):
                store.add({**shared, **record, "tool": tool, "steps_per_second": rates[tool]})
            told = f"{rates[OURS]:,.0f} steps/s, the package's way {rates[OWN]:,.0f}"
            tell(f"{name}: {told}, ratio {rates[OURS] / rates[OWN]:.2f}")
