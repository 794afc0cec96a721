"""The state of a run, and what is new since a cursor."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gymsolve.answers import Answer, left_out
from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.jobs.cancellation import require_wanted
from gymsolve.metrics.training_returns import CUT_SHARE, note
from gymsolve.runs import Run, find_run, split_ref
from gymsolve.runs.files import read_file
from gymsolve.service.agent_usage import newest_trials
from gymsolve.view.run_view import RunView
from gymsolve.view.runs import RunsDir

Until = Literal["end", "evaluation", "alert"]
_GLANCE = 0.5
_DEAREST = 4.0
"""A pause lasts at least this many times as long as reading the run took."""
_MOST = 20
_ALERTS = ("alert", "alert_cleared", "env_fault", "fix", "error")
_OF_ALERTS = ("kind", "env_steps", "id", "severity", "title", "text")
_OF_FIXES = ("alert", "verdict", "chance", "changes")
_JUDGED = ("eval/mean_reward", "eval/std_reward", "eval/success_rate")
_TASKS = ("task_eval/", "task_eval_success/")
_LONGEST = 1 << 20
"""Bytes of a log of trials that are read."""


@dataclass(frozen=True, kw_only=True)
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
    """Seconds until the budget is spent, at this speed; None once the run has ended."""
    best_return: float | None
    threshold: float | None
    """Mean return that counts as solved; None where successes decide, or nothing is known."""
    success_needed: float | None = left_out()
    """Share of successes that counts as solved, where that decides."""
    last_training_return: float | None
    training_note: str | None = left_out()
    """How training's return differs from `best_return` in kind: per point, or of what faults left."""
    stage: str | None = left_out()
    """The stage of a curriculum, and the stages before it."""
    masters: list[str] | None = left_out()  # noqa: RUF009 - which is `field`
    """Checkpoints at the end of stages of a curriculum, as RUN@stage-NAME."""
    tasks: dict[str, float | None] | None = left_out()  # noqa: RUF009 - which is `field`
    """The newest evaluation of each of several tasks."""
    evaluations: list[dict[str, float | None]]
    """New evaluations: steps, mean, spread of returns."""
    alerts: list[dict[str, Any]]
    """New and cleared alerts, verdicts on remedies (`fix`), and errors."""
    trying: str | None = left_out()
    """The progress of a remedy that is being tried."""
    trials_failed: str | None = left_out()
    """The reason for which the newest trials of a remedy ended without a verdict."""
    cursor: str
    """The number of evaluations and alerts so far, to be given as `since` the next time."""


def look_at(ref: str, since: str = "", runs_dir: RunsDir = None) -> News:
    """The state of a run, and what is new in it since a `cursor`."""
    seen = _seen(since)
    view = RunView(find_run(split_ref(ref)[0], runs_dir))
    alerts = [event for event in view.events if event["kind"] in _ALERTS]
    summary, newest = view.summary, view.newest
    steps, done = summary.steps, newest.get("env_steps", summary.env_steps)
    speed = newest.get("time/fps")
    left = summary.status == "running" and speed and steps
    return News(
        run=view.run.id,
        status=summary.status,
        reason=summary.reason,
        env_steps=done,
        steps=steps,
        progress=None if not steps else min(1.0, done / steps),
        steps_per_second=speed,
        seconds_left=max(0.0, (steps - done) / speed) if left and steps and speed else None,
        best_return=view.best_reward,
        threshold=view.threshold,
        success_needed=view.success_threshold,
        last_training_return=newest.get("rollout/ep_rew_mean"),
        training_note=note(view.training_unit, newest.get(CUT_SHARE)),
        **_stages(view),
        tasks=_tasks(newest),
        evaluations=[_evaluation(row) for row in view.evaluations[seen[0] :][-_MOST:]],
        alerts=[_alert(event) for event in alerts[seen[1] :][-_MOST:]],
        **_trials(view),
        cursor=f"{len(view.evaluations)}.{len(alerts)}",
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
    """Read the run again until something is new, run and trials have ended, or the time is over."""
    ends = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        news = look_at(ref, since, runs_dir)
        took = time.monotonic() - began
        going = news.status == "running" or news.trying is not None
        if not going or time.monotonic() >= ends:
            return news
        if (until == "evaluation" and news.evaluations) or (until == "alert" and news.alerts):
            return news
        require_wanted()
        tell(news)
        time.sleep(max(0.0, min(max(_GLANCE, _DEAREST * took), ends - time.monotonic())))


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
    return {name: event[name] for name in (*_OF_ALERTS, *_OF_FIXES) if event.get(name) is not None}


def _stages(view: RunView) -> dict[str, Any]:
    visits = view.stages
    if not visits:
        return {}
    way = ", then ".join(f"{visit.stage} ({visit.ending})" for visit in visits[:-1][-_MOST:])
    mastered = dict.fromkeys(visit.stage for visit in visits if visit.master is not None)
    return {
        "stage": f"{visits[-1].stage} since step {visits[-1].began:,}" + (f"; before: {way}" if way else ""),
        "masters": [f"{view.run.id}@stage-{stage}" for stage in mastered],
    }


def _tasks(last: dict[str, Any]) -> dict[str, float | None] | None:
    """Shares of successes where there are any, else returns."""
    for prefix in reversed(_TASKS):
        tasks = {name.removeprefix(prefix): last[name] for name in last if name.startswith(prefix)}
        if tasks:
            return tasks
    return None


def _trials(view: RunView) -> dict[str, Any]:
    """The progress of the trials of a remedy, or the reason for which they gave no verdict."""
    run, running = view.run, view.running_trials
    asked = newest_trials(run.id, run.path.parent)
    if running or (asked is not None and asked.is_trying(run.path.parent)):
        where = f": {running[0].id} at {running[0].env_steps:,} steps" if running else ""
        return {"trying": f"a remedy is tried{where}"}
    if asked is None or any(
        event["kind"] == "fix" and event.get("time", "") >= asked.time for event in view.events
    ):
        return {}
    return {"trials_failed": _last_words(run)}


def _last_words(run: Run) -> str:
    """The last sentence of `gymsolve fix` before it ended."""
    try:
        lines = read_file(run.path / "fix.log", most=_LONGEST).decode(errors="replace").strip().splitlines()
    except RunDamagedError:
        lines = []
    for line in reversed(lines):
        try:
            return str(json.loads(line)["error"]["message"])
        except (ValueError, TypeError, KeyError):
            continue
    return lines[-1][:300] if lines else "the process that made them is gone"
