"""Throughput at identical hyperparameters, side by side with peers: `python benchmarks/throughput.py`.

Every peer lives in a virtual environment of its own below `benchmarks/.peers`, made on first use. Runs
alternate and repeat, so that a slow minute hits all alike; the figure is the median ratio of steps per
second within a round, with the range over rounds. Run it on an idle machine.

What is not alike: our worker times collecting and learning without writing a run; CartPole steps in
Gymnasium's own vector class; our value loss is half of Stable-Baselines3's. "Start-up" is imports and
construction inside the worker, without the start of the interpreter.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PEERS = {"sb3": ["stable-baselines3", "gymnasium[box2d,classic-control]"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", nargs="*", help="environment ids; all of tasks.json by default")
    parser.add_argument("--write", action="store_true", help="store the figures in benchmarks/results")
    options = parser.parse_args()
    tasks = json.loads((HERE / "tasks.json").read_text())
    chosen = options.tasks or list(tasks)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"warning: the load average is {load:.1f}; figures will be noisy", file=sys.stderr)

    results: dict[str, Any] = {}
    for env_id in chosen:
        rounds = [_round(env_id, json.dumps(tasks[env_id]), seed) for seed in range(options.repeats)]
        results[env_id] = _summarise(rounds)
        _tell(env_id, results[env_id])
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        machine = {"machine": platform.machine(), "cores": os.cpu_count(), "load_at_start": load}
        told = {"machine": machine, "repeats": options.repeats, "tasks": tasks, "results": results}
        (RESULTS / "throughput.json").write_text(json.dumps(told, indent=2) + "\n")


def _round(env_id: str, task: str, seed: int) -> dict[str, dict[str, float]]:
    """One run of everybody."""
    ours = [sys.executable, str(HERE / "workers" / "gymsolve_worker.py"), env_id, task, str(seed)]
    found = {"numpy": _run([*ours, "numpy"]), "torch": _run([*ours, "torch"])}
    for name, packages in PEERS.items():
        worker = HERE / "workers" / f"{name}_worker.py"
        found[name] = _run([str(_peer(name, packages)), str(worker), env_id, task, str(seed)])
    return found


def _run(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _peer(name: str, packages: list[str]) -> Path:
    """The interpreter of a peer's own environment."""
    python = HERE / ".peers" / name / "bin" / "python"
    if not python.exists():
        constraints = HERE.parent / "constraints.txt"
        torch = next(line for line in constraints.read_text().splitlines() if line.startswith("torch=="))
        pin = HERE / ".peers" / "torch.txt"
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        pin.write_text(torch + "\n")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(pin)]
        subprocess.run([*pip, "torch"], check=True)
        subprocess.run([*pip, *packages], check=True)
    return python


def _summarise(rounds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    speeds = {name: [r[name]["env_steps"] / r[name]["seconds"] for r in rounds] for name in rounds[0]}
    told: dict[str, Any] = {
        name: {
            "steps_per_second": statistics.median(values),
            "startup_seconds": statistics.median(r[name]["startup"] for r in rounds),
            "mean_return": statistics.median(r[name]["mean_return"] for r in rounds),
        }
        for name, values in speeds.items()
    }
    for engine in ("numpy", "torch"):
        for peer in PEERS:
            ratios = [ours / theirs for ours, theirs in zip(speeds[engine], speeds[peer], strict=True)]
            ratio = {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
            told[engine][f"times_{peer}"] = ratio
    return told


def _tell(env_id: str, result: dict[str, Any]) -> None:
    for name, facts in result.items():
        line = f"{env_id:16} {name:6} {facts['steps_per_second']:>10,.0f} steps/s"
        for peer in PEERS:
            ratio = facts.get(f"times_{peer}")
            if ratio:
                line += f"   {ratio['median']:.1f}× {peer} ({ratio['low']:.1f} to {ratio['high']:.1f})"
        print(f"{line}   start-up {facts['startup_seconds']:.1f} s", flush=True)


if __name__ == "__main__":
    main()
