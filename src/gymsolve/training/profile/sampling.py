"""Where a training's time goes: stacks sampled while it runs, summed up by phase.

A thread looks at the training thread's stack every few milliseconds; nothing in the loop is timed or changed,
so a profiled run computes exactly what it would have computed. What other threads and processes do (parallel
environments, an asynchronous evaluation) shows up as waiting.
"""

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from gymsolve.runs.files import make_folder, replace_json
from gymsolve.runs.run import Run
from gymsolve.training.profile.speedscope import Place, Stack, speedscope_profile

PHASES = {
    "env": "stepping the environments",
    "acting": "the policy choosing actions and valuing states",
    "collecting": "storing what happened, between the two",
    "update": "learning from rollouts",
    "evaluation": "evaluating the policy",
    "checkpoint": "saving",
    "records": "metrics, events and the screen",
    "video": "filming the policy",
    "other": "everything else",
}

_INTERVAL = 0.01
_SWITCH = 2e-4
"""Seconds the sampler waits for the interpreter. With the usual 5 ms it would mostly see those calls that
give the interpreter up by themselves."""
_OWNER = ("training/execute.py", "execute")
_PACKAGE = str(Path(__file__).parents[2]) + "/"
_OUTER = (
    ("evaluation", ("training/evaluation/scheduler.py", "training/evaluation/evaluate.py")),
    ("checkpoint", ("training/checkpoint.py", "runs/checkpoints.py")),
    ("video", ("apps/video/",)),
    ("records", ("runs/", "cli/", "metrics/", "training/records.py")),
    ("update", ("algos/", "fast/")),
)
_COLLECTED = (("env", ("envs/",)), ("acting", ("fast/", "nn/")))


@dataclass
class Samples:
    """Seconds seen in each stack."""

    seconds: defaultdict[Stack, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def phase_of(stack: Stack) -> str:
    """The phase that a stack belongs to; frames outside of gymsolve count with their caller."""
    files = [file for file, _ in stack]
    for depth, file in enumerate(files):
        if file.startswith("experience/collect.py"):
            return _first_match(files[depth + 1 :], _COLLECTED) or "collecting"
        phase = _first_match([file], _OUTER)
        if phase is not None:
            return phase
    return "other"


def split_times(samples: Samples) -> dict[str, Any]:
    """Seconds and share of every phase, JSON-ready."""
    seconds = dict.fromkeys(PHASES, 0.0)
    for stack, spent in samples.seconds.items():
        seconds[phase_of(stack)] += spent
    total = samples.total
    return {
        "seconds": round(total, 3),
        "phases": {
            name: {"seconds": round(spent, 3), "share": round(spent / total, 4) if total else 0.0}
            for name, spent in seconds.items()
        },
    }


@contextmanager
def profiling(run: Run) -> Iterator[None]:
    """Sample whatever the calling thread does inside; at the end write `profile/` into the run."""
    samples = Samples()
    with _sampled(samples):
        yield
    folder = make_folder(run.path / "profile")
    split = split_times(samples)
    replace_json(folder / "split.json", split)
    replace_json(folder / "speedscope.json", speedscope_profile(run.id, samples.seconds, phase_of))
    shares = {name: phase["share"] for name, phase in split["phases"].items() if phase["share"]}
    run.log("profile: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))


@contextmanager
def _sampled(samples: Samples) -> Iterator[None]:
    ended, switch = threading.Event(), sys.getswitchinterval()
    sampler = threading.Thread(target=_sample, args=(samples, threading.get_ident(), ended), daemon=True)
    sys.setswitchinterval(_SWITCH)
    sampler.start()
    try:
        yield
    finally:
        ended.set()
        sampler.join()
        sys.setswitchinterval(switch)


def _sample(samples: Samples, thread: int, ended: threading.Event) -> None:
    places: dict[CodeType, Place] = {}
    before = time.perf_counter()
    while not ended.wait(_INTERVAL):
        stack = _stack(sys._current_frames()[thread], places)
        now = time.perf_counter()
        # The time since the last look, not the interval: a busy machine makes looks rarer.
        samples.seconds[stack] += now - before
        before = now


def _stack(frame: FrameType | None, places: dict[CodeType, Place]) -> Stack:
    stack: list[Place] = []
    while frame is not None:
        code = frame.f_code
        if code not in places:
            places[code] = (_short(code.co_filename), code.co_qualname)
        if places[code] == _OWNER:
            break  # this frame and everything above it are the same in every sample
        stack.append(places[code])
        frame = frame.f_back
    return tuple(reversed(stack))


def _short(file: str) -> str:
    return file.removeprefix(_PACKAGE) if file.startswith(_PACKAGE) else "/".join(Path(file).parts[-2:])


def _first_match(files: list[str], table: tuple[tuple[str, tuple[str, ...]], ...]) -> str | None:
    for file in files:
        for phase, prefixes in table:
            if file.startswith(prefixes):
                return phase
    return None
