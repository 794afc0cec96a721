"""A rule about the first policy: before it learns anything, it should try all actions evenly."""

import math
import statistics

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import categorical, entropy_evidence, relative_entropy
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, ProposedChange, Rule

_ASIDE = 0.5
"""A mean of first actions that is further from the centre, as a share of half the range, is no chance."""
_HARDLY = 0.2
"""First actions with a smaller share of an even spread are nearly all the same."""


def _not_uniform(history: History, context: Context, active: bool) -> Evidence | None:
    if (history.last("updates") or 0) > 1:
        return None
    if _bounded_box(context):
        return _off_centre(history, context)
    entropy = relative_entropy(history, context)
    masked = context.spec is not None and context.spec.masked  # then uniform is less than all choices
    if entropy is None or context.warm_start or masked:
        return None
    series, factor = entropy
    value = series.values[0] * factor
    moved = history.last("train/approx_kl") or 0.0  # then the first update caused it
    if len(series) > 1 or value >= 0.7 or moved > 0.05:
        return None
    return entropy_evidence(factor, value, 0.7, "<", "before anything is learned")


def _off_centre(history: History, context: Context) -> Evidence | None:
    """A first policy that lies to one side of its box, or hardly spreads in it.

    Actions spread evenly over a box have its centre as their mean. A Gaussian is not even, but one that is
    far narrower than the box tries hardly anything.
    """
    mean, std = history.get("action/mean"), history.get("action/std")
    if mean is None or std is None or len(mean) > 1 or context.warm_start:
        return None
    centre, even, half = _even_actions(context)
    off = abs(mean.last - centre) / half
    if off > _ASIDE:
        note = f"of half the range, before anything is learned; the mean is {mean.last:.3g}"
        meaning = "distance of the mean action from the centre"
        return Evidence("action/mean", off, _ASIDE, ">", note, meaning=meaning)
    if std.last < _HARDLY * even:
        note = f"of {even:.3g}, that of an even one, before anything is learned"
        meaning = "spread of actions as a share"
        return Evidence("action/std", std.last / even, _HARDLY, "<", note, meaning=meaning)
    return None


def _even_actions(context: Context) -> tuple[float, float, float]:
    """Mean and spread of actions spread evenly over the box, all dimensions together, and half its range."""
    assert context.spec is not None
    low, high = context.spec.action.low, context.spec.action.high
    centres = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    centre = statistics.fmean(centres)
    spread = statistics.fmean(
        (b - a) ** 2 / 12 + (middle - centre) ** 2 for a, b, middle in zip(low, high, centres, strict=True)
    )
    half = statistics.fmean((b - a) / 2 for a, b in zip(low, high, strict=True))
    return centre, math.sqrt(spread), half


def _bounded_box(context: Context) -> bool:
    spec = context.spec
    return spec is not None and spec.action.kind == "box" and spec.action.bounded


def _evenly(context: Context, evidence: Evidence) -> list[ProposedChange]:
    spread = [ProposedChange("net.log_std_init", "up", value=0.0)] if evidence.metric == "action/std" else []
    return [*spread, ProposedChange("net.policy_gain", "down", value=0.01)]


FIRST_POLICY = (
    Rule(
        id="initial_policy",
        signal=10,
        title="the policy prefers some actions before it has learned anything",
        needs=("train/entropy",),
        check=_not_uniform,
        cause="the last layer of the policy starts with weights too large (net.policy_gain), with a bias "
        "toward some actions, or with weights of something that was trained before; in a box its spread may "
        "start too small (net.log_std_init)",
        remedy=_evenly,
        effect=Effect(None, "the first actions spread evenly over all there are"),
        explains=("entropy_collapse",),
        persistence=1,
        warmup=0.0,
        applies=lambda context: categorical(context) or _bounded_box(context),
    ),
)
