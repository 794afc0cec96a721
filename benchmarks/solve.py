"""Time to solve: from the start of the process, and from the first step, to a confirmed verdict.

Ours is the plain command with its own recipe. Stable-Baselines3 trains with the zoo's preset and is
judged by our rule: the same threshold, evaluations at the same number of environment steps, as many
episodes, confirmed on fresh seeds. Both wait for their evaluations, whose time is told apart too.
"""

import json
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.harness import measure, tell, worker_environment
from benchmarks.machine import IDLE, CpuWatch, wait_until_idle
from benchmarks.store import OURS, Record, Store
from benchmarks.throughput import Options, load_tasks
from gymsolve.recipes import resolve

__all__ = ["CASES", "measure_solve"]

CASES: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"threshold": 475.0, "steps": 100_000, "longest": 600},
    "LunarLander-v3": {"threshold": 200.0, "steps": 1_000_000, "longest": 300},
}
"""Budgets of the zoo, and Gymnasium's thresholds; when and on how much to judge is our recipes' choice.

A peer that has not solved it after `longest` seconds is stopped, and took at least as long.
"""


def measure_solve(options: Options) -> None:
    store = Store(options.results, "solve")
    for env_id in options.among(CASES):
        case = CASES[env_id]
        for seed in range(options.seeds):
            for tool in (OURS, "sb3"):
                if tool == OURS:
                    record = _ours(env_id, seed, options)
                elif not options.peers or tool in options.peers:
                    record = _sb3(env_id, case, seed, options)
                else:
                    continue
                store.add({"case": env_id, "round": seed, **record})
                _say(env_id, seed, record)


def _ours(env_id: str, seed: int, options: Options) -> Record:
    """`gymsolve train ENV`, nothing else; the times are those of its own event log."""
    before, watch = wait_until_idle(options.patience), CpuWatch()
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", env_id, "--seed", str(seed), "--runs-dir", folder, "--json"]
        words += ["--steps", "4096"] if options.quick else []
        launched, began = time.time(), time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "gymsolve", *words],
            capture_output=True,
            text=True,
            env=worker_environment(None),
            check=False,
        )
        wall = time.monotonic() - began
        if done.returncode:
            return {"tool": OURS, "error": (done.stderr or done.stdout).strip()[-300:]}
        outcome = json.loads(done.stdout.splitlines()[-1])
        run = Path(outcome["path"])
        events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
        metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    at = {event["kind"]: _seconds(event["time"]) - launched for event in reversed(events)}
    others = max(before, watch.others_share())
    solved = at["solved"] if outcome["solved"] else None
    return {
        "tool": OURS,
        "solved": outcome["solved"],
        "env_steps": outcome["env_steps"],
        "from_start": solved,
        "from_first_step": None if solved is None else solved - at["started"],
        "startup": at["started"],
        "evaluating": sum(record.get("eval/seconds", 0.0) for record in metrics),
        "wall": wall,
        "others": round(others, 3),
        "noisy": others > IDLE,
    }


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _sb3(env_id: str, case: dict[str, Any], seed: int, options: Options) -> Record:
    recipe = resolve(env_id).config
    task = load_tasks()[env_id] | {"steps": 4096 if options.quick else case["steps"]}
    job = {
        "env_id": env_id,
        "task": task,
        "seed": seed,
        "every": recipe.eval_every,
        "episodes": recipe.eval.episodes,
        "solved_episodes": recipe.eval.solved_episodes,
        "threshold": case["threshold"],
        "longest": case["longest"],
        "patience": options.patience,
    }
    return measure("sb3", "sb3_solve_worker.py", job, threads=1, timeout=3 * 3600)


def _say(case: str, seed: int, record: Record) -> None:
    if "error" in record:
        told = record["error"]
    elif record["solved"]:
        told = f"solved after {record['from_start']:.1f} s, {record['env_steps']:,} steps"
    else:
        told = f"not solved within {record['env_steps']:,} steps, {record['wall']:.0f} s"
    tell(f"{case:16} {record['tool']:10} seed {seed}: {told}")
