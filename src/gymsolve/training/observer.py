"""Who watches a run while it trains: the console, or nobody."""

from typing import Any, Protocol

from gymsolve.runs.run import Run
from gymsolve.training.trainer import Trainer

__all__ = ["Observer", "Silent"]


class Observer(Protocol):
    """Told what happens, in order; must not change anything."""

    def started(self, run: Run, trainer: Trainer) -> None: ...

    def rollout_step(self, step: int, total: int) -> None:
        """Called after every vector step: must be cheap."""

    def eval_step(self, done: int, total: int) -> None:
        """Episodes of an evaluation that are over: must be cheap."""

    def record(self, record: dict[str, Any]) -> None: ...

    def event(self, kind: str, data: dict[str, Any]) -> None: ...


class Silent:
    """Watches nothing."""

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
