"""Feeds the trackers of a run (`track`) with what the observer hears.

When a tracker fails, that is reported once and training goes on without it. All trackers are closed however
the run ends.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gymsolve.errors import GymsolveError
from gymsolve.metrics.catalog import chart_bounds
from gymsolve.metrics.trackers.tracker import RunFacts, Sink
from gymsolve.runs.records import count_records
from gymsolve.runs.run import Run
from gymsolve.runs.videos import Video, list_videos
from gymsolve.training.observer import Observer
from gymsolve.training.records import Clock
from gymsolve.training.trainer import Trainer

_FAILURES = (Exception, SystemExit)
"""Errors of other people's code, none of which may end a run; a KeyboardInterrupt comes from the user."""
_NO_NUMBER = (None, math.inf, -math.inf)


@contextmanager
def tracking(run: Run, sinks: Mapping[str, Sink], observer: Observer, clock: Clock) -> Iterator[Observer]:
    """The observer, and in front of it the trackers; they open when training starts."""
    if not sinks:
        yield observer
        return
    tracked = Tracking(run, sinks, observer)
    try:
        yield tracked
    finally:
        with clock.timing("track"):
            tracked.close()


@dataclass
class Tracking:
    """Passes everything on to an observer, and to every tracker that works."""

    run: Run
    sinks: Mapping[str, Sink]
    observer: Observer
    working: dict[str, Sink] = field(default_factory=dict)
    broken: dict[str, Sink] = field(default_factory=dict)
    """Trackers not open yet, or failed: they hear nothing, but are closed with the others."""
    reported: set[str] = field(default_factory=set)
    axis: str = "env_steps"
    videos: list[Video] = field(default_factory=list)
    """Videos of earlier sittings."""

    def started(self, run: Run, trainer: Trainer) -> None:
        self.observer.started(run, trainer)
        facts = describe_run(run, trainer)
        self.axis = facts.axis
        config = trainer.config.model_dump(mode="json") | {"run": run.id, "name": facts.name}
        self.videos = list_videos(run)
        with trainer.clock.timing("track"):
            for name, sink in self.sinks.items():
                self._open(name, sink, facts, config)

    def _open(self, name: str, sink: Sink, facts: RunFacts, config: dict[str, Any]) -> None:
        self.broken[name] = sink
        said = self._try(name, partial(sink.open, facts, config))
        if name not in self.reported:
            self.working[name] = self.broken.pop(name)
        if said:
            self.run.append_event("note", text=said)
            self.observer.event("note", {"text": said})

    def rollout_step(self, step: int, total: int) -> None:
        self.observer.rollout_step(step, total)

    def eval_step(self, done: int, total: int) -> None:
        self.observer.eval_step(done, total)

    def record(self, record: dict[str, Any]) -> None:
        self.observer.record(record)
        kept = as_kept(record)
        self._each(lambda sink: sink.record(kept))

    def event(self, kind: str, data: dict[str, Any]) -> None:
        self.observer.event(kind, data)
        if kind not in ("stopping", "abandoned"):  # from another thread: a tracker may be in the middle of it
            self._each(lambda sink: sink.event(kind, data))

    def close(self) -> None:
        """Hand over the videos of this sitting, then close every tracker that had been opened."""
        status, result = _ending(self.run)
        with ExitStack() as closing:  # another Ctrl-C ends the wait for one tracker, not for all
            for sink in self.broken.values():
                closing.callback(_close_broken, sink, status, result)
            for name, sink in self.working.items():
                closing.callback(self._try, name, partial(sink.close, status, result))
            if self.working:
                for video in new_videos(self.videos, list_videos(self.run)):
                    self._send(video)

    def _send(self, video: Video) -> None:
        steps = int(video.facts.get(self.axis, 0))
        self._each(lambda sink: sink.video(video.path, steps))

    def _each(self, tell: Callable[[Sink], None]) -> None:
        for name, sink in list(self.working.items()):
            self._try(name, partial(tell, sink))

    def _try(self, name: str, call: Callable[[], str | None]) -> str | None:
        try:
            return call()
        except _FAILURES as error:
            if name in self.reported:
                return None
            self.reported.add(name)
            self.working.pop(name, None)
            self.broken[name] = self.sinks[name]
            why = str(error).strip().partition("\n")[0] or "no reason given"
            text = f"{name} failed and is left out from here on ({type(error).__name__}: {why})"
            with suppress(GymsolveError):  # the disk that broke the tracker may break this too
                self.run.append_event("tracker_failed", tracker=name, text=text)
            self.observer.event("tracker_failed", {"tracker": name, "text": text})
            return None


def _close_broken(sink: Sink, status: str, result: Mapping[str, Any]) -> None:
    with suppress(*_FAILURES):  # its failure has been reported
        sink.close(status, result)


def describe_run(run: Run, trainer: Trainer) -> RunFacts:
    info = run.info()
    files = ("metrics.jsonl", "metrics.discarded.jsonl", "events.jsonl")
    lines = sum(count_records(run.path / file) for file in files)
    about = {key: info[key] for key in ("name", "env_id", "variant", "algo", "seed")}
    return RunFacts(
        id=run.id,
        path=run.path,
        begins=trainer.taken,
        lines=lines,
        axis=trainer.config.budget_in,
        bounds=chart_bounds(trainer.config, trainer.envs.spec),
        **about,
    )


def as_kept(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as its file gives it back: infinities are NaN, so that every place says the same."""
    return {name: math.nan if value in _NO_NUMBER else value for name, value in record.items()}


def new_videos(before: Iterable[Video], now: Iterable[Video]) -> list[Video]:
    """Videos that were not there before, also under a name that was used again."""
    known = {(video.name, str(video.facts)) for video in before}
    return [video for video in now if (video.name, str(video.facts)) not in known]


def _ending(run: Run) -> tuple[str, dict[str, Any]]:
    try:
        info = run.info()
    except GymsolveError:
        return "crashed", {}
    result = {"reason": info["reason"], "steps": info["env_steps"], **(info["result"] or {})}
    return str(info["status"]), result
