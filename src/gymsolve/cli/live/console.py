"""Watches a run: writes to the log in its folder, and to a screen if there is one.

The watcher is called after every vector step, so it mostly stores numbers and reads the clock; drawing takes
at most a four-hundredth of the time.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from gymsolve.cli.live.screen import LiveScreen
from gymsolve.cli.live.view import View, evaluating_line, evaluation_line, progress_line
from gymsolve.cli.printing.alerts import alert_line
from gymsolve.cli.printing.only_json import answer_stream
from gymsolve.metrics.catalog import max_entropy
from gymsolve.metrics.training_returns import training_unit
from gymsolve.runs.files import to_json
from gymsolve.runs.run import Run
from gymsolve.runs.videos import cut_note
from gymsolve.text import number, printable
from gymsolve.training.publish import present_alerts
from gymsolve.training.trainer import Trainer

_DRAW_SECONDS = 0.25
_DRAW_SHARE = 400
"""Drawing waits this many times what the last drawing took."""
_LINE_SECONDS = (5.0, 60.0)


class PlainScreen:
    """Lines of text, for logs and pipes; none at all without a stream."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream

    def line(self, text: str) -> None:
        if self.stream is None:
            return
        try:
            print(text, file=self.stream, flush=True)
        except OSError:
            self.stream = None  # nobody reads any more, or the terminal is gone; training goes on

    def alert(self, text: str) -> None:
        self.line(text)

    def progress(self, text: str) -> None:
        self.line(text)

    def draw(self, view: View, now: float) -> None:
        pass

    def give_way(self) -> None:
        pass


Screen = PlainScreen | LiveScreen


@contextmanager
def choose_screen(*, quiet: bool, json: bool) -> Iterator[Screen]:
    """A live table on a terminal, lines elsewhere; with `json` standard output is left alone."""
    stream = sys.stderr if json else sys.stdout
    if quiet:
        yield PlainScreen(None)
    elif stream.isatty() and os.environ.get("TERM") != "dumb":
        with LiveScreen.opened(stream) as screen:
            yield screen
    else:
        yield PlainScreen(stream)


def ended_at_once(text: str, run: Run | None) -> str:
    """The message to a person about a training that was ended without a verdict."""
    if run is None:
        return f"ended before the run began, so there is nothing to resume ({text})"
    return f"ended at once ({text}); go on with: gymsolve resume {run.id}"


def interruption(text: str, run: Run | None, exit_code: int) -> dict[str, Any]:
    """The same message as JSON, in the format of errors."""
    where = None if run is None else str(run.path)
    hint = None if run is None else f"Go on with: gymsolve resume {run.id}"
    return {"error": {"message": text, "where": where, "hint": hint, "exit_code": exit_code}}


class Watcher:
    """The observer behind `gymsolve train`; it calls `on_start` with the run once it has begun."""

    def __init__(
        self, screen: Screen, on_start: Callable[[Run], None] | None = None, *, json: bool = False
    ) -> None:
        self.screen = screen
        self._on_start, self._json = on_start, json
        self.run: Run | None = None
        """The run, once it has begun."""
        self._trainer: Trainer | None = None
        self._view: View | None = None
        self._next_draw = self._next_line = 0.0
        self._shown_alerts: set[str] = set()

    def started(self, run: Run, trainer: Trainer) -> None:
        self.run = run
        self._view = View(
            title=printable(f"{run.info()['name']}  {run.id}"),
            budget=trainer.config.steps,
            budget_in=trainer.config.budget_in,
            threshold=trainer.return_threshold,
            success_threshold=trainer.success_threshold,
            num_envs=trainer.envs.num_envs,
            stages=trainer.config.curriculum.names,
            counters=trainer.counters,
            time_limit=trainer.sitting.time_limit,
            best=trainer.counters.best_return,
            training_unit=training_unit(trainer.config.env.model_dump(mode="json")),
            max_entropy=max_entropy(trainer.envs.spec),
            history=trainer.alerts.history,
            # Alerts of an earlier sitting were shown then; the table goes on marking them.
            alerts=present_alerts(trainer.alerts),
        )
        self._trainer = trainer
        self._next_line = self._view.began + _LINE_SECONDS[0]
        self._print(f"run {run.path} (computing with {trainer.engine.name})")
        if self._on_start is not None:
            self._on_start(run)

    def rollout_step(self, step: int, total: int) -> None:
        now = time.perf_counter()
        if step > 1 and now < self._next_draw:
            return
        view = self._view
        assert view is not None
        if step == 1:
            view.rollout_began, view.evaluation = now, None
        view.rollout = (step, total)
        if now >= self._next_draw:
            self._draw(now)

    def eval_step(self, done: int, total: int) -> None:
        view = self._view
        assert view is not None
        now = time.perf_counter()
        if view.evaluation is None:
            # A short evaluation prints its result only.
            self._next_line = max(self._next_line, now + _LINE_SECONDS[0])
        view.evaluating(done, total, now)
        if now >= self._next_draw:
            self._draw(now)
        if now >= self._next_line:
            self._progress(evaluating_line(view, now), now)

    def record(self, record: dict[str, Any]) -> None:
        view, now = self._view, time.perf_counter()
        assert view is not None
        view.recorded()
        if "eval/mean_reward" in record:
            mean = record["eval/mean_reward"]
            if mean == mean:  # NaN when no episode ended
                view.best = mean if view.best is None else max(view.best, mean)
            self._print(evaluation_line(record, view.threshold, view.success_threshold))
            self._next_draw = now  # with the alerts it may raise, which come next
        elif now >= self._next_line:
            self._progress(progress_line(view, now), now)

    def event(self, kind: str, data: dict[str, Any]) -> None:
        if kind in ("note", "env_fault", "eval_failed", "tracker_failed"):
            self._print(f"note: {data['text']}")
        elif kind == "video":
            self._print(f"video {data['path']}{cut_note(data)}")
        elif kind in ("waiting", "promoted", "demoted"):
            self._print(data["text"])
        elif kind == "filming":
            self._print(f"filming {data['name']}.mp4, for {data['patience']:.0f} s at most")
        elif kind == "stopping":
            # Not through the screen: the thread that trains may hang in the middle of a drawing.
            self._log(data["text"])
            with suppress(OSError):
                os.write(2, f"\n{data['text']}\n".encode())
            self.screen.give_way()
        elif kind == "abandoned":
            self._log(data["text"])
            self._abandon(data["text"], data["exit_code"])
        elif kind == "solved":
            confirmed, needed = number(data["eval/confirm_mean_reward"]), number(data["threshold"])
            if data["solved_by"] == "success_rate":
                confirmed = f"{data['eval/confirm_success_rate']:.0%} successes"
                needed = f"{data['threshold']:.0%}"
            self._print(f"solved: {confirmed} on fresh seeds, {needed} needed")
            assert self._view is not None
            assert self._trainer is not None
            if self._trainer.config.eval.stop_when_solved:
                self._view.ended = "solved"
        elif kind in ("alert", "alert_cleared"):
            self._alert(kind, data)

    def _abandon(self, text: str, exit_code: int) -> None:
        """End this process at once, since its training does not end."""
        assert self.run is not None
        for child in multiprocessing.active_children():
            child.kill()  # a worker that hangs would stay behind
        with suppress(OSError):
            plain = "\x1b[0m" if os.isatty(2) else ""  # the training may be stuck in the middle of a drawing
            os.write(2, f"{plain}\n{ended_at_once(text, self.run)}\n".encode())
            if self._json:
                answer = to_json(interruption(text, self.run, exit_code))
                os.write(answer_stream().fileno(), f"{answer}\n".encode())
        os._exit(exit_code)

    def _progress(self, text: str, now: float) -> None:
        """Print the progress, and plan when to print it again."""
        assert self._view is not None
        self._log(text)
        self.screen.progress(text)
        shortest, longest = _LINE_SECONDS
        # The longer it runs, the less a line is worth: logs of a week stay readable.
        self._next_line = now + min(longest, max(shortest, self._view.elapsed(now) / 50))

    def _alert(self, kind: str, data: dict[str, Any]) -> None:
        """Log every change; show a cause on the screen once, then the table marks it."""
        assert self._view is not None
        assert self._trainer is not None
        self._view.alerts = present_alerts(self._trainer.alerts)
        if kind == "alert_cleared":
            self._log(f"cleared: {data['id']}")
            return
        self._log(alert_line(data))
        if data["id"] not in self._shown_alerts and data["because"] is None:
            self._shown_alerts.add(data["id"])
            self.screen.alert(printable(alert_line(data)))

    def _print(self, text: str) -> None:
        self._log(text)
        self.screen.line(printable(text))

    def _log(self, text: str) -> None:
        if self.run is not None:  # a wait may come before the run
            self.run.log(printable(text))

    def _draw(self, now: float) -> None:
        assert self._view is not None
        self.screen.draw(self._view, now)
        ended = time.perf_counter()
        self._next_draw = ended + max(_DRAW_SECONDS, _DRAW_SHARE * (ended - now))
