"""Queues of different requests, which a process in the background works off: `gymsolve resume group:ID`.

The requests are in `groups/<id>.jsonl`, and their runs name the group. A request that began no run is told in
`groups/<id>.failed.txt`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.jobs.queue import Queue
from gymsolve.jobs.request import RunRequest
from gymsolve.runs.groups import GROUP, find_queue, queue_stop
from gymsolve.runs.index import list_runs
from gymsolve.runs.records import append_record, read_records
from gymsolve.runs.refs import best_reward, fix_ref
from gymsolve.runs.run import Run
from gymsolve.runs.summary import RunSummary, runs_folder


@dataclass(frozen=True)
class QueuedRun(Answer):
    """One request of a queue."""

    request: str
    """Its number in the queue, from 1 on."""
    env: str
    run: str | None
    """None if it has not begun."""
    status: str
    """The status of its run, or `not begun`, or `failed` where no run began."""
    env_steps: int
    best_reward: float | None
    error: str | None
    """Why no run began."""


@dataclass(frozen=True)
class QueueState(Answer):
    """The requests of a queue: those that have ended, train, or wait for their turn."""

    run: str
    """`group:ID`."""
    training: int
    waiting: int
    runs: list[QueuedRun]


def create_queue(requests: Sequence[RunRequest], base: Path | str | None = None) -> Queue:
    """Store new runs to begin, in this order; nothing has begun yet."""
    folder = runs_folder(base).absolute()
    queue = Queue(f"queue-{len(requests)}runs-{os.urandom(2).hex()}", folder)
    fixed = [
        request
        if request.start_from is None
        else replace(request, start_from=fix_ref(request.start_from, base))
        for request in requests
    ]
    for at, request in enumerate(fixed):
        if request in fixed[:at]:
            first = fixed.index(request) + 1
            raise UsageError(f"requests {first} and {at + 1} are the same.", hint="Give them other seeds.")
    queue.add({str(at + 1): request for at, request in enumerate(fixed)})
    return queue


def _fixed(request: RunRequest, base: Path | str | None) -> RunRequest:
    """The request with the run that it begins with by its path: `@last` is another one by then."""
    origin = request.start_from
    return request if origin is None else replace(request, start_from=fix_ref(origin, base))


def open_queue(ref: str, base: Path | str | None = None) -> Queue | None:
    """The stored queue that `group:ID` names; None where it names none."""
    name = find_queue(ref, base)
    return None if name is None else Queue(name, runs_folder(base).absolute())


def is_asked_to_stop(queue: Queue) -> bool:
    return queue_stop(queue.base, queue.group).exists()


def clear_stop(queue: Queue) -> None:
    """Forget an earlier request to stop."""
    queue_stop(queue.base, queue.group).unlink(missing_ok=True)


def note_failure(queue: Queue, key: str, error: GymsolveError) -> None:
    """Write down why a request began no run."""
    append_record(_failures(queue), {"key": key, "error": str(error)})


def look_at_queue(queue: Queue) -> QueueState:
    """The state of all requests of a queue."""
    oldest_first = reversed([run for run in list_runs(queue.base) if run.group == queue.group])
    begun = {queue.request_of(run): run for run in oldest_first}
    errors = {row["key"]: row["error"] for row in read_records(_failures(queue), _is_failure).rows}
    runs = [
        _queued(queue, key, request, begun.get(request), errors.get(key))
        for key, request in queue.tasks().items()
    ]
    training = sum(run.status == "running" for run in runs)
    return QueueState(f"{GROUP}{queue.group}", training, sum(run.status == "not begun" for run in runs), runs)


def _queued(
    queue: Queue, key: str, request: RunRequest, run: RunSummary | None, error: str | None
) -> QueuedRun:
    if run is None:
        status = "not begun" if error is None else "failed"
        return QueuedRun(key, request.env_or_ref, None, status, 0, None, error)
    best = best_reward(Run(queue.base / run.id))
    return QueuedRun(key, request.env_or_ref, run.id, run.status, run.env_steps, best, None)


def _failures(queue: Queue) -> Path:
    return queue.path.with_name(f"{queue.group}.failed.txt")


def _is_failure(row: Any) -> bool:
    return isinstance(row.get("key"), str) and isinstance(row.get("error"), str)
