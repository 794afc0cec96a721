"""Trains seeds a few at a time, each as a command in a process of its own (`jobs/start.py`).

This process starts them, waits, and stops them with the file that `gymsolve stop` writes. A kill that it
cannot hear leaves them training; `gymsolve stop` finds them.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gymsolve.errors import GymsolveError, UsageError
from gymsolve.jobs.start import Starting, begin, end_process
from gymsolve.runs.groups import Group
from gymsolve.runs.run import Run

if TYPE_CHECKING:
    from gymsolve.training.stop import Reason

_GLANCE = 0.05


@dataclass(frozen=True)
class Work:
    """One seed and the command that trains it."""

    seed: int
    words: tuple[str, ...]


class Watch(Protocol):
    """Who hears of the seeds while they train."""

    def began(self, seed: int, run: Run) -> None: ...

    def ended(self, seed: int, run: Run) -> None: ...

    def failed(self, seed: int, error: GymsolveError) -> None: ...

    def look(self) -> None:
        """Called several times a second."""


@dataclass
class _Hands:
    """Processes that train, and what was heard of them."""

    group: Group
    watch: Watch
    starting: dict[int, Starting] = field(default_factory=dict)
    active: dict[int, tuple[Run, Starting]] = field(default_factory=dict)
    begun: int = 0
    broken: bool = False

    @property
    def busy(self) -> int:
        return len(self.starting) + len(self.active)

    def start(self, work: Work) -> None:
        self.starting[work.seed] = begin(work.words, group=self.group.id)

    def greet(self) -> None:
        """Take note of those that have begun, or could not."""
        for seed, one in list(self.starting.items()):
            try:
                started = one.poll()
            except GymsolveError as error:
                end_process(one.process)
                del self.starting[seed]
                if not self.begun:
                    raise  # what keeps the first from beginning would keep all
                self.broken = True
                self.watch.failed(seed, error)
                continue
            if started is not None:
                del self.starting[seed]
                self.begun += 1
                self.active[seed] = Run(Path(started.path)), one
                self.watch.began(seed, self.active[seed][0])

    def collect(self) -> bool:
        """Take note of those that have ended; says whether one was asked to stop."""
        asked = False
        for seed, (run, one) in list(self.active.items()):
            if one.process.poll() is None:
                continue
            del self.active[seed]
            summary = run.summary()
            self.broken |= summary.status in ("crashed", "damaged")
            asked |= summary.reason == "stop file"
            self.watch.ended(seed, run)
        return asked

    def ask_to_stop(self) -> None:
        for run, _ in self.active.values():
            if not run.stop_requested():
                with contextlib.suppress(UsageError):  # it has ended meanwhile
                    run.request_stop()

    def end(self) -> None:
        for one in (*self.starting.values(), *(one for _, one in self.active.values())):
            end_process(one.process)


def train_work(
    group: Group,
    work: Sequence[Work],
    watch: Watch,
    *,
    jobs: int,
    on_first: Callable[[], None] | None = None,
    on_stop: "Callable[[Reason], None] | None" = None,
) -> str | None:
    """Train the seeds, at most `jobs` at once; returns why not all ran to their end, if so.

    `on_first` is called when the first has begun, `on_stop` when somebody asks to stop.
    """
    from gymsolve.training.stop import StopSignal

    waiting, hands, signalled = deque(work), _Hands(group, watch), StopSignal()
    with signalled.listening():
        try:
            while waiting or hands.busy:
                if signalled.reason is not None:
                    if on_stop is not None:
                        on_stop(signalled.reason)
                        on_stop = None
                    waiting.clear()
                    hands.ask_to_stop()  # also those that have begun since
                # The first one begins alone: what is wrong with it is wrong with all.
                while waiting and hands.busy < (jobs if hands.begun else 1):
                    hands.start(waiting.popleft())
                hands.greet()
                if hands.begun and on_first is not None:
                    on_first()
                    on_first = None
                if hands.collect():
                    signalled.request("stop file")
                watch.look()
                if hands.busy:
                    time.sleep(_GLANCE)
        except BaseException:
            hands.end()  # nobody would watch them any more
            raise
    return signalled.reason or ("failed" if hands.broken else None)
