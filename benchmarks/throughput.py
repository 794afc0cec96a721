"""Steps per second at identical hyperparameters, beside peers.

Rounds alternate between all tools, so that a slow minute hits all alike; what counts is the ratio
within a round. Peers run on one thread for small networks, which is best for them, and with their own
choice for pixels. Ours always chooses by itself, as for any user.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import measure, tell
from benchmarks.peers import HERE, known_peers
from benchmarks.store import OURS, Record, Store

__all__ = ["Options", "load_tasks", "measure_throughput", "rates", "train"]

TORCH = "gymsolve-torch"
SERIAL, PARALLEL = "sample_factory", "sample_factory-async"
_LONGEST = 400.0
"""Seconds until a tool is given up: several times what the slowest one needs."""
_WORKERS = {"sbx": "sb3_worker.py", PARALLEL: "sample_factory_worker.py"}


@dataclass(frozen=True)
class Options:
    """What a command asked for."""

    results: Path
    tasks: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    repeats: int = 5
    seeds: int = 5
    quick: bool = False

    @property
    def patience(self) -> float:
        """Seconds to wait for an idle machine."""
        return 0.0 if self.quick else 60.0

    def among(self, known: Collection[str]) -> list[str]:
        """Those tasks of one part of the benchmark that were asked for: all of them by default."""
        chosen = [task for task in known if not self.tasks or task in self.tasks]
        if not chosen:
            tell(f"nothing of {', '.join(self.tasks)} is measured here, only of {', '.join(known)}")
        return chosen


def load_tasks() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((HERE / "tasks.json").read_text())
    return found


def measure_throughput(options: Options) -> None:
    tasks = load_tasks()
    store = Store(options.results, "throughput")
    for env_id in options.among(tasks):
        task = _shortened(tasks[env_id]) if options.quick else tasks[env_id]
        tools = list_tools(task, options.peers)
        for number in range(options.repeats):
            for tool in tools:
                record = rates(_run(env_id, task, tool, number, options.patience))
                store.add({"case": env_id, "round": number, **record})
                _say(env_id, record)
                if "error" in record:
                    tools = [other for other in tools if other != tool]  # once is enough to know


def train(env_id: str, task: dict[str, Any], number: int, options: Options) -> Record:
    """One training with gymsolve."""
    chosen = _shortened(task) if options.quick else task
    return rates(_run(env_id, chosen, OURS, number, options.patience))


def list_tools(task: dict[str, Any], peers: Sequence[str] = ()) -> list[str]:
    """Ours first, then the peers that were asked for; all of them by default."""
    ours = [OURS] if task["pixels"] else [OURS, TORCH]
    chosen = [name for name in known_peers() if not peers or name in peers]
    if "sample_factory" in chosen:
        chosen.append(PARALLEL)
    return ours + chosen


def rates(record: Record) -> Record:
    """Add steps per second, and the same without the environments' own time."""
    if "error" in record:
        return record
    steps, seconds, bare = record["env_steps"], record["seconds"], record["env_step_seconds"]
    left = None if bare is None else seconds - steps * bare
    return {
        **record,
        "steps_per_second": steps / seconds,
        "without_env": steps / left if left is not None and left > 0 else None,
    }


def _run(env_id: str, task: dict[str, Any], tool: str, number: int, patience: float) -> Record:
    peer = tool.partition("-")[0]
    reason = task["missing"].get(tool) or task["missing"].get(peer)
    if reason:
        return {"tool": tool, "error": reason}
    job = {
        "env_id": task.get("names", {}).get(peer, env_id),
        "task": task,
        "tool": tool,
        "seed": number,
        "serial": tool == SERIAL,
        "set": {"engine": "torch"} if tool == TORCH else {},
        "patience": patience,
    }
    ours = peer == OURS
    worker = "gymsolve_worker.py" if ours else _WORKERS.get(tool, f"{peer}_worker.py")
    threads = None if ours or task["pixels"] else 1
    return measure(OURS if ours else peer, worker, job, threads=threads, timeout=_LONGEST) | {"tool": tool}


def _shortened(task: dict[str, Any]) -> dict[str, Any]:
    """Just enough to see that everything works."""
    rollout = task["num_envs"] * min(task["num_steps"], 64)
    changed = {"num_steps": min(task["num_steps"], 64), "steps": 2 * rollout}
    return {**task, **changed, "num_epochs": min(task["num_epochs"], 2)}


def _say(case: str, record: Record) -> None:
    told = record.get("error") or f"{record['steps_per_second']:,.0f} steps/s"
    tell(f"{case:16} {record['tool']:22} {told}{'  (noisy)' if record.get('noisy') else ''}")
