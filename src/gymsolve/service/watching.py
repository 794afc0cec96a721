"""What has happened in a run since somebody last looked."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gymsolve.errors import UsageError
from gymsolve.runs import best_reward, find_run, needed_reward, split_ref
from gymsolve.service.answers import Answer
from gymsolve.service.runs import RunsDir
from gymsolve.service.wanted import require_wanted

__all__ = ["News", "Until", "look_at", "wait_for"]

Until = Literal["end", "evaluation", "alert"]
_GLANCE = 0.5
_MOST = 20
_ALERTS = ("alert", "alert_cleared", "env_fault")
_TOLD = ("kind", "env_steps", "id", "severity", "title", "text")
_JUDGED = ("eval/mean_reward", "eval/std_reward", "eval/success_rate")


@dataclass(frozen=True)
class News(Answer):
    """The state of a run, and what is new in it."""

    run: str
    status: str
    reason: str | None
    env_steps: int
    steps: int | None
    """The budget."""
    progress: float | None
    steps_per_second: float | None
    seconds_left: float | None
    """Until the budget is spent, at this speed; None once it has ended."""
    best_return: float | None
    threshold: float | None
    last_training_return: float | None
    evaluations: list[dict[str, float | None]]
    """New ones: steps, mean, spread of returns."""
    alerts: list[dict[str, Any]]
    """New ones, and those that were cleared."""
    cursor: str
    """Give it as `since` the next time: how many evaluations and alerts were seen."""


def look_at(ref: str, since: str = "", runs_dir: RunsDir = None) -> News:
    """What is new in a run since a `cursor`."""
    seen = _seen(since)
    run = find_run(split_ref(ref)[0], runs_dir)
    rows, events = run.read_metrics().rows, run.read_events().rows
    evaluations = [row for row in rows if "eval/mean_reward" in row]
    alerts = [one for one in events if one["kind"] in _ALERTS]
    summary = run.summary()
    last: dict[str, Any] = {}
    for row in rows:
        last |= row
    running = summary.status == "running"
    steps, done = summary.steps, last.get("env_steps", summary.env_steps)
    speed = last.get("time/fps")
    left = None if not (running and speed and steps) else max(0.0, (steps - done) / speed)
    return News(
        run=run.id,
        status=summary.status,
        reason=summary.reason,
        env_steps=done,
        steps=steps,
        progress=None if not steps else min(1.0, done / steps),
        steps_per_second=speed,
        seconds_left=left,
        best_return=best_reward(run),
        threshold=needed_reward(run),
        last_training_return=last.get("rollout/ep_rew_mean"),
        evaluations=[_evaluation(row) for row in evaluations[seen[0] :][-_MOST:]],
        alerts=[_alert(one) for one in alerts[seen[1] :][-_MOST:]],
        cursor=f"{len(evaluations)}.{len(alerts)}",
    )


def wait_for(
    ref: str,
    since: str,
    seconds: float,
    until: Until,
    runs_dir: RunsDir = None,
    *,
    tell: Callable[[News], None] = lambda news: None,
) -> News:
    """Look again and again until something is new, the run has ended or the time is over."""
    ends = time.monotonic() + seconds
    while True:
        news = look_at(ref, since, runs_dir)
        over = news.status != "running" or time.monotonic() >= ends
        if over or (until == "evaluation" and news.evaluations) or (until == "alert" and news.alerts):
            return news
        require_wanted()
        tell(news)
        time.sleep(min(_GLANCE, max(0.0, ends - time.monotonic())))


def _seen(cursor: str) -> tuple[int, int]:
    if not cursor:
        return 0, 0
    evaluations, dot, alerts = cursor.partition(".")
    if not (dot and evaluations.isdecimal() and alerts.isdecimal() and len(cursor) < 20):
        raise UsageError(
            f"{cursor!r} is no cursor.", where="since", hint="Give the `cursor` of the last answer."
        )
    return int(evaluations), int(alerts)


def _evaluation(row: dict[str, Any]) -> dict[str, float | None]:
    return {name: row[name] for name in ("env_steps", *_JUDGED) if name in row}


def _alert(event: dict[str, Any]) -> dict[str, Any]:
    return {name: event[name] for name in _TOLD if event.get(name) is not None}
