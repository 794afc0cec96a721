"""Trials of a remedy: runs with original and changed settings, compared.

The verdict is that of `gymsolve.difference`: a remedy helped or hurt only if a difference can be claimed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import cast

from gymsolve.answers import Answer
from gymsolve.difference import SURE, Difference, compare_groups, fewest_seeds, lowest_chance
from gymsolve.doctor.fix import SIDES, FixAnswer, FixPlan, Side
from gymsolve.doctor.tried import Verdict
from gymsolve.jobs.local import LocalPlace, jobs_at_once
from gymsolve.jobs.queue import Event, TaskEnded, TaskFailed, work_off
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.runs import Run
from gymsolve.runs.fixes import record_fix
from gymsolve.text import plural
from gymsolve.training.stop import EXIT_CODES, Reason, StopSignal


@dataclass(frozen=True)
class Trial(Answer):
    """One training on one side."""

    side: Side
    seed: int
    run: str
    status: str
    reward: float | None
    """Mean return of its last evaluation; None if it ended before the first."""
    error: float
    """Standard error of that mean, over the episodes."""
    metric: float | None
    """Median of the promised metric in the second half."""
    fired: bool
    """True if the alert came again."""

    @property
    def rank(self) -> float:
        """The reward; a crash, or a trial without an evaluation, ranks below every reward."""
        return -math.inf if self.status == "crashed" or self.reward is None else self.reward


@dataclass(frozen=True)
class SideResult(Answer):
    """All trials of one side."""

    mean_reward: float | None
    spread: float | None
    """Standard deviation over seeds."""
    crashed: int
    fired: int


@dataclass(frozen=True)
class KeptPromise(Answer):
    """The metric that the remedy should move, on both sides."""

    metric: str
    original: float | None
    changed: float | None
    kept: int | None
    """Seeds on which it moved as promised; None if the promise has no direction."""
    of: int
    """Seeds on which it was measured."""


@dataclass(frozen=True)
class TriedFix(FixAnswer):
    """Both sides in numbers, and whether the remedy helped."""

    trials: tuple[Trial, ...]
    original: SideResult
    changed: SideResult
    verdict: Verdict
    difference: float | None
    """Median of the gaps between a trial with the remedy and one without; null where it is not finite."""
    low: float | None
    high: float | None
    """Ends of its 95 % interval; null where there are too few seeds for one."""
    chance: float | None
    """How often a remedy without any effect would part the sides as clearly (exact test); null where their
    returns do not compare."""
    seeds_needed: int | None
    """Seeds that would show a gap like this one; null where that is more than anybody trains."""
    certainty: str
    """How sure the verdict is, in words."""
    promise: KeptPromise | None


def try_fix(
    plan: FixPlan,
    *,
    on_trial: Callable[[Trial], None] | None = None,
    trust: bool = False,
    at_once: int | None = None,
) -> TriedFix | Reason:
    """Train all trials in processes of their own, compare and record them.

    Returns the reason instead, and records nothing, if one of them was stopped. Calls `on_trial` after each.
    By default as many train `at_once` as there are cores for. A run from elsewhere that names code of its own
    needs `trust`.
    """
    assert plan.alert is not None
    sides = {f"{side} {seed}": (side, seed) for seed in plan.seeds for side in SIDES}
    at_once = trials_at_once(plan) if at_once is None else at_once
    trials: dict[str, Trial] = {}
    stop = StopSignal()

    def hear(event: Event) -> None:
        if isinstance(event, TaskFailed):
            raise event.error  # it says nothing about the remedy
        if not isinstance(event, TaskEnded) or stop.reason is not None:
            return
        if (reason := _stopped_by(event.run)) is not None:
            stop.request(reason)
            return
        trials[event.key] = read_trial(plan, *sides[event.key], event.run)
        if on_trial is not None:
            on_trial(trials[event.key])

    tasks = {key: trial_request(plan, *sides[key], trust=trust, alone=at_once == 1) for key in sides}
    work_off(tasks, LocalPlace(), at_once=at_once, on_event=hear, stop=stop)
    if stop.reason is not None:
        return stop.reason
    tried = compare_trials(plan, [trials[key] for key in sides])
    record_trials(plan, tried)
    return tried


def _stopped_by(run: Run) -> Reason | None:
    """The reason for a stop of a trial; None if it ended by itself, crashes included."""
    summary = run.summary()
    if summary.reason in EXIT_CODES:
        return cast("Reason", summary.reason)
    return "interrupt" if summary.status == "stopped" else None


def trials_at_once(plan: FixPlan) -> int:
    """How many trials train at once: as many as there are cores for them."""
    return jobs_at_once(int(plan.run.config_json()["config"]["threads"]), len(SIDES) * len(plan.seeds))


def trial_request(plan: FixPlan, side: Side, seed: int, *, trust: bool, alone: bool) -> RunRequest:
    """The request for one trial: a fork of the run that ends early."""
    assert plan.alert is not None
    settings = plan.overrides(side, seed)
    if not alone and not plan.run.config_json()["config"]["threads"]:
        settings["threads"] = 1  # the others have the other cores
    ref = str(plan.run.path) if plan.checkpoint is None else f"{plan.run.path}@{plan.checkpoint}"
    until, source = plan.start + plan.steps, f"gymsolve fix {plan.alert.id}"
    return RunRequest("fork", ref, spell_settings(settings), trust=trust, until=until, trial=source)


def application(plan: FixPlan) -> RunRequest:
    """The request that applies the remedy to the run: a fork from before the alert, trained to its end."""
    settings = {change.path: change.new for change in plan.changes}
    return RunRequest("fork", f"{plan.run.id}@{plan.checkpoint or 0}", spell_settings(settings))


def read_trial(plan: FixPlan, side: Side, seed: int, run: Run) -> Trial:
    """The result of a trial, from the folder of its run."""
    assert plan.alert is not None
    rows = [row for row in run.read_metrics().rows if row.get("env_steps", 0) > plan.start]
    judged = [row for row in rows if math.isfinite(row.get("eval/mean_reward", math.nan))]
    last = judged[-1] if judged else {}
    promise = plan.promise
    middle = plan.start + plan.steps / 2
    late = [row for row in rows if row["env_steps"] > middle] or rows
    values = [row[promise.metric] for row in late if promise is not None and promise.metric in row]
    finite = [value for value in values if math.isfinite(value)]
    events = run.read_events().rows
    return Trial(
        side=side,
        seed=seed,
        run=run.id,
        status=run.status,
        reward=last.get("eval/mean_reward"),
        error=last.get("eval/std_reward", 0.0) / math.sqrt(last.get("eval/episodes", 1)),
        metric=median(finite) if finite else None,
        fired=any(row["kind"] == "alert" and row.get("id") == plan.alert.id for row in events),
    )


def compare_trials(plan: FixPlan, trials: Sequence[Trial]) -> TriedFix:
    """The verdict on the remedy, from all trials."""
    sides = {side: [trial for trial in trials if trial.side == side] for side in SIDES}
    before, after = ([trial.rank for trial in sides[side]] for side in SIDES)
    gap = compare_groups(before, after)
    verdict: Verdict = "unclear"
    if plan.comparable and gap.is_clear:
        verdict = "helped" if gap.higher > 0.5 else "hurt"
    return TriedFix(
        **plan.facts(),
        trials=tuple(trials),
        original=_result(sides["original"]),
        changed=_result(sides["changed"]),
        verdict=verdict,
        difference=gap.shift,
        low=gap.low,
        high=gap.high,
        chance=gap.chance if plan.comparable else None,
        seeds_needed=gap.fewest() if plan.comparable else None,
        certainty=_certainty(gap) if plan.comparable else "the returns of both sides do not compare",
        promise=_kept(plan, sides["original"], sides["changed"]),
    )


def _certainty(gap: Difference) -> str:
    seeds = plural(gap.counts[0], "seed")
    if lowest_chance(*gap.counts) > SURE:
        return f"{seeds} cannot tell, however far apart: at least {fewest_seeds()} are needed"
    if gap.is_clear:
        return f"with {seeds}, chance alone gives a gap this clear {gap.by_chance}"
    share, side = max(gap.higher, 1.0 - gap.higher), "with" if gap.higher >= 0.5 else "without"
    part = (
        f"trials {side} the remedy are better in {share:.0%} of the pairs; chance does that {gap.by_chance}"
    )
    needed = gap.fewest()
    if needed is None:
        return f"{part}; a gap this small would need more seeds than anybody trains"
    return f"{part}; if the gap is what it seems, some {needed} seeds would show it"


def record_trials(plan: FixPlan, tried: TriedFix) -> None:
    """Write the result into the run whose alert it is about."""
    assert plan.alert is not None
    answer = tried.to_json()
    record_fix(plan.run, plan.alert.id, answer)
    plan.run.append_event(
        "fix",
        env_steps=plan.start,
        alert=plan.alert.id,
        changes=answer["changes"],
        children=[trial.run for trial in tried.trials],
        verdict=tried.verdict,
        chance=tried.chance,
        certainty=tried.certainty,
        seeds_needed=tried.seeds_needed,
        returns={side: [trial.reward for trial in tried.trials if trial.side == side] for side in SIDES},
    )


def _result(trials: Sequence[Trial]) -> SideResult:
    rewards = [trial.reward for trial in trials if trial.reward is not None]
    return SideResult(
        mean_reward=fmean(rewards) if rewards else None,
        spread=stdev(rewards) if len(rewards) > 1 else None,
        crashed=sum(trial.status == "crashed" for trial in trials),
        fired=sum(trial.fired for trial in trials),
    )


def _kept(plan: FixPlan, original: Sequence[Trial], changed: Sequence[Trial]) -> KeptPromise | None:
    promise = plan.promise
    if promise is None or promise.metric is None:
        return None
    pairs = [
        (after.metric, before.metric)
        for after, before in zip(changed, original, strict=True)
        if after.metric is not None
    ]
    return KeptPromise(
        metric=promise.metric,
        original=_mean(original),
        changed=_mean(changed),
        kept=sum(promise.is_kept(*pair) for pair in pairs) if promise.sign else None,
        of=len(pairs),
    )


def _mean(trials: Sequence[Trial]) -> float | None:
    values = [trial.metric for trial in trials if trial.metric is not None]
    return fmean(values) if values else None
