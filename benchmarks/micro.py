"""The pieces one by one: acting, one minibatch of an update, stepping, advantages, checkpoints.

Each case is the fastest of many calls in a process of its own (`workers/micro_worker.py`); several
rounds show how much that moves. Start-up of commands is in `startup.py`.
"""

from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.startup import measure_startup
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["measure_micro"]

_GROUPS: tuple[dict[str, Any], ...] = (
    {"group": "act", "engine": "numpy"},
    {"group": "act", "engine": "torch"},
    {"group": "update", "engine": "numpy"},
    {"group": "update", "engine": "torch"},
    {"group": "pixels", "engine": "torch"},
    {"group": "env", "env_id": "CartPole-v1"},
    {"group": "env", "env_id": "LunarLander-v3"},
    {"group": "env", "env_id": "Pendulum-v1"},
    {"group": "env", "env_id": "ALE/Pong-v5"},
    {"group": "gae"},
    {"group": "checkpoint"},
)


def measure_micro(options: Options) -> None:
    store = Store(options.results, "micro")
    for number in range(options.repeats):
        for group in _GROUPS:
            job = {**group, "quick": options.quick, "patience": options.patience}
            record = measure(OURS, "micro_worker.py", job, threads=None, timeout=900)
            shared = {key: record[key] for key in ("noisy", "others") if key in record}
            if "error" in record:
                name = " ".join(str(value) for value in group.values())
                store.add({"case": name, "tool": OURS, "round": number, "error": record["error"]})
                tell(f"{name}: {record['error']}")
                continue
            for name, (value, unit) in record["figures"].items():
                figure = {"value": value, "unit": unit, **shared}
                store.add({"case": name, "tool": OURS, "round": number, **figure})
                tell(f"{name:52} {value:12,.4g} {unit}")
    measure_startup(options, store)
