"""Copies of an environment in a few processes, each of which steps a slice of them.

This process can take a slice too (`share`): then every core has one, nobody sleeps while others work, and
workers stay awake between two steps. Without it, whatever breaks a worker leaves this process alone.

Results go through shared memory (`shared_buffers.py`). An order is one byte on a socket, and so is the answer
that it was carried out; an end of file tells either side that the other died. Everything else (resets,
snapshots, errors) is pickled and follows its byte. `worker_process.py` has the worker's side.

A worker that dies or no longer answers is lost. Whoever needs its rows next starts another one: a step gives
them back as lost, a reset and a restore are simply done again there. Workers that keep dying end the run.

Workers are forked while this process has one thread and has not loaded torch, which takes milliseconds.
Otherwise a fork could inherit a lock that nobody will release, so workers are started afresh, which takes a
second.
"""

import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np

from gymsolve.envs.backends.in_process import InProcessEnvs, allowed_deaths
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.backends.worker import Worker
from gymsolve.envs.backends.worker_process import LOST, STEP, Task, call_method
from gymsolve.envs.build import CopyBuilder, find_spec
from gymsolve.envs.contract import Snapshot
from gymsolve.errors import EnvFaultError, EnvLostError, GymsolveError
from gymsolve.spec import Array

__all__ = ["Workers", "name_rows", "usable_cores"]

_PATIENCE = 5.0
"""Seconds that all workers together get to close their environments."""
_BUSY_PATIENCE = 1.0
"""The same where one still owes an answer: nobody waits for it any more, so it may well be stuck."""
_BUILD_DEATHS = 3
"""How often they may die before the first step."""
_HANG_WEIGHT = 3
"""As many deaths count for a worker that had to be waited for."""


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
        self._steps = 0
        self._deaths = 0
        self._own_rows = tasks[0].rows if share else slice(0, 0)
        self._own: InProcessEnvs | None = None
        self._workers: list[Worker] = []
        try:
            for task in tasks[1:] if share else tasks:
                self._workers.append(self._start(task))
            for worker in self._workers:
                self._await_ready(worker)
            self._revive(self._lost())
            if share:
                self._own = InProcessEnvs(tasks[0].builders, self.buffers.rows(self._own_rows))
        except BaseException:  # a signal too must leave no process behind
            self.close()
            raise

    @property
    def processes(self) -> list[Any]:
        return [worker.own.process for worker in self._workers]

    # --------------------------------------------------------------------------- reset and step

    def reset(self, seeds: Sequence[int | None]) -> None:
        self._steps, self._deaths = 0, 0
        if self._own is not None:
            self._own.reset(seeds[self._own_rows])
        self._insist("reset", self._workers, lambda rows: (list(seeds[rows]),))

    def step(self, actions: Array) -> tuple[slice, ...]:
        """Rows whose worker died meanwhile: they mean nothing until `rebuild`."""
        self.buffers.actions[...] = actions
        self.buffers.rewards.fill(np.nan)  # what is a number afterwards was stepped
        self._steps += 1
        for worker in self._workers:
            if worker.lost is None:
                try:
                    worker.order(STEP)
                except LOST as lost:
                    self._mourn(worker, lost, "")
        own_error, own_lost = self._step_own()
        errors = [own_error]
        for worker in self._workers:
            if worker.lost is None:
                try:
                    errors.append(worker.await_end(partial(self._step_progress, worker.rows)))
                except LOST as lost:
                    self._mourn(worker, lost, self._where_it_is(worker.rows))
        _raise_first(errors)
        return (*own_lost, *(worker.rows for worker in self._workers if worker.lost is not None))

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
        gone = [worker for worker in self._workers if worker.rows in lost]
        told = [f"The worker of {name_rows(one.rows)} of {self._name} {one.lost}" for one in gone]
        if self._own is not None:  # its rows are the first ones, so they have the same numbers there
            own = [rows for rows in lost if rows.stop <= self._own_rows.stop]
            told = self._own.rebuild(own, seeds, options) + told
        while gone:
            self._revive(gone)
            fresh = [worker for worker in self._workers if worker.rows in lost]
            for name, column in (("configure", options), ("reset", seeds)):
                asked = {one: self._each_row(name, one.rows, column) for one in fresh if one.lost is None}
                self._call(name, asked)
            gone = [worker for worker in fresh if worker.lost is not None]
        return told

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
        return own + self._insist(
            "restore", self._workers, lambda rows: (list(snapshots[rows]), list(seeds[rows]))
        )

    def render(self) -> list[Any]:
        own = [] if self._own is None else self._own.render()
        answers = self._call("render", dict.fromkeys(self._workers, ()))
        return own + [frame for worker in self._workers for frame in answers.get(worker, ())]

    def close(self) -> None:
        for worker in self._workers:
            worker.quit()
        patience = _BUSY_PATIENCE if any(worker.busy for worker in self._workers) else _PATIENCE
        until = time.monotonic() + patience
        for worker in self._workers:
            worker.bury(max(0.0, until - time.monotonic()))
        self._workers = []
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
        for owner, part in [(self._own, self._own_rows), *((one, one.rows) for one in self._workers)]:
            places = [place for place, row in enumerate(rows) if part.start <= row < part.stop]
            if owner is None or not places:
                continue
            local = [rows[place] - part.start for place in places]
            arguments = (local, *([column[place] for place in places] for column in columns), *extra)
            if isinstance(owner, Worker):
                asked[owner], order[owner] = arguments, places
            else:
                answers |= zip(places, call_method(owner, name, arguments) or places, strict=True)
        for worker, items in self._call(name, asked).items():
            answers |= zip(order[worker], items or order[worker], strict=True)
        return [answers[place] for place in range(len(rows))]

    def _insist(
        self, name: str, workers: Sequence[Worker], arguments: Callable[[slice], tuple[Any, ...]]
    ) -> list[Any]:
        """Call a method that decides where environments are; a lost worker is replaced and asked again."""
        answers: dict[int, Any] = {}
        waiting = list(workers)
        while waiting:
            self._revive([worker for worker in waiting if worker.lost is not None])
            parts = [worker.rows for worker in waiting]
            asked = {one: arguments(one.rows) for one in self._workers if one.rows in parts}
            answers |= {one.rows.start: items for one, items in self._call(name, asked).items()}
            waiting = [worker for worker in asked if worker.lost is not None]
        return [item for start in sorted(answers) for item in answers[start] or ()]

    def _call(self, name: str, asked: dict[Worker, tuple[Any, ...]]) -> dict[Worker, Any]:
        """Ask all at once, then collect what they return; one that is lost gives no answer."""
        for worker, arguments in asked.items():
            if worker.lost is None:
                try:
                    worker.call(name, *arguments)
                except LOST as lost:
                    self._mourn(worker, lost, "")
        answers: dict[Worker, tuple[GymsolveError | None, Any]] = {}
        for worker in asked:
            if worker.lost is None:
                try:
                    answers[worker] = worker.await_result(lambda: (0, self._call_limit(name)))
                except LOST as lost:
                    self._mourn(worker, lost, f"`{name}`")
        _raise_first([error for error, _ in answers.values()])
        return {worker: items for worker, (_, items) in answers.items()}

    def _call_limit(self, name: str) -> float | None:
        limit = self._limits.reset_timeout
        # Going somewhere may mean to repeat a whole episode.
        return limit if limit is None or name not in ("restore", "jump") else 10.0 * limit

    # ----------------------------------------------------------------------------- lives and deaths

    def _lost(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.lost is not None]

    def _mourn(self, worker: Worker, error: Exception, what: str) -> None:
        """Note that a worker is lost; too many of them are an error."""
        worker.give_up(error, what)
        self._deaths += _HANG_WEIGHT if worker.hung else 1
        allowed = allowed_deaths(self._steps) if self._steps else _BUILD_DEATHS
        if self._deaths <= allowed:
            return
        when = f"within {self._steps} vector steps" if self._steps else "before the first step"
        raise EnvLostError(
            f"workers of {self._name} were lost again and again {when}; the last one, of "
            f"{name_rows(worker.rows)}, {worker.lost}.",
            hint=self._advice(worker),
        ) from error

    def _advice(self, worker: Worker) -> str:
        if worker.hung:
            return (
                "Where it hangs stands on standard error. If that is how long it takes, raise "
                "env.step_timeout, env.reset_timeout or env.build_timeout."
            )
        return (
            "Its output may say why; if the system killed it, memory may be short: use fewer env.num_envs. "
            f"To look for the cause, run: gymsolve check {self._name}"
        )

    def _revive(self, gone: Sequence[Worker]) -> None:
        """Start other workers in place of these, until each is ready."""
        waiting = list(gone)
        while waiting:
            fresh = []
            for worker in waiting:
                worker.bury(patience=0.0)
                fresh.append(self._start(worker.task))
                self._workers[self._workers.index(worker)] = fresh[-1]
            for worker in fresh:
                self._await_ready(worker)
            waiting = [worker for worker in fresh if worker.lost is not None]

    def _start(self, task: Task) -> Worker:
        try:
            return Worker(task)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise EnvFaultError(
                f"{self._name} cannot be sent to a worker process: {error}.",
                hint="Register it with an entry point that can be imported, or use env.backend=sync.",
            ) from error

    def _await_ready(self, worker: Worker) -> None:
        try:
            error = worker.await_end(lambda: (0, self._limits.build_timeout))
        except LOST as lost:
            self._mourn(worker, lost, "the constructor")
            return
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
