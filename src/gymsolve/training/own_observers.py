"""Observers of the user's own: from Python, or by name in `observers`. Any of them may end a run.

Those that settings name are built anew in every sitting of a run. What `StopTraining` asks for happens at the
end of the iteration, so that a resume can continue exactly.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gymsolve.errors import ConfigError
from gymsolve.own_faults import blaming, require_options
from gymsolve.registry import load_own
from gymsolve.runs.run import Run
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.own_parts import PartConfig
from gymsolve.training.observer import Observer, StopTraining, checked
from gymsolve.training.trainer import Trainer

_METHODS = ("started", "rollout_step", "eval_step", "record", "event")


def join_observers(config: TrainConfig, given: Observer | None) -> Observer:
    """The observer that was given, and those that the settings name."""
    watcher = checked(given)
    named = {part.name: build_observer(part, index) for index, part in enumerate(config.observers)}
    if not named and type(watcher).__module__.startswith("gymsolve."):
        return watcher  # ours stops nothing
    return Audience(watcher, named)


def build_observer(part: PartConfig, index: int) -> Observer:
    """An observer that settings name; refuse a class that lacks something."""
    where = f"observers[{index}]"
    kind = load_own(part.name, where)
    if not isinstance(kind, type):
        raise ConfigError(f"{part.name} is no class but a {type(kind).__name__}.", where=where)
    missing = [name for name in _METHODS if name not in dir(kind)]
    if missing:
        hint = "Derive it from gymsolve.training.observer.Silent and override what you need."
        raise ConfigError(f"{part.name} has no method {missing[0]}.", where=where, hint=hint)
    require_options(kind, part.name, where, part.options)
    with blaming(part.name, where, "its constructor"):
        observer: Observer = kind(**part.options)
    return observer


class Audience:
    """Passes everything on, first to the observer that was given; the first `StopTraining` ends the run."""

    def __init__(self, watcher: Observer, named: Mapping[str, Observer]) -> None:
        self._watcher, self._named = watcher, named
        self._run: Run | None = None
        self._trainer: Trainer | None = None

    def started(self, run: Run, trainer: Trainer) -> None:
        self._run, self._trainer = run, trainer
        self._tell("started", run, trainer)

    def rollout_step(self, step: int, total: int) -> None:
        self._tell("rollout_step", step, total)

    def eval_step(self, done: int, total: int) -> None:
        self._tell("eval_step", done, total)

    def record(self, record: dict[str, Any]) -> None:
        self._tell("record", record)

    def event(self, kind: str, data: dict[str, Any]) -> None:
        self._tell("event", kind, data)

    def _tell(self, method: str, *facts: Any) -> None:
        own = type(self._watcher)
        self._heed(f"{own.__module__}:{own.__qualname__}", partial(getattr(self._watcher, method), *facts))
        for name, observer in self._named.items():
            with blaming(name, "observers", method):
                self._heed(name, partial(getattr(observer, method), *facts))

    def _heed(self, name: str, call: Callable[[], None]) -> None:
        try:
            call()
        except StopTraining as stop:
            self._end(name, str(stop))

    def _end(self, name: str, why: str) -> None:
        """Ask the loop to end the run, once."""
        trainer, run = self._trainer, self._run
        if trainer is None or run is None or trainer.sitting.ended_by is not None:
            return
        trainer.sitting.ended_by = name
        text = f"{name} ends the run{f': {why}' if why else ''}"
        facts = {"reason": "observer", "text": text}
        run.append_event("stopping", env_steps=trainer.counters.env_steps, **facts)
        self._tell("event", "stopping", facts)
