"""One training at its recipe: with all diagnostics (`on`), without any (`off`), or with all of them and a
clock around each (`split`).

On is what a user has on a terminal, and the tracker `csv` besides: measures, records, alerts, the live table
(on a pseudo-terminal that somebody reads), the report. Off is the same loop with nothing to see: it collects,
learns, checks that numbers are finite and saves checkpoints. The product has no such switch, so its functions
are replaced here. What the update itself counts on its way (losses, KL, share of clipped ratios) is in both.
Evaluations are left out, and there are no videos: they are work of another kind.
"""

import contextlib
import fcntl
import functools
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

from protocol import answer, read_job

job = read_job()
if job["core"] is not None:
    os.sched_setaffinity(0, {job["core"]})

import gymsolve.training.loop as loop  # noqa: E402
import gymsolve.training.session as session  # noqa: E402
from gymsolve.cli.live.console import Watcher  # noqa: E402
from gymsolve.cli.live.screen import LiveScreen  # noqa: E402
from gymsolve.doctor.alerts import AlertTracker  # noqa: E402
from gymsolve.metrics.trackers.csv import CsvSink  # noqa: E402
from gymsolve.training import execute  # noqa: E402
from gymsolve.training.evaluation import record  # noqa: E402
from gymsolve.training.observer import Silent  # noqa: E402
from gymsolve.training.planning.plan import plan_run  # noqa: E402
from gymsolve.training.records import Averager  # noqa: E402
from gymsolve.training.tracking import Tracking  # noqa: E402

ROWS, COLUMNS = 50, 140


class Clock:
    """Processor time by part; what one part calls of another is only the other's."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self.open: list[str] = []
        self.since = 0.0

    def around(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.switch(part)
            try:
                return work(*args, **kwargs)
            finally:
                self.switch(None)

        return timed

    def switch(self, part: str | None) -> None:
        now = time.thread_time()
        if self.open:
            self.spent[self.open[-1]] = self.spent.get(self.open[-1], 0.0) + now - self.since
        if part is None:
            self.open.pop()
        else:
            self.open.append(part)
            self.calls[part] = self.calls.get(part, 0) + 1
        self.since = time.thread_time()

    def parts(self) -> dict[str, float]:
        """Seconds by part, without what the clock itself adds to a call."""
        probe = Clock()
        empty = probe.around("empty", lambda: None)
        for _ in range(20_000):
            empty()
        own = probe.spent["empty"] / probe.calls["empty"]
        return {part: max(0.0, spent - own * self.calls[part]) for part, spent in self.spent.items()}


class Start:
    """When training began; the observer itself is left as it is, so that this costs nothing."""

    def __init__(self, observer: Any) -> None:
        self.cpu, self.wall = 0.0, 0.0
        told = observer.started

        def started(run: Any, trainer: Any) -> None:
            self.cpu, self.wall = time.process_time(), time.perf_counter()
            told(run, trainer)

        observer.started = started


def switch_off() -> None:
    def learn(trainer: Any, rollout: Any) -> dict[str, float]:
        return trainer.learner.update(rollout, trainer.progress, trainer.streams["minibatch"])

    def write_record(trainer: Any, run: Any, observer: Any) -> None:
        trainer.counters.next_record = sys.maxsize

    loop.learn = learn
    loop.write_record = execute.write_record = write_record
    record.publish = lambda trainer, run, observer, record: None
    session.leave_report = lambda run, trainer, observer: None
    Averager.add = lambda self, metrics: None  # type: ignore[method-assign]


def split(clock: Clock) -> None:
    learn = loop.learn

    def learn_timed(trainer: Any, rollout: Any) -> dict[str, float]:
        if "update" not in vars(trainer.learner):
            trainer.learner.update = clock.around("training", trainer.learner.update)
        return learn(trainer, rollout)

    loop.learn = clock.around("measuring", learn_timed)
    loop.write_record = execute.write_record = clock.around("records", loop.write_record)
    record.publish = clock.around("records", record.publish)
    session.leave_report = clock.around("report", session.leave_report)
    for owner, name, part in (
        (Averager, "add", "records"),
        (Tracking, "record", "csv"),
        (Tracking, "event", "csv"),
        (CsvSink, "open", "csv"),
        (AlertTracker, "update", "alerts"),
        *((Watcher, name, "console") for name in ("started", "record", "event", "rollout_step")),
    ):
        setattr(owner, name, clock.around(part, vars(owner)[name]))


@contextlib.contextmanager
def terminal() -> Iterator[LiveScreen]:
    """A live table on a pseudo-terminal; another process reads what it draws."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with (
        subprocess.Popen(["cat"], stdin=ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as reader,
        os.fdopen(theirs, "w", encoding="utf-8") as stream,
    ):
        with LiveScreen.opened(stream) as screen:
            yield screen
        reader.terminate()
    os.close(ours)


def main() -> None:
    seen, clock = job["mode"] != "off", Clock()
    execute._evaluate_last = lambda trainer, run, scheduler, observer: None
    if not seen:
        switch_off()
    elif job["mode"] == "split":
        split(clock)
    plan = plan_run(
        job["env_id"],
        {
            "seed": job["seed"],
            "steps": job["steps"],
            "track": ["csv"] if seen else [],
            "eval.every": job["steps"] * 10,
            "video.enabled": False,
        },
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as open_:
        observer: Any = Watcher(open_.enter_context(terminal())) if seen else Silent()
        began = Start(observer)
        outcome = session.start_run(plan, runs_dir=folder, observer=observer, command=["gymsolve", "bench"])
        cpu, wall = time.process_time() - began.cpu, time.perf_counter() - began.wall
    facts: dict[str, Any] = {"cpu_seconds": cpu, "seconds": wall, "env_steps": outcome.env_steps}
    if job["mode"] == "split":
        parts = clock.parts()
        parts.pop("training")
        trained = cpu - sum(parts.values())
        facts["shares"] = {part: spent / trained for part, spent in parts.items()}
    answer(**facts)


if __name__ == "__main__":  # environments in processes of their own import this file again
    main()
