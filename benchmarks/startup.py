"""How long commands take to answer, and `train` to its first step, from the start of the process."""

import subprocess
import sys
import tempfile
import time

from benchmarks.harness import tell, worker_environment
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["measure_startup"]

_COMMANDS: dict[str, tuple[str, ...]] = {
    "python -c pass": ("-c", "pass"),
    "gymsolve --help": ("-m", "gymsolve", "--help"),
    "gymsolve runs": ("-m", "gymsolve", "runs"),
    "gymsolve recipes": ("-m", "gymsolve", "recipes"),
    "gymsolve doctor": ("-m", "gymsolve", "doctor"),
    "gymsolve train CartPole-v1, to its first step": ("FIRST", "CartPole-v1"),
    "gymsolve train LunarLander-v3, to its first step": ("FIRST", "LunarLander-v3"),
    "the same with --set engine=torch, CartPole-v1": ("FIRST", "CartPole-v1", "engine=torch"),
}
_FIRST = """
import os, sys
from gymsolve.training.observer import Silent
class Leave(Silent):
    def rollout_step(self, step, total):
        os._exit(0)
import gymsolve.cli.live.console as console
console.Watcher = lambda *rest: Leave()
from gymsolve.cli import main
main(["train", sys.argv[1], "--runs-dir", ".", "--json", *[w for s in sys.argv[2:] for w in ("--set", s)]])
sys.exit("no step was made")
"""
"""The command itself, left at its first step by the observer that the console would be."""


def measure_startup(options: Options, store: Store) -> None:
    for number in range(options.repeats):
        for name, words in _COMMANDS.items():
            if words[0] == "FIRST":
                words = ("-c", _FIRST, *words[1:])
            busy = wait_until_idle(options.patience)
            seconds = _clock(words)
            figure = {"value": seconds, "unit": "s", "noisy": busy > IDLE}
            store.add({"case": f"start: {name}", "tool": OURS, "round": number, **figure})
            tell(f"start: {name:48} {seconds:8.2f} s")


def _clock(words: tuple[str, ...]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, *words],
            check=True,
            capture_output=True,
            cwd=folder,
            env=worker_environment(None),
        )
        return time.perf_counter() - began
