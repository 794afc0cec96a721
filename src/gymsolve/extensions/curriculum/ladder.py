"""Stages in order: up once a stage is surely done, down once an earlier one has surely collapsed.

A stage is done when the lower bound of what its last episodes achieved reaches its threshold, or when its
steps are spent. An earlier stage, which rehearsal keeps playing, has collapsed when the upper bound of its
last episodes lies below a share of its threshold. Both need a whole window of episodes since the last move.
"""

from collections import deque
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from gymsolve.confidence import mean_bounds, share_bounds, z_of
from gymsolve.parts import Part, rollback_state
from gymsolve.spec import Array


class Rung(NamedTuple):
    """One stage."""

    name: str
    promote_at: float | None
    """What the lower bound must reach; None leaves it to the steps."""
    steps: int | None = None
    """The most steps in it, in the unit of the budget, before the next one begins anyway."""


class Move(NamedTuple):
    """A change of stage and what decided it."""

    kind: Literal["promoted", "demoted"]
    before: int
    after: int
    by: Literal["bound", "steps"]
    judged: int
    """The stage whose episodes decided."""
    mean: float | None
    """Of the last episodes; None where there was none."""
    bound: float | None
    """The bound that was compared, and with what."""
    bar: float | None
    episodes: int


def collapse_bar(promote_at: float, share: float) -> float:
    """Below this a stage has collapsed; a share of a negative threshold lies below it."""
    return promote_at * share if promote_at >= 0 else promote_at / share


class Ladder(Part):
    """Where on the ladder a run stands, and the last episodes of every stage."""

    def __init__(
        self,
        rungs: Sequence[Rung],
        *,
        by_success: bool,
        episodes: int = 100,
        confidence: float = 0.95,
        demote_below: float = 0.0,
    ) -> None:
        self.rungs, self.by_success = tuple(rungs), by_success
        self.episodes, self.demote_below = episodes, demote_below
        self._z = z_of(confidence)
        self.stage = 0
        self.began = 0
        """Steps at which the present stage began."""
        self.highest = 0
        """The farthest stage so far."""
        self._last: list[deque[float]] = [deque(maxlen=episodes) for _ in rungs]

    def add(self, stage: int, achieved: float) -> None:
        """A finished episode: its return, or 1 for a success."""
        self._last[stage].append(float(achieved))

    def bounds(self, stage: int) -> tuple[float, float]:
        """Lower and upper bound of what the last episodes of a stage achieved."""
        last = self._last[stage]
        if self.by_success:
            return share_bounds(round(sum(last)), len(last), self._z)
        return mean_bounds(last, self._z)

    def seen(self, stage: int) -> tuple[int, float | None]:
        """How many episodes are judged by, and what they achieved on average."""
        last = self._last[stage]
        return len(last), fmean(last) if last else None

    def decide(self, taken: int) -> Move | None:
        """Move if there is reason to; `taken` are the steps of the run so far."""
        move = self._collapsed() or self._done(taken)
        if move is not None:
            self.stage, self.began = move.after, taken
            self.highest = max(self.highest, move.after)
            # What was achieved before a move says nothing about what follows it. Rehearsed stages below keep
            # theirs: their last episodes are their last episodes.
            for one in range(min(move.before, move.after), len(self.rungs)):
                self._last[one].clear()
        return move

    def _collapsed(self) -> Move | None:
        if not self.demote_below:
            return None
        for stage in range(self.stage):
            promote_at = self.rungs[stage].promote_at
            count, mean = self.seen(stage)
            if promote_at is None or count < self.episodes:
                continue
            bar, upper = collapse_bar(promote_at, self.demote_below), self.bounds(stage)[1]
            if upper < bar:
                return Move("demoted", self.stage, stage, "bound", stage, mean, upper, bar, count)
        return None

    def _done(self, taken: int) -> Move | None:
        here, rung = self.stage, self.rungs[self.stage]
        if here + 1 == len(self.rungs):
            return None
        count, mean = self.seen(here)
        lower = self.bounds(here)[0] if count >= self.episodes else None
        if rung.promote_at is not None and lower is not None and lower >= rung.promote_at:
            return Move("promoted", here, here + 1, "bound", here, mean, lower, rung.promote_at, count)
        if rung.steps is not None and taken - self.began >= rung.steps:
            return Move("promoted", here, here + 1, "steps", here, mean, lower, rung.promote_at, count)
        return None

    def state(self) -> dict[str, Any]:
        last = [list(one) for one in self._last]
        return {"stage": self.stage, "began": self.began, "highest": self.highest, "last": last}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        stage, last = int(state["stage"]), state["last"]
        if not 0 <= stage < len(self.rungs) or len(last) != len(self.rungs):
            raise ValueError(f"stage {stage} of {len(last)}, and there are {len(self.rungs)}")
        self.stage, self.began, self.highest = stage, int(state["began"]), int(state["highest"])
        self._last = [deque(map(float, one), maxlen=self.episodes) for one in last]
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)


def ladder_copies(num_envs: int, stages: int, stage: int, rehearsal: float, turn: int = 0) -> list[int]:
    """Copies by stage: `rehearsal` of them play stages before this one, the rest play it.

    Old stages get equal parts, and the newest of them what is left over. Where there are more of them than
    copies, they take turns. At least one copy rehearses, if any share does, and one always plays the stage
    itself.
    """
    copies = [0] * stages
    old = 0
    if stage and rehearsal > 0 and num_envs > 1:
        old = min(max(1, round(rehearsal * num_envs)), num_envs - 1)
        each, rest = divmod(old, stage)
        # Giving copies to others costs their episodes, so it is done only where some stage has none.
        first = turn * rest if each == 0 else stage - rest
        for one in range(stage):
            copies[one] = each
        for place in range(rest):
            copies[(first + place) % stage] += 1
    copies[stage] = num_envs - old
    return copies
