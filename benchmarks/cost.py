"""What seeing costs: CartPole at its recipe with all diagnostics on, beside the same training with none.

Pairs alternate in order, so that a machine that slows down hits both sides alike. What counts is processor
time: others on the machine then cost neither side anything. A third run of every pair says which part took
how much.
"""

from benchmarks.harness import measure, tell
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
        order = (OFF, OURS) if number % 2 == 0 else (OURS, OFF)
        for tool in (*order, SPLIT):
            record = _run(tool, number, options)
            store.add({"case": CASE, "round": number, **record})
            tell(f"{CASE} diagnostics {'on' if tool == OURS else tool}: {_told(record)}")


def _run(tool: str, number: int, options: Options) -> Record:
    job = {
        "env_id": CASE,
        "steps": _QUICK_STEPS if options.quick else _STEPS,
        "seed": number,
        "mode": {OURS: "on"}.get(tool, tool),
        "patience": options.patience,
    }
    return measure(OURS, "cost_worker.py", job, threads=1, timeout=900) | {"tool": tool}


def _told(record: Record) -> str:
    if "error" in record:
        return str(record["error"])
    if record["tool"] == SPLIT:
        return ", ".join(f"{name} {share:.2%}" for name, share in record["shares"].items())
    return f"{record['cpu_seconds']:.2f} s of processor time"
