"""Rules about time and memory; most are hints, since nothing here makes a result wrong."""

import math

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.faults import is_restarting
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, ProposedChange, Rule

_ASIDE = ("eval", "checkpoint", "record", "diagnose")
_WORTH = 0.2
"""The share of the time that evaluations may take."""
_ROUNDING = 1e-9
_NOTABLE = 10.0
"""Parts that take fewer seconds are not reported."""


def _stepping(history: History, context: Context, active: bool) -> Evidence | None:
    if is_restarting(history):
        return None  # that time includes starting processes again
    value = history.spending.share("env")
    if value <= (0.5 if active else 0.6) + _ROUNDING or history.spending.seconds["env"] < _NOTABLE:
        return None
    return Evidence("time/env_share", value, 0.6, ">", meaning="share of all time so far for stepping them")


def _aside(history: History, context: Context, active: bool) -> Evidence | None:
    spending = history.spending
    value = spending.share(*_ASIDE)
    if value <= (0.3 if active else 0.4) + _ROUNDING or value * spending.whole < _NOTABLE:
        return None
    largest = max(_ASIDE, key=lambda part: spending.seconds[part])
    what = "share of all time so far for evaluating, saving, writing records and measuring"
    rest = f"{spending.share('eval'):.0%} evaluating"
    aim = _rarer(history) if largest == "eval" else None
    return Evidence(f"time/{largest}_share", value, 0.4, ">", rest, meaning=what, aim=aim)


def _rarer(history: History) -> float | None:
    """Steps between evaluations with which they take a fifth of the time.

    None where evaluations are so few that their number is not the reason.
    """
    spending, steps = history.spending, history.env_steps
    if not spending.evaluations or not spending.routine or not steps:
        return None
    each = spending.routine / spending.evaluations
    step = (spending.whole - spending.seconds["eval"]) / steps
    every = each * (1.0 - _WORTH) / _WORTH / step if step > 0.0 else math.inf
    now = steps / spending.evaluations
    return float(f"{1.05 * every:.2g}") if math.isfinite(every) and every > now else None


def _memory(history: History, context: Context, active: bool) -> Evidence | None:
    """Compares memory with that after a fifth of the budget: buffers and caches are full by then."""
    series = history.series["time/memory"]
    if not context.budget or series.steps[-1] < 0.4 * context.budget:
        return None
    then = series.index_at(0.2 * context.budget)
    if then is None:
        return None
    bar = max(1.5 * series.values[then], series.values[then] + 500.0)
    return Evidence("time/memory", series.last, bar, ">", "MB") if series.last > bar else None


def _measured_backend(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """`auto` uses processes where they help, so only `sync` leaves something to gain."""
    synchronous = context.setting("env.backend") == "sync"
    return [ProposedChange("env.backend", "set", value="auto")] if synchronous else []


def _rarer_evaluations(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Evaluate less often, as measured, or asynchronously where that would leave too few evaluations."""
    if context.config is None or evidence.aim is None:
        return []
    if evidence.aim > context.config.steps / 3:
        return [ProposedChange("eval.asynchronous", "set", value=True)]
    return [ProposedChange("eval.every", "set", value=int(evidence.aim))]


SPEED = (
    Rule(
        id="env_bound",
        signal=30,
        severity="info",
        title="most of the time goes into stepping environments",
        needs=("time/env_share",),
        check=_stepping,
        cause="a step of the environment takes longer than choosing its action and learning from it",
        remedy=_measured_backend,
        instead="`gymsolve tune-speed` measures which number of copies and of processes is fastest here; "
        "beyond that only a faster environment helps",
        effect=Effect("time/env_share", "falls", below=0.6, more="and time/fps rises"),
    ),
    Rule(
        id="overhead",
        signal=30,
        severity="info",
        title="much of the time goes into everything but training",
        needs=("time/eval_share",),
        check=_aside,
        cause="evaluations, checkpoints or measurements are too frequent, or take too long, for training "
        "that is this quick",
        remedy=_rarer_evaluations,
        instead="the report says which of them took how long; in longer trainings their share falls",
        effect=Effect("time/eval_share", "falls", below=_WORTH),
    ),
    Rule(
        id="memory_growth",
        signal=31,
        title="memory grows and grows",
        needs=("time/memory",),
        check=_memory,
        cause="the environment, or a wrapper, keeps what it should let go",
        effect=Effect("time/memory", "stays level"),
    ),
)
