"""Rules about a return that stays flat or falls."""

import math

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_finding, is_flat, is_reached, return_range
from gymsolve.doctor.rules.remedies import all_of, scale
from gymsolve.doctor.rules.rule import POOR_VALUES, Context, Effect, Evidence, ProposedChange, Rule

_RETURN = "rollout/ep_rew_mean"
_FAR = 20.0
"""The values do not see the end of episodes that are this many times longer than gamma's horizon."""
_GAMMAS = (0.99, 0.995, 0.998, 0.999)
"""Usual values; the first whose horizon is long enough is proposed."""
_SOME = 0.05
"""A return that has gained a smaller share of the way to the threshold cannot fall by much."""


def _flat(history: History, context: Context, active: bool) -> Evidence | None:
    if not is_flat(history, context, 0.2) or is_finding(history, context):
        return None
    series = history.series[_RETURN]
    return Evidence(_RETURN, series.last, series.peak, "≤", "no better than a fifth of the budget ago")


def _fell(history: History, context: Context, active: bool) -> Evidence | None:
    """Compares the loss with the gain since the start, so that the sign of returns does not matter."""
    series = history.series[_RETURN]
    if is_reached(history, context) or series.span <= 0.0:
        return None
    start = series.values[0] if math.isfinite(series.values[0]) else series.low
    gained = series.peak - start
    noise = 0.25 * return_range(history)
    goal = context.training_threshold
    way = 0.0 if goal is None else _SOME * (goal - start)
    if gained <= max(0.5 * series.span, noise, way):  # it never rose by much: the fall may be chance
        return None
    bar = series.peak - (0.2 if active else 0.35) * gained
    return Evidence(_RETURN, series.last, bar, "<", f"after {series.peak:.4g}") if series.last < bar else None


def _short_sight(history: History, context: Context, active: bool) -> Evidence | None:
    gamma, length = history.series["hyper/gamma"].last, history.last("rollout/ep_len_mean")
    if not gamma < 1.0 or length is None or not is_flat(history, context, 0.1):
        return None
    ahead = 1.0 / (1.0 - gamma)
    if not length > _FAR * ahead:
        return None
    note = f"sees {ahead:.3g} of {length:.4g} steps"
    enough = next((usual for usual in _GAMMAS if usual >= 1.0 - _FAR / length), _GAMMAS[-1])
    return Evidence("hyper/gamma", gamma, 1.0 - _FAR / length, "<", note, aim=enough)


def _see_farther(context: Context, evidence: Evidence) -> list[ProposedChange]:
    return [ProposedChange("algo.gamma", "up", value=evidence.aim)]


PROGRESS = (
    Rule(
        id="short_sight",
        signal=33,
        title="gamma hides what comes later in an episode",
        needs=("hyper/gamma", "rollout/ep_len_mean", _RETURN),
        check=_short_sight,
        cause="gamma is too small for episodes of this length, and the return is flat",
        remedy=_see_farther,
        effect=Effect("rollout/ep_rew_mean", "rises"),
        explains=("return_flat", *POOR_VALUES, "ev_oscillates", "entropy_stuck", "value_scale", "eval_gap"),
        warmup=0.1,
        standing=True,
    ),
    Rule(
        id="return_fell",
        signal=21,
        title="the return has fallen and stays down",
        needs=(_RETURN,),
        check=_fell,
        cause="a step too large destroyed what had been learned",
        remedy=all_of(scale("algo.learning_rate", 0.3), scale("algo.num_epochs", 0.5)),
        effect=Effect("rollout/ep_rew_mean", "keeps its best value"),
        explains=("eval_gap",),
        persistence=10,
    ),
    Rule(
        id="return_flat",
        signal=21,
        title="the return no longer rises",
        needs=(_RETURN,),
        check=_flat,
        cause="too little exploration, a learning rate that does not fit, or a gamma too small",
        remedy=all_of(scale("algo.ent_coef", 3.0, from_zero=0.01), scale("algo.learning_rate", 0.5)),
        effect=Effect("rollout/ep_rew_mean", "rises"),
        explains=("stage_stuck",),  # and so does all that explains this
        persistence=10,
        warmup=0.2,
    ),
)
