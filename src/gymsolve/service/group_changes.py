"""The state of a group of seeds, or of a queue of different runs, for clients that follow it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.jobs.cancellation import require_wanted
from gymsolve.jobs.queue import Queue
from gymsolve.jobs.requested_queue import QueueState, look_at_queue
from gymsolve.jobs.seeds import SeedsVerdict, judge_seeds
from gymsolve.runs.groups import Group, find_group
from gymsolve.service.agent_usage import read_account
from gymsolve.view.runs import RunsDir

_GLANCE = 1.0


@dataclass(frozen=True, kw_only=True)
class GroupNews(Answer):
    """The seeds of a group: those that have ended, train, or wait for their turn."""

    run: str
    """`group:ID`."""
    status: Literal["running", "ended"]
    training: int
    waiting: int
    seeds: list[dict[str, Any]]
    solved: int
    mean: float | None
    """Mean of the last evaluations."""
    iqm: float | None
    """Their interquartile mean."""
    low: float | None
    """Ends of its 95 % interval; None below three seeds."""
    high: float | None
    threshold: float | None


def look_at_group(ref: str, runs_dir: RunsDir = None) -> GroupNews:
    """The state of `group:ID`."""
    group = find_group(ref, runs_dir)
    verdict = judge_seeds(group)
    training = sum(seed.status == "running" for seed in verdict.runs)
    waiting = sum(seed.status == "not begun" for seed in verdict.runs)
    going = training > 0 or _is_being_made(group)
    return GroupNews(
        run=group.ref,
        status="running" if going else "ended",
        training=training,
        waiting=waiting,
        seeds=[_seed(verdict, place) for place in range(len(verdict.runs))],
        solved=verdict.solved,
        mean=verdict.mean,
        iqm=verdict.iqm,
        low=verdict.low,
        high=verdict.high,
        threshold=verdict.threshold,
    )


def wait_for_group(
    ref: str, seconds: float, runs_dir: RunsDir = None, *, tell: Callable[[GroupNews], None]
) -> GroupNews:
    """Read the group again until all of its seeds have ended, or the time is over."""
    ends = time.monotonic() + seconds
    while True:
        news = look_at_group(ref, runs_dir)
        if news.status == "ended" or time.monotonic() >= ends:
            return news
        require_wanted()
        tell(news)
        time.sleep(max(0.0, min(_GLANCE, ends - time.monotonic())))


def wait_for_queue(
    queue: Queue, seconds: float, *, tell: Callable[[QueueState], None]
) -> tuple[QueueState, bool]:
    """The state of a queue once all of its runs have ended, or the time is over; True while it goes on."""
    ends = time.monotonic() + seconds
    while True:
        state = look_at_queue(queue)
        going = state.training > 0 or _is_worked_off(state.run, queue.base)
        if not going or time.monotonic() >= ends:
            return state, going
        require_wanted()
        tell(state)
        time.sleep(max(0.0, min(_GLANCE, ends - time.monotonic())))


def _seed(verdict: SeedsVerdict, place: int) -> dict[str, Any]:
    names = ("seed", "run", "status", "env_steps", "best_reward", "final_reward", "solved_after")
    facts = verdict.runs[place].to_json()
    return {name: facts[name] for name in names if facts[name] is not None}


def _is_being_made(group: Group) -> bool:
    """The process that begins its seeds is alive."""
    return _is_worked_off(group.ref, group.base)


def _is_worked_off(ref: str, base: Path) -> bool:
    return any(entry.run == ref and entry.is_trying(base) for entry in read_account(base))
