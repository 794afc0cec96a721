"""Observers watch a run while it trains: the console, code of a user, or nobody."""

import math
import time
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from gymsolve.errors import UsageError
from gymsolve.runs.run import Run
from gymsolve.training.trainer import Trainer

_SILENCE = 2.0
"""Seconds of silence after which somebody who watches is told what is going on."""


class StopTraining(Exception):  # noqa: N818 - not an error, but the end that an observer wants
    """Raised in any method of an observer, it ends the run at the end of the iteration, with its text."""


@runtime_checkable
class Observer(Protocol):
    """Hears what happens, in order, and must not change it, but may end the run (`StopTraining`).

    Derive from `Silent` to hear only some of it.
    """

    def started(self, run: Run, trainer: Trainer) -> None: ...

    def rollout_step(self, step: int, total: int) -> None:
        """Called after every vector step: must be cheap."""

    def eval_step(self, done: int, total: int) -> None:
        """Episodes of an evaluation that are over: must be cheap."""

    def record(self, record: dict[str, Any]) -> None: ...

    def event(self, kind: str, data: dict[str, Any]) -> None:
        """`note`, `best`, `solved`, `promoted`, `demoted`, `env_fault`, `eval_failed`, `filming`, `video`,
        `alert`, `alert_cleared`, `tracker_failed`; `waiting` says why nothing happens for a while, perhaps
        before `started`.

        `stopping` and `abandoned` (nothing ends this training but the end of its process) come from another
        thread, for the one that trains may be stuck.
        """


class Silent:
    """Watches nothing; a class derived from it watches what it overrides."""

    def started(self, run: Run, trainer: Trainer) -> None:
        pass

    def rollout_step(self, step: int, total: int) -> None:
        pass

    def eval_step(self, done: int, total: int) -> None:
        pass

    def record(self, record: dict[str, Any]) -> None:
        pass

    def event(self, kind: str, data: dict[str, Any]) -> None:
        pass


def tell_late(observer: Observer, text: str) -> Callable[[], None]:
    """To be called again and again while something goes on; if that takes long, the observer hears it."""
    due = time.perf_counter() + _SILENCE

    def look() -> None:
        nonlocal due
        if time.perf_counter() >= due:
            due = math.inf
            observer.event("waiting", {"text": text})

    return look


def checked(observer: "Observer | None") -> Observer:
    """The observer to use; one that would fail in the middle of training is refused before it."""
    if observer is None:
        return Silent()
    if not isinstance(observer, Observer):
        raise UsageError(
            f"{type(observer).__name__} is not an observer.",
            where="observer",
            hint="Derive a class from gymsolve.training.observer.Silent and override what you need.",
        )
    return observer
