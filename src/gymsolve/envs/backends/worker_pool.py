"""Copies of an environment in a few processes, each of which steps a slice of them.

This process can take a slice too (`share`): then every core has one, nobody sleeps while others work, and
workers stay awake between two steps. Without it, whatever breaks a worker leaves this process alone.

Results go through shared memory (`shared_buffers.py`). An order is one byte on a socket, and so is the answer
that it was carried out; an end of file tells either side that the other died. Everything else (resets,
snapshots, errors) is pickled and follows its byte. `worker_process.py` has the worker's side.

Workers are forked while this process has one thread and has not loaded torch, which takes milliseconds.
Otherwise a fork could inherit a lock that nobody will release, so workers are started afresh, which takes a
second.
"""

import multiprocessing
import os
import pickle
import sys
from collections.abc import Sequence
from itertools import pairwise
from multiprocessing.sharedctypes import RawArray
from typing import Any

from gymsolve.envs.apart import can_fork
from gymsolve.envs.backends.in_process import InProcessEnvs
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.backends.worker_process import (
    CALL,
    FAILED,
    LOST,
    QUIT,
    STEP,
    Line,
    Task,
    call_method,
    serve,
)
from gymsolve.envs.build import CopyBuilder, find_spec
from gymsolve.envs.contract import Snapshot
from gymsolve.errors import EnvFaultError, GymsolveError
from gymsolve.spec import Array

__all__ = ["Workers", "name_rows", "usable_cores"]

_PATIENCE = 5.0
"""Seconds that a worker gets to close its environments."""


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class _Worker:
    """One process, its rows, and the connection to it."""

    def __init__(self, task: Task) -> None:
        self.rows = task.rows
        context: Any = multiprocessing.get_context("fork" if can_fork() else "spawn")
        self._connection, theirs = context.Pipe()
        self._line = Line(self._connection, eager=task.eager)
        self.process = context.Process(target=serve, args=(theirs, self._connection, task), daemon=True)
        try:
            self.process.start()
        finally:
            theirs.close()

    def order(self, what: bytes) -> None:
        self._line.say(what)

    def call(self, name: str, *arguments: Any) -> None:
        self.order(CALL)
        self._connection.send((name, arguments))

    def await_end(self) -> GymsolveError | None:
        """Wait until the order is carried out; what went wrong, if anything did."""
        end = self._line.hear()
        if not end:
            raise EOFError
        return self._connection.recv() if end == FAILED else None

    def await_result(self) -> tuple[GymsolveError | None, Any]:
        """What a call failed with, or what it returned."""
        error = self.await_end()
        return error, None if error is not None else self._connection.recv()

    def quit(self) -> None:
        try:
            self.order(QUIT)
        except ConnectionError:
            return  # the worker is gone

    def bury(self, patience: float) -> None:
        self.process.join(patience)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._connection.close()


class Workers:
    """Processes that step slices of the environments; the death of one can be mended."""

    def __init__(
        self, builders: Sequence[CopyBuilder], plan: BufferPlan, count: int, *, share: bool = False
    ) -> None:
        """`count` slices; with `share`, this process steps the first of them."""
        memory: Any = RawArray("b", plan.size)
        self.buffers = plan.place(memory)
        registered = find_spec(builders[0].config.id)
        ends = [len(builders) * i // count for i in range(count + 1)]
        self._name = builders[0].config.id
        tasks = [
            Task(tuple(builders[start:stop]), plan, slice(start, stop), memory, registered, eager=share)
            for start, stop in pairwise(ends)
        ]
        self._tasks = tasks[1:] if share else tasks
        self._own_rows = tasks[0].rows if share else slice(0, 0)
        self._own: InProcessEnvs | None = None
        self._workers: list[_Worker] = []
        try:
            for task in self._tasks:
                self._workers.append(self._start(task))
            for worker in self._workers:
                self._await_ready(worker)
            if share:
                self._own = InProcessEnvs(tasks[0].builders, self.buffers.rows(self._own_rows))
        except BaseException:
            self.close()
            raise

    @property
    def processes(self) -> list[Any]:
        return [worker.process for worker in self._workers]

    # --------------------------------------------------------------------------- reset and step

    def reset(self, seeds: Sequence[int | None]) -> None:
        if self._own is not None:
            self._own.reset(seeds[self._own_rows])
        self._call("reset", {worker: (list(seeds[worker.rows]),) for worker in self._workers})

    def step(self, actions: Array) -> tuple[slice, ...]:
        """Rows whose worker died meanwhile: they mean nothing until `rebuild`."""
        self.buffers.actions[...] = actions
        lost: list[slice] = []
        working: list[_Worker] = []
        for worker in self._workers:
            try:
                worker.order(STEP)
                working.append(worker)
            except ConnectionError:
                lost.append(worker.rows)
        errors = [self._step_own()]
        for worker in working:
            try:
                errors.append(worker.await_end())
            except LOST:
                lost.append(worker.rows)
        _raise_first(errors)
        return tuple(sorted(lost, key=lambda rows: rows.start)) if lost else ()

    def _step_own(self) -> GymsolveError | None:
        """Step the rows of this process; an error waits until the others have answered."""
        if self._own is not None:
            try:
                self._own.step(self._own.buffers.actions.copy())
            except GymsolveError as error:
                return error
        return None

    def rebuild(
        self, lost: Sequence[slice], seeds: Sequence[int], options: Sequence[dict[str, Any] | None]
    ) -> None:
        """New workers for lost rows, whose environments begin with these of the seeds [N] and options [N]."""
        for index, task in enumerate(self._tasks):
            if task.rows in lost:
                self._workers[index].bury(patience=0.0)
                self._workers[index] = self._start(task)
        for worker in self._workers:
            if worker.rows in lost:
                self._await_ready(worker)
        rows = [row for part in lost for row in range(part.start, part.stop)]
        self.configure(rows, [options[row] for row in rows])
        self._call(
            "reset", {worker: (list(seeds[worker.rows]),) for worker in self._workers if worker.rows in lost}
        )

    # ------------------------------------------------------------- calls that are not steps

    def configure(self, rows: Sequence[int], options: Sequence[dict[str, Any] | None]) -> None:
        self._ask_rows("configure", rows, options)

    def snapshots(self, rows: Sequence[int], native: bool) -> list[Snapshot | None]:
        return self._ask_rows("snapshots", rows, extra=(native,))

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot | None], seeds: Sequence[int]
    ) -> list[bool]:
        return self._ask_rows("jump", rows, snapshots, seeds)

    def restore(self, snapshots: Sequence[Snapshot | None], seeds: Sequence[int]) -> list[bool]:
        rows = self._own_rows
        own = [] if self._own is None else self._own.restore(snapshots[rows], seeds[rows])
        return own + self._call(
            "restore",
            {worker: (list(snapshots[worker.rows]), list(seeds[worker.rows])) for worker in self._workers},
        )

    def render(self) -> list[Any]:
        own = [] if self._own is None else self._own.render()
        return own + self._call("render", dict.fromkeys(self._workers, ()))

    def close(self) -> None:
        for worker in self._workers:
            worker.quit()
        for worker in self._workers:
            worker.bury(_PATIENCE)
        self._workers = []
        if self._own is not None:
            self._own.close()
            self._own = None

    def _ask_rows(
        self, name: str, rows: Sequence[int], *columns: Sequence[Any], extra: tuple[Any, ...] = ()
    ) -> list[Any]:
        """Call a method where each row lives, with its item of every column; answers in the order of rows."""
        answers: dict[int, Any] = {}
        asked: dict[_Worker, tuple[Any, ...]] = {}
        order: list[int] = []
        for owner, part in [(self._own, self._own_rows), *((one, one.rows) for one in self._workers)]:
            places = [place for place, row in enumerate(rows) if part.start <= row < part.stop]
            if owner is None or not places:
                continue
            local = [rows[place] - part.start for place in places]
            arguments = (local, *([column[place] for place in places] for column in columns), *extra)
            if isinstance(owner, _Worker):
                asked[owner] = arguments
                order += places
            else:
                answers |= zip(places, call_method(owner, name, arguments) or places, strict=True)
        answers |= zip(order, self._call(name, asked) or order, strict=True)
        return [answers[place] for place in range(len(rows))]

    def _call(self, name: str, asked: dict[_Worker, tuple[Any, ...]]) -> list[Any]:
        """Ask all at once, then collect what they return, row by row."""
        try:
            for worker, arguments in asked.items():
                worker.call(name, *arguments)
            answers = [worker.await_result() for worker in asked]
        except LOST as lost:
            dead = next((worker for worker in asked if not worker.process.is_alive()), next(iter(asked)))
            raise EnvFaultError(
                f"the worker process of {name_rows(dead.rows)} of {self._name} died."
            ) from lost
        _raise_first([error for error, _ in answers])
        return [item for _, items in answers for item in items or ()]

    def _start(self, task: Task) -> _Worker:
        try:
            return _Worker(task)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise EnvFaultError(
                f"{self._name} cannot be sent to a worker process: {error}.",
                hint="Register it with an entry point that can be imported, or use env.backend=sync.",
            ) from error

    def _await_ready(self, worker: _Worker) -> None:
        try:
            error = worker.await_end()
        except LOST as lost:
            raise EnvFaultError(
                f"{self._name} could not be built in a worker process; see its output above."
            ) from lost
        if error is not None:
            raise error


def _raise_first(errors: Sequence[GymsolveError | None]) -> None:
    """Raise the error of the lowest environment, so that a rerun says the same; all workers have answered."""
    for error in errors:
        if error is not None:
            raise error


def name_rows(rows: slice) -> str:
    """Which environments these are, in words."""
    last = rows.stop - 1
    return f"environment {last}" if rows.start == last else f"environments {rows.start} to {last}"
