"""Broadcasts calls to the processes of a worker pool, detects deaths and starts them again.

A worker that dies or no longer answers is lost. The next call that needs its rows starts another one.
Workers that keep dying end the run.
"""

import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

from gymsolve.envs.backends.in_process import allowed_deaths
from gymsolve.envs.backends.worker import Worker
from gymsolve.envs.backends.worker_process import LOST, Task
from gymsolve.errors import EnvFaultError, EnvLostError, GymsolveError
from gymsolve.settings.config import EnvConfig

_PATIENCE = 5.0
"""Seconds that all workers together get to close their environments."""
_BUSY_PATIENCE = 1.0
"""The same where one still owes an answer: nobody waits for it any more, so it may well be stuck."""
_BUILD_DEATHS = 3
"""How often they may die before the first step."""
_HANG_WEIGHT = 3
"""As many deaths count for a worker that had to be waited for."""


class WorkerSupervisor:
    """Worker processes by their rows."""

    def __init__(self, limits: EnvConfig) -> None:
        self.workers: list[Worker] = []
        self.steps = 0
        """Since the last reset; the longer they have worked, the more of them may have died."""
        self._deaths = 0
        self._name, self._limits = limits.id, limits

    def start(self, tasks: Sequence[Task]) -> None:
        """Start all at once, then wait until each is ready."""
        for task in tasks:
            self.workers.append(self._start(task))
        for worker in self.workers:
            self._await_ready(worker)
        self.restart([worker for worker in self.workers if worker.lost is not None])

    def reset_counts(self) -> None:
        """Count steps and deaths anew."""
        self.steps, self._deaths = 0, 0

    def call_until_answered(self, name: str, arguments: Callable[[slice], tuple[Any, ...]]) -> list[Any]:
        """Call a method that decides where environments are; a lost worker is replaced and asked again."""
        answers: dict[int, Any] = {}
        waiting = list(self.workers)
        while waiting:
            self.restart([worker for worker in waiting if worker.lost is not None])
            parts = [worker.rows for worker in waiting]
            asked = {worker: arguments(worker.rows) for worker in self.workers if worker.rows in parts}
            answers |= {worker.rows.start: items for worker, items in self.call(name, asked).items()}
            waiting = [worker for worker in asked if worker.lost is not None]
        return [item for start in sorted(answers) for item in answers[start] or ()]

    def call(self, name: str, asked: dict[Worker, tuple[Any, ...]]) -> dict[Worker, Any]:
        """Ask all at once, then collect what they return; one that is lost gives no answer."""
        for worker, arguments in asked.items():
            if worker.lost is None:
                try:
                    worker.call(name, *arguments)
                except LOST as lost:
                    self.mark_dead(worker, lost, "")
        answers: dict[Worker, tuple[GymsolveError | None, Any]] = {}
        for worker in asked:
            if worker.lost is None:
                try:
                    answers[worker] = worker.await_result(lambda: (0, self._call_limit(name)))
                except LOST as lost:
                    self.mark_dead(worker, lost, f"`{name}`")
        raise_first([error for error, _ in answers.values()])
        return {worker: items for worker, (_, items) in answers.items()}

    def _call_limit(self, name: str) -> float | None:
        limit = self._limits.reset_timeout
        # Going somewhere may mean to repeat a whole episode.
        return limit if limit is None or name not in ("restore", "jump") else 10.0 * limit

    def mark_dead(self, worker: Worker, error: Exception, what: str) -> None:
        """Note that a worker is lost; too many of them are an error."""
        worker.give_up(error, what)
        self._deaths += _HANG_WEIGHT if worker.hung else 1
        allowed = allowed_deaths(self.steps) if self.steps else _BUILD_DEATHS
        if self._deaths <= allowed:
            return
        when = f"within {self.steps} vector steps" if self.steps else "before the first step"
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

    def restart(self, gone: Sequence[Worker]) -> None:
        """Start other workers in place of these, until each is ready."""
        waiting = list(gone)
        while waiting:
            fresh = []
            for worker in waiting:
                worker.bury(patience=0.0)
                fresh.append(self._start(worker.task))
                self.workers[self.workers.index(worker)] = fresh[-1]
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
            self.mark_dead(worker, lost, "the constructor")
            return
        if error is not None:
            raise error

    def close(self) -> None:
        for worker in self.workers:
            worker.quit()
        patience = _BUSY_PATIENCE if any(worker.busy for worker in self.workers) else _PATIENCE
        until = time.monotonic() + patience
        for worker in self.workers:
            worker.bury(max(0.0, until - time.monotonic()))
        self.workers = []


def raise_first(errors: Sequence[GymsolveError | None]) -> None:
    """Raise the error of the lowest environment, so that a rerun says the same; all workers have answered."""
    for error in errors:
        if error is not None:
            raise error


def name_rows(rows: slice) -> str:
    """Which environments these are, in words."""
    last = rows.stop - 1
    return f"environment {last}" if rows.start == last else f"environments {rows.start} to {last}"
