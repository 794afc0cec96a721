"""Works off requests at a place, a few at a time: seeds of one command, trials of a remedy.

A job that fails does not end the others. A stop reaches each job, and no further one begins. This process
only starts and watches. If it is killed, its jobs train on.

A stored queue (`Queue`) can be continued by another process. Its file holds requests alone; the jobs that the
place lists and the runs of the group tell the state of each. Runs that have ended stay, running ones are
watched again, and runs that died are resumed.
"""

import shlex
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.errors import CodeRefusedError, GymsolveError, RunDamagedError, UsageError
from gymsolve.jobs.place import Begun, Cursor, Ended, Job, Place
from gymsolve.jobs.request import RunRequest
from gymsolve.runs.deleted import deleted_runs
from gymsolve.runs.files import HeldError, locked, os_errors, parse_json, to_json
from gymsolve.runs.groups import groups_folder
from gymsolve.runs.index import list_runs
from gymsolve.runs.records import append_record, lines_from
from gymsolve.runs.run import Run, open_run
from gymsolve.runs.summary import RunSummary
from gymsolve.runs.trust import are_trusted_words, trust_words
from gymsolve.training.stop import Reason, StopSignal

Task = RunRequest | Job
"""A request to submit, or a job that was submitted before."""
_GLANCE = 0.05
_BROKEN = ("crashed", "damaged")
STOPPED = ("interrupt", "terminated", "stop file")
"""Reasons for a run's end after which no further task begins."""


@dataclass(frozen=True)
class TaskBegun:
    """The run of a task trains."""

    key: str
    run: Run


@dataclass(frozen=True)
class TaskEnded:
    """The run of a task is over, with whatever result."""

    key: str
    run: Run


@dataclass(frozen=True)
class TaskFailed:
    """No run began for a task."""

    key: str
    error: GymsolveError


@dataclass(frozen=True)
class Stopping:
    """A stop was requested: all running runs end after their update."""

    reason: Reason


@dataclass(frozen=True)
class Tick:
    """Nothing happened; comes several times a second."""


Event = TaskBegun | TaskEnded | TaskFailed | Stopping | Tick


def work_off(
    tasks: Mapping[str, Task],
    place: Place,
    *,
    at_once: int,
    on_event: Callable[[Event], None],
    group: str | None = None,
    stop: StopSignal | None = None,
) -> Reason | Literal["failed"] | None:
    """Train the tasks in order, at most `at_once` at a time; returns None if all ran to their end, else why.

    Ctrl-C, SIGTERM and SIGHUP stop all of them; so does a request that `on_event` makes to `stop`. A second
    signal, or an exception of `on_event`, ends them at once.
    """
    waiting = deque(tasks.items())

    def supply() -> tuple[str, Task] | None:
        return waiting.popleft() if waiting else None

    return work_on(supply, place, at_once=at_once, on_event=on_event, group=group, stop=stop)


def work_on(
    supply: Callable[[], tuple[str, Task] | None],
    place: Place,
    *,
    at_once: int,
    on_event: Callable[[Event], None],
    group: str | None = None,
    stop: StopSignal | None = None,
) -> Reason | Literal["failed"] | None:
    """Like `work_off`, with tasks that `supply` gives one at a time, each when there is room for it.

    It gives None while there is nothing to do; the work is over once nothing trains then.
    """
    signalled = StopSignal() if stop is None else stop
    work = _Work(place, group, on_event, signalled)
    with signalled.listening():
        try:
            work.run(supply, at_once)
        except BaseException:
            work.kill()  # no process would watch them any more
            raise
    return signalled.reason or ("failed" if work.broken else None)


class _Work:
    """Running jobs and their newest states."""

    def __init__(
        self, place: Place, group: str | None, on_event: Callable[[Event], None], stop: StopSignal
    ) -> None:
        self.place, self.group, self.on_event, self.stop = place, group, on_event, stop
        self.jobs: dict[str, Job] = {}
        self.begun: dict[str, Begun] = {}
        self.cursors: dict[str, Cursor] = {}
        self.first = True
        self.broken = self.stopping = False

    def run(self, supply: Callable[[], tuple[str, Task] | None], at_once: int) -> None:
        while True:
            if self.stop.reason is not None:
                self._stop_all(self.stop.reason)
            # The first one begins alone: if it fails, all others may fail for the same reason.
            while self.stop.reason is None and len(self.jobs) < (1 if self.first else at_once):
                if (task := supply()) is None:
                    break
                self._start(*task)
            if not self.jobs:
                return
            for key in list(self.jobs):
                self._look(key)
            self.on_event(Tick())
            if self.jobs:
                time.sleep(_GLANCE)

    def _start(self, key: str, task: Task) -> None:
        if isinstance(task, RunRequest):
            task = self.place.submit(task, group=self.group)
        self.jobs[key] = task

    def _look(self, key: str) -> None:
        job = self.jobs[key]
        state = job.poll()
        if state is None:
            return
        self.first = False
        begun = state.begun if isinstance(state, Ended) else state
        if begun is not None:
            self.cursors[key] = job.sync(self.cursors.get(key, {}))
            if key not in self.begun:
                self.begun[key] = begun
                self.on_event(TaskBegun(key, begun.run))
        if isinstance(state, Ended):
            del self.jobs[key]
            job.forget()
            self._tell_end(key, state)

    def _tell_end(self, key: str, state: Ended) -> None:
        if state.begun is None:
            assert state.error is not None
            self.broken = True
            self.on_event(TaskFailed(key, state.error))
        else:
            self.broken |= state.begun.run.status in _BROKEN
            self.on_event(TaskEnded(key, state.begun.run))

    def _stop_all(self, reason: Reason) -> None:
        if not self.stopping:
            self.stopping = True
            self.on_event(Stopping(reason))
        for job in self.jobs.values():
            job.stop()

    def kill(self) -> None:
        for job in self.jobs.values():
            job.kill()
            job.forget()


# ------------------------------------------------------------------------------- stored queues


@dataclass(frozen=True)
class Queue:
    """Tasks of a group in the file `groups/<group>.jsonl` beside the runs, one line for each."""

    group: str
    base: Path
    """The folder of the runs."""

    @property
    def path(self) -> Path:
        return groups_folder(self.base) / f"{self.group}.jsonl"

    @property
    def jobs(self) -> Path:
        """The folder in which a `LocalPlace` keeps the jobs of this queue."""
        return self.path.with_suffix(".jobs")

    def add(self, tasks: Mapping[str, RunRequest]) -> None:
        """Append tasks; they are stored before any of them begins."""
        stored = self.tasks() if self.path.exists() else {}
        for key, request in tasks.items():
            if key in stored or request in stored.values():
                raise UsageError(f"the task {key!r}, or its request, is in the queue already.")
            if request.verb == "resume" or request.seeds is not None:
                raise UsageError("a stored queue holds new runs, one in each task.", where=key)
            record = {"key": key, "request": request.to_json()}
            _require_storable(record)
            with os_errors(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
            append_record(self.path, record)
            trust_words(f"{self.group}/{key}", request.words())
            stored[key] = request

    def tasks(self) -> dict[str, RunRequest]:
        """All tasks in order; a last line that was cut off is left out."""
        tasks = {}
        for line in lines_from(self.path, 0):
            try:
                record = parse_json(line, exact=True)
                tasks[str(record["key"])] = RunRequest.from_json(record["request"])
            except (ValueError, KeyError, TypeError, UsageError) as error:
                raise RunDamagedError("a line is no task.", where=str(self.path)) from error
        return tasks

    def left(self, place: Place, *, trust: bool = False) -> dict[str, Task]:
        """Tasks that are not finished: running jobs, runs to resume, requests that never began.

        Requests that this user did not add here are refused unless the user trusts them.
        """
        jobs = jobs_under_way(place, self.group)
        runs = [run for run in reversed(list_runs(self.base)) if run.group == self.group]
        begun = {request: run for run in runs if (request := self.request_of(run)) is not None}
        deleted = self._deleted_requests()
        tasks: dict[str, Task] = {}
        for key, request in self.tasks().items():
            run = begun.get(request)
            if request in jobs:
                tasks[key] = jobs[request]
            elif (run is not None and has_ended(run)) or (run is None and request in deleted):
                continue
            elif run is None or request.until is not None:  # a resume would go on to the whole budget
                self._require_trust(key, request, trust)
                tasks[key] = request
            else:
                again = RunRequest("resume", str(self.base / run.id), trust=request.trust)
                tasks[key] = jobs.get(again, again)
        return tasks

    def _require_trust(self, key: str, request: RunRequest, trust: bool) -> None:
        name, words = f"{self.group}/{key}", request.words()
        if trust:
            trust_words(name, words)
        elif not are_trusted_words(name, words):
            raise CodeRefusedError(
                f"the queue {self.group} would run 'gymsolve {shlex.join(words)}', and it was not made here.",
                hint="If you know where it comes from: trust=True, once.",
            )

    def request_of(self, run: RunSummary) -> RunRequest | None:
        """The request by which a run of the group began; None if a person began it in another way."""
        return _request_of_words(open_run(self.base / run.id).info()["command"][1:])

    def _deleted_requests(self) -> set[RunRequest]:
        """Requests whose runs have begun and were deleted: they do not begin again."""
        gone = [run for run in deleted_runs(self.base).values() if run.group == self.group]
        return {request for run in gone if (request := _request_of_words(run.command[1:])) is not None}

    def work_off(
        self,
        place: Place,
        *,
        at_once: int,
        on_event: Callable[[Event], None],
        stop: StopSignal | None = None,
        trust: bool = False,
    ) -> Reason | Literal["failed"] | None:
        """Train the tasks that are left, as `work_off` does; no other process may do so meanwhile."""
        with ExitStack() as held:
            try:
                held.enter_context(locked(self.path.with_suffix(".lock"), timeout=0.0))
            except HeldError as error:
                message = f"the queue {self.group} is being worked off by another process."
                raise UsageError(message, hint="Stop it first, or wait for its end.") from error
            tasks = self.left(place, trust=trust)
            return work_off(tasks, place, at_once=at_once, on_event=on_event, group=self.group, stop=stop)


def _request_of_words(words: list[str]) -> RunRequest | None:
    try:
        return RunRequest.from_words(words)
    except UsageError:
        return None


def has_ended(run: RunSummary) -> bool:
    """True if a run was solved or has spent its budget: it was not stopped and nothing broke."""
    return run.status in ("solved", "finished") and run.reason not in STOPPED


def jobs_under_way(place: Place, group: str) -> dict[RunRequest, Job]:
    """Jobs of a group that still start or train; jobs that have ended are forgotten."""
    jobs = {}
    for job in place.list():
        if job.group != group:
            continue
        if isinstance(job.poll(), Ended):
            job.forget()
        else:
            jobs[job.request] = job
    return jobs


def _require_storable(record: dict[str, Any]) -> None:
    if parse_json(to_json(record).encode(errors="replace"), exact=True) != record:
        raise UsageError("a text of this request cannot be stored.", where=str(record["key"]))
