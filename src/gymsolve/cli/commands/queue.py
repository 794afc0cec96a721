"""`gymsolve resume group:ID` of a queue: several different requests, worked off in their order."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from gymsolve.cli.live.collector import collector_on
from gymsolve.cli.printing.output import print_json, print_whole_table, say
from gymsolve.doctor.lint import doubts_of
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.jobs.local import LocalPlace, jobs_at_once
from gymsolve.jobs.queue import Event, Queue, Stopping, TaskBegun, TaskEnded, TaskFailed, Tick
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.requested_queue import clear_stop, is_asked_to_stop, look_at_queue, note_failure
from gymsolve.jobs.startup_report import announce
from gymsolve.runs.groups import GROUP
from gymsolve.text import count, number
from gymsolve.training.stop import EXIT_CODES, StopSignal


def resume_queue(queue: Queue, request: RunRequest, runs_dir: Path | None, *, quiet: bool, json: bool) -> int:
    """Train what is left of a queue; returns the exit code."""
    plain = RunRequest("resume", request.env_or_ref, at_once=request.at_once, trust=request.trust)
    if request != plain:
        hint = "Resume one of its runs by the id."
        raise UsageError("the runs of a queue go on with the settings of their own requests.", hint=hint)
    collector_on()  # this process waits; it begins no training of its own
    clear_stop(queue)
    place, cores = LocalPlace(queue.jobs, runs_dir=runs_dir), jobs_at_once(1, len(queue.tasks()))
    at_once = cores if request.at_once is None else min(cores, request.at_once)
    watching = _Watching(queue, quiet=quiet or json)
    reason = queue.work_off(
        place, at_once=at_once, on_event=watching.hear, stop=watching.stop, trust=request.trust
    )
    if watching.failed and not watching.begun:
        raise watching.failed[0]
    state = look_at_queue(queue)
    if json:
        print_json(state.to_json())
    else:
        headers = ("request", "environment", "status", "steps", "best", "run")
        rows = [
            (run.request, run.env, run.status, count(run.env_steps), number(run.best_reward), run.run or "–")
            for run in state.runs
        ]
        print_whole_table(headers, rows, right=("steps", "best"))
    return 0 if reason is None else EXIT_CODES.get(reason, 1)


@dataclass
class _Watching:
    """Tells what happens, and hears a request to stop."""

    queue: Queue
    quiet: bool
    stop: StopSignal = field(default_factory=StopSignal)
    begun: int = 0
    failed: list[GymsolveError] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        match event:
            case Tick():
                if is_asked_to_stop(self.queue):
                    self.stop.request("stop file")
            case TaskBegun(key, run):
                self.begun += 1
                self._say(f"{key}: {run.id} trains")
                # Only the first call has an effect.
                log = self.queue.path.with_suffix(".log")
                announce(f"{GROUP}{self.queue.group}", self.queue.path, log, doubts_of(run))
            case TaskEnded(key, run):
                self._say(f"{key}: {run.id} {run.status}")
            case TaskFailed(key, error):
                self.failed.append(error)
                note_failure(self.queue, key, error)
                self._say(f"{key}: {error}")
            case Stopping():
                self._say("stopping: all runs finish the update under way and save")

    def _say(self, text: str) -> None:
        if not self.quiet:
            say(text, stream=sys.stdout)
