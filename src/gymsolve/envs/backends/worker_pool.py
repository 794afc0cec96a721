"""Copies of an environment in a few processes, each of which steps a slice of them.

This process can take a slice too (`share`): then every core has one, nobody sleeps while others work, and
workers stay awake between two steps. Without it, whatever breaks a worker leaves this process alone.

Results go through shared memory (`shared_buffers.py`). An order is one byte on a socket, and so is the answer
that it was carried out; an end of file tells either side that the other died. Everything else (resets,
snapshots, errors) is pickled and follows its byte. `worker_process.py` has the worker's side.

A worker may be lost (`worker_supervisor.py`). A step gives its rows back as lost; another worker
repeats a reset or a restore.

Workers are forked while this process has one thread and has not loaded torch, which takes milliseconds.
Otherwise a fork could inherit a lock that nobody will release, so workers are started afresh, which takes a
second.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np

from gymsolve.envs.backends.in_process import InProcessEnvs
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.backends.worker import Worker
from gymsolve.envs.backends.worker_process import LOST, STEP, Task, call_method
from gymsolve.envs.backends.worker_supervisor import WorkerSupervisor, name_rows, raise_first
from gymsolve.envs.build import CopyBuilder, find_spec
from gymsolve.envs.contract import Snapshot
from gymsolve.errors import GymsolveError
from gymsolve.spec import Array


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


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
        self._limits = builders[0].config
        self._own_rows = tasks[0].rows if share else slice(0, 0)
        self._own: InProcessEnvs | None = None
        self._supervisor = WorkerSupervisor(self._limits)
        try:
            self._supervisor.start(tasks[1:] if share else tasks)
            if share:
                self._own = InProcessEnvs(tasks[0].builders, self.buffers.rows(self._own_rows))
        except BaseException:  # a signal too must leave no process behind
            self.close()
            raise

    @property
    def processes(self) -> list[Any]:
        return [worker.own.process for worker in self._supervisor.workers]

    # --------------------------------------------------------------------------- reset and step

    def reset(self, seeds: Sequence[int | None]) -> None:
        self._supervisor.reset_counts()
        if self._own is not None:
            self._own.reset(seeds[self._own_rows])
        self._supervisor.call_until_answered("reset", lambda rows: (list(seeds[rows]),))

    def step(self, actions: Array) -> tuple[slice, ...]:
        """Rows whose worker died meanwhile: they mean nothing until `rebuild`."""
        self.buffers.actions[...] = actions
        self.buffers.rewards.fill(np.nan)  # what is a number afterwards was stepped
        self._supervisor.steps += 1
        for worker in self._supervisor.workers:
            if worker.lost is None:
                try:
                    worker.order(STEP)
                except LOST as lost:
                    self._supervisor.mark_dead(worker, lost, "")
        own_error, own_lost = self._step_own()
        errors = [own_error]
        for worker in self._supervisor.workers:
            if worker.lost is None:
                try:
                    errors.append(worker.await_end(partial(self._step_progress, worker.rows)))
                except LOST as lost:
                    self._supervisor.mark_dead(worker, lost, self._where_it_is(worker.rows))
        raise_first(errors)
        return (*own_lost, *(worker.rows for worker in self._supervisor.workers if worker.lost is not None))

    def _step_own(self) -> tuple[GymsolveError | None, tuple[slice, ...]]:
        """Step the rows of this process; which of them were lost, and an error for when all have answered."""
        if self._own is not None:
            try:
                return None, self._own.step(self._own.buffers.actions.copy())
            except GymsolveError as error:
                return error, ()
        return None, ()

    def _step_progress(self, rows: slice) -> tuple[int, float | None]:
        stepped = int(np.count_nonzero(~np.isnan(self.buffers.rewards[rows])))
        limit = self._limits.step_timeout
        if self._ended(rows, stepped - 1) and limit is not None:  # then a reset may be under way
            longer = self._limits.reset_timeout
            return stepped, None if longer is None else max(limit, longer)
        return stepped, limit

    def _ended(self, rows: slice, row: int) -> bool:
        buffers = self.buffers.rows(rows)
        return row >= 0 and bool(buffers.terminated[row] or buffers.truncated[row])

    def _where_it_is(self, rows: slice) -> str:
        """Which environment of a slice a worker does not return from, in words."""
        stepped = int(np.count_nonzero(~np.isnan(self.buffers.rewards[rows])))
        if self._ended(rows, stepped - 1):
            return f"the reset of environment {rows.start + stepped - 1} (or a step after it)"
        return f"the step of environment {rows.start + stepped}"

    def rebuild(
        self, lost: Sequence[slice], seeds: Sequence[int], options: Sequence[dict[str, Any] | None]
    ) -> list[str]:
        """New workers for lost rows, whose environments begin with these of the seeds [N] and options [N].

        What became of the old ones, in words.
        """
        gone = [worker for worker in self._supervisor.workers if worker.rows in lost]
        reports = [f"The worker of {name_rows(worker.rows)} of {self._name} {worker.lost}" for worker in gone]
        if self._own is not None:  # its rows are the first ones, so they have the same numbers there
            own = [rows for rows in lost if rows.stop <= self._own_rows.stop]
            reports = self._own.rebuild(own, seeds, options) + reports
        while gone:
            self._supervisor.restart(gone)
            fresh = [worker for worker in self._supervisor.workers if worker.rows in lost]
            for name, column in (("configure", options), ("reset", seeds)):
                alive = [worker for worker in fresh if worker.lost is None]
                asked = {worker: self._each_row(name, worker.rows, column) for worker in alive}
                self._supervisor.call(name, asked)
            gone = [worker for worker in fresh if worker.lost is not None]
        return reports

    @staticmethod
    def _each_row(name: str, rows: slice, column: Sequence[Any]) -> tuple[Any, ...]:
        own = list(column[rows])
        return (list(range(len(own))), own) if name == "configure" else (own,)

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
        return own + self._supervisor.call_until_answered(
            "restore", lambda rows: (list(snapshots[rows]), list(seeds[rows]))
        )

    def render(self) -> list[Any]:
        own = [] if self._own is None else self._own.render()
        answers = self._supervisor.call("render", dict.fromkeys(self._supervisor.workers, ()))
        return own + [frame for worker in self._supervisor.workers for frame in answers.get(worker, ())]

    def close(self) -> None:
        self._supervisor.close()
        if self._own is not None:
            self._own.close()
            self._own = None

    def _ask_rows(
        self, name: str, rows: Sequence[int], *columns: Sequence[Any], extra: tuple[Any, ...] = ()
    ) -> list[Any]:
        """Call a method where each row lives, with its item of every column; answers in the order of rows.

        Rows of a worker that is lost, which the next step tells, answer None.
        """
        answers: dict[int, Any] = dict.fromkeys(range(len(rows)))
        asked: dict[Worker, tuple[Any, ...]] = {}
        order: dict[Worker, list[int]] = {}
        owners = [
            (self._own, self._own_rows),
            *((worker, worker.rows) for worker in self._supervisor.workers),
        ]
        for owner, part in owners:
            places = [place for place, row in enumerate(rows) if part.start <= row < part.stop]
            if owner is None or not places:
                continue
            local = [rows[place] - part.start for place in places]
            arguments = (local, *([column[place] for place in places] for column in columns), *extra)
            if isinstance(owner, Worker):
                asked[owner], order[owner] = arguments, places
            else:
                answers |= zip(places, call_method(owner, name, arguments) or places, strict=True)
        for worker, items in self._supervisor.call(name, asked).items():
            answers |= zip(order[worker], items or order[worker], strict=True)
        return [answers[place] for place in range(len(rows))]
