"""Observers watch a run while it trains: the console, code of a user, or nobody."""

from typing import Any, Protocol, runtime_checkable

from gymsolve.errors import UsageError
from gymsolve.runs.run import Run
from gymsolve.training.trainer import Trainer

__all__ = ["Observer", "Silent", "checked"]


@runtime_checkable
class Observer(Protocol):
    """Hears what happens, in order, and must not change it. Derive from `Silent` to hear only some of it."""

    def started(self, run: Run, trainer: Trainer) -> None: ...

    def rollout_step(self, step: int, total: int) -> None:
        """Called after every vector step: must be cheap."""

    def eval_step(self, done: int, total: int) -> None:
        """Episodes of an evaluation that are over: must be cheap."""

    def record(self, record: dict[str, Any]) -> None: ...

    def event(self, kind: str, data: dict[str, Any]) -> None:
        """`note`, `best`, `solved`, `env_fault`, `eval_failed`, `filming`, `video`, `alert`,
        `alert_cleared`, `tracker_failed`.

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
