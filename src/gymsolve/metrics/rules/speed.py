"""Where time and memory go. Never more than a hint: nothing here makes a result wrong."""

from gymsolve.metrics.history import History
from gymsolve.metrics.rules.rule import Change, Context, Effect, Evidence, Rule, above

__all__ = ["SPEED"]

_ASIDE = ("time/eval_share", "time/checkpoint_share", "time/record_share", "time/diagnose_share")


def _aside(history: History, context: Context, active: bool) -> Evidence | None:
    value = sum(history.last(name) or 0.0 for name in _ASIDE)
    if value <= (0.3 if active else 0.4):
        return None
    what = "share of time for evaluating, saving, writing records and measuring"
    return Evidence(_ASIDE[0], value, 0.4, ">", meaning=what)


def _memory(history: History, context: Context, active: bool) -> Evidence | None:
    """Against the level after a fifth of the budget: buffers and caches are full by then."""
    series = history.series["time/memory"]
    if not context.budget or series.steps[-1] < 0.4 * context.budget:
        return None
    then = series.index_at(0.2 * context.budget)
    if then is None:
        return None
    bar = max(1.5 * series.values[then], series.values[then] + 500.0)
    return Evidence("time/memory", series.last, bar, ">", "MB") if series.last > bar else None


def _faster_envs(context: Context, evidence: Evidence) -> list[Change]:
    backend = context.setting("env.backend")
    return [Change("env.backend", backend, "async")] if backend in ("auto", "sync") else []


def _rarer_evaluations(context: Context, evidence: Evidence) -> list[Change]:
    if context.config is None:
        return []
    every = context.config.eval_every
    return [Change("eval.every", context.config.eval.every, 2 * every)]


SPEED = (
    Rule(
        id="env_bound",
        signal=30,
        severity="info",
        title="most of the time goes into stepping environments",
        needs=("time/env_share",),
        check=above("time/env_share", 0.6, 0.5),
        cause="the environment is slow, and few copies run at once",
        remedy=_faster_envs,
        effect=Effect("time/env_share", "falls", below=0.6, more="and time/fps rises"),
    ),
    Rule(
        id="overhead",
        signal=30,
        severity="info",
        title="much of the time goes into everything but training",
        needs=("time/eval_share",),
        check=_aside,
        cause="evaluations are too frequent or too long",
        remedy=_rarer_evaluations,
        effect=Effect("time/eval_share", "falls", below=0.2),
    ),
    Rule(
        id="memory_growth",
        signal=31,
        severity="warn",
        title="memory grows and grows",
        needs=("time/memory",),
        check=_memory,
        cause="the environment, or a wrapper, keeps what it should let go",
        effect=Effect("time/memory", "stays level"),
    ),
)
