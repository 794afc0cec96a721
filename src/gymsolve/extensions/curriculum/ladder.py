"""Stages in order: up once a stage is done, down once an earlier one has collapsed.

A stage is done when the lower bound of its last episodes reaches its threshold, or when its steps are spent.
An earlier stage, which rehearsal keeps playing, has collapsed when the upper bound of its last episodes lies
below a share of its threshold. Both need a whole window of episodes since the last move.
"""

from collections import deque
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from gymsolve.confidence import mean_bounds, share_bounds, z_of
from gymsolve.parts import Part, rollback_state
from gymsolve.spec import Array
from gymsolve.text import number, plural


class Rung(NamedTuple):
    """One stage."""

    name: str
    promote_at: float | None
    """The threshold of the lower bound; None leaves the end of the stage to `steps`."""
    steps: int | None = None
    """Steps in the unit of the budget after which the next stage begins in any case."""


class Move(NamedTuple):
    """A change of stage, with the reason for it."""

    kind: Literal["promoted", "demoted"]
    before: int
    after: int
    by: Literal["bound", "steps"]
    judged: int
    """The stage whose episodes decided."""
    mean: float | None
    """Mean of the last episodes; None where there was none."""
    bound: float | None
    """The bound that was compared with `bar`."""
    bar: float | None
    episodes: int

    def describe(self, stages: Sequence[str], env_steps: int, *, by_success: bool) -> dict[str, Any]:
        """Fields of the event, `kind` among them."""
        before, after, judged = stages[self.before], stages[self.after], stages[self.judged]
        return {
            "kind": self.kind,
            "env_steps": env_steps,
            "stage": before,
            "next": after,
            "by": self.by,
            "judged": judged,
            "achieved": self.mean,
            "bound": self.bound,
            "bar": self.bar,
            "episodes": self.episodes,
            "text": self._text(before, after, judged, "successes" if by_success else "return"),
        }

    def _text(self, before: str, after: str, judged: str, measure: str) -> str:
        """The move as a sentence."""
        seen = ""
        if self.mean is not None:
            seen = f"{measure} {number(self.mean)} over {plural(self.episodes, 'episode')}"
        if self.kind == "demoted":
            return f"back from {before} to {after}: {judged} has collapsed ({seen}, {self._proof('below')})"
        if self.by == "steps":
            return f"stage {before} is over, its steps are spent{f' ({seen})' if seen else ''}; now {after}"
        return f"stage {before} is done: {seen}, {self._proof('at least')}; now {after}"

    def _proof(self, relation: str) -> str:
        assert self.bound is not None
        assert self.bar is not None
        return f"surely {relation} {number(self.bound)}, {number(self.bar)} needed"


def collapse_bar(promote_at: float, share: float) -> float:
    """A stage has collapsed below this; for a negative threshold it lies below the threshold, too."""
    return promote_at * share if promote_at >= 0 else promote_at / share


class Ladder(Part):
    """The present stage of a run, and the last episodes of every stage."""

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
        """Add a finished episode: its return, or 1 for a success."""
        self._last[stage].append(float(achieved))

    def bounds(self, stage: int) -> tuple[float, float]:
        """Lower and upper bound of the last episodes of a stage."""
        last = self._last[stage]
        if self.by_success:
            return share_bounds(round(sum(last)), len(last), self._z)
        return mean_bounds(last, self._z)

    def seen(self, stage: int) -> tuple[int, float | None]:
        """The number of last episodes of a stage, and their mean."""
        last = self._last[stage]
        return len(last), fmean(last) if last else None

    def decide(self, taken: int) -> Move | None:
        """Change the stage if there is reason to; `taken` are the steps of the run so far."""
        move = self._collapsed() or self._done(taken)
        if move is not None:
            self.stage, self.began = move.after, taken
            self.highest = max(self.highest, move.after)
            # Episodes from before a move do not count after it, except those of rehearsed stages below.
            for stage in range(min(move.before, move.after), len(self.rungs)):
                self._last[stage].clear()
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
        last = [list(episodes) for episodes in self._last]
        return {"stage": self.stage, "began": self.began, "highest": self.highest, "last": last}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        stage, last = int(state["stage"]), state["last"]
        if not 0 <= stage < len(self.rungs) or len(last) != len(self.rungs):
            raise ValueError(f"stage {stage} of {len(last)}, and there are {len(self.rungs)}")
        self.stage, self.began, self.highest = stage, int(state["began"]), int(state["highest"])
        self._last = [deque(map(float, episodes), maxlen=self.episodes) for episodes in last]
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)


def ladder_copies(num_envs: int, stages: int, stage: int, rehearsal: float, turn: int = 0) -> list[int]:
    """Copies by stage: `rehearsal` of them play stages before this one, the rest play it.

    Earlier stages get equal parts, and the newest of them the rest. Where there are more of them than copies,
    they take turns. At least one copy rehearses, if `rehearsal` is above 0, and one plays the stage itself.
    """
    copies = [0] * stages
    old = 0
    if stage and rehearsal > 0 and num_envs > 1:
        old = min(max(1, round(rehearsal * num_envs)), num_envs - 1)
        each, rest = divmod(old, stage)
        # Reassigned copies abandon their episodes, so only stages without a copy take turns.
        first = turn * rest if each == 0 else stage - rest
        for earlier in range(stage):
            copies[earlier] = each
        for place in range(rest):
            copies[(first + place) % stage] += 1
    copies[stage] = num_envs - old
    return copies
