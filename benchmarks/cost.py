"""What seeing costs: CartPole at its recipe with all diagnostics on, beside the same training with none.

The two of a pair run at the same time, each on a core of its own, and change places from pair to pair: a
machine that slows down hits both alike. What counts is processor time. A further run of every pair says which
part took how much.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from benchmarks.harness import measure, tell
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.store import OURS, Record, Store
from benchmarks.throughput import Options

__all__ = ["CASE", "OFF", "PARTS_OF_IT", "SPLIT", "measure_cost"]

CASE = "CartPole-v1"
OFF, SPLIT = "off", "split"
PARTS_OF_IT = {
    "measuring": "measuring (statistics of rollout and network, timing)",
    "records": "records (averages, `metrics.jsonl`)",
    "alerts": "alerts (every rule over every record)",
    "csv": "tracker `csv`",
    "console": "console (live table on a terminal, log)",
    "report": "report (`report.html`, `report.md`)",
}
_STEPS, _QUICK_STEPS = 200_000, 4_096
_PAIRS = 2
"""Per round."""


def measure_cost(options: Options) -> None:
    store = Store(options.results, "cost")
    for number in range(options.repeats * _PAIRS):
        for record in (*_pair(number, options), _run(SPLIT, number, options)):
            store.add({"case": CASE, "round": number, **record})
            tool = record["tool"]
            tell(f"{CASE} diagnostics {'on' if tool == OURS else tool}: {_told(record)}")


def _pair(number: int, options: Options) -> tuple[Record, Record]:
    """Both sides at once; one after the other where there is a single core, or no way to choose one."""
    cores = sorted(os.sched_getaffinity(0))[:2] if sys.platform == "linux" else []
    if len(cores) < 2:
        return _run(OFF, number, options), _run(OURS, number, options)
    before = wait_until_idle(options.patience)
    with ThreadPoolExecutor(2) as both:
        places = zip((OFF, OURS), cores if number % 2 == 0 else reversed(cores), strict=True)
        sides = [both.submit(_run, tool, number, options, core) for tool, core in places]
        # Each sees the other at work; noise is what was there before.
        off, on = (side.result() | {"noisy": before > IDLE} for side in sides)
    return off, on


def _run(tool: str, number: int, options: Options, core: int | None = None) -> Record:
    job = {
        "env_id": CASE,
        "steps": _QUICK_STEPS if options.quick else _STEPS,
        "seed": number,
        "mode": {OURS: "on"}.get(tool, tool),
        "core": core,
        "patience": options.patience if core is None else 0.0,
    }
    return measure(OURS, "cost_worker.py", job, threads=1, timeout=900) | {"tool": tool}


def _told(record: Record) -> str:
    if "error" in record:
        return str(record["error"])
    if record["tool"] == SPLIT:
        return ", ".join(f"{name} {share:.2%}" for name, share in record["shares"].items())
    return f"{record['cpu_seconds']:.2f} s of processor time"
