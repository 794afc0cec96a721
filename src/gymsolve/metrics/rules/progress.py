"""Does the return rise, stay, fall, and does it mean the same in training and evaluation?"""

import math

from gymsolve.metrics.history import History
from gymsolve.metrics.rules.outlook import is_flat, is_reached
from gymsolve.metrics.rules.rule import Context, Evidence, Rule, all_of, scale, set_to

__all__ = ["PROGRESS"]

_RETURN = "rollout/ep_rew_mean"
_EVAL = "eval/mean_reward"
_FAR = 20.0
"""Episodes this many times longer than what gamma looks ahead to have ends that are invisible."""


def _flat(history: History, context: Context, active: bool) -> Evidence | None:
    if not is_flat(history, context, 0.2):
        return None
    series = history.series[_RETURN]
    return Evidence(_RETURN, series.last, series.peak, "≤", "no better than a fifth of the budget ago")


def _fell(history: History, context: Context, active: bool) -> Evidence | None:
    """Against what was gained since the start, so that the sign of returns does not matter."""
    series = history.series[_RETURN]
    if is_reached(history, context) or series.span <= 0.0:
        return None
    start = series.values[0] if math.isfinite(series.values[0]) else series.low
    gained = series.peak - start
    smallest, largest = history.last("rollout/ep_rew_min"), history.last("rollout/ep_rew_max")
    noise = 0.0 if smallest is None or largest is None else 0.25 * (largest - smallest)
    if gained <= max(0.5 * series.span, noise):  # it never rose by much: chance falls, too
        return None
    bar = series.peak - (0.2 if active else 0.35) * gained
    return Evidence(_RETURN, series.last, bar, "<", f"after {series.peak:.4g}") if series.last < bar else None


def _gap(history: History, context: Context, active: bool) -> Evidence | None:
    """Hardly anything of what training gained shows in evaluation; usually that is the better of the two."""
    judged, trained = history.series[_EVAL], history.series[_RETURN]
    then = trained.index_at(judged.steps[-1])
    if then is None or is_reached(history, context):
        return None
    start, now = trained.values[0], trained.values[then]
    gained = now - start
    if gained < 0.3 * trained.span:
        return None
    spread, episodes = history.last("eval/std_reward") or 0.0, history.last("eval/episodes") or 1.0
    error = 2.0 * 1.96 * spread / math.sqrt(max(1.0, episodes))
    bar = min(start + (0.5 if active else 0.25) * gained, now - error)
    if judged.last >= bar:
        return None
    return Evidence(_EVAL, judged.last, bar, "<", f"training has {now:.4g}")


def _short_sight(history: History, context: Context, active: bool) -> Evidence | None:
    gamma, length = history.series["hyper/gamma"].last, history.last("rollout/ep_len_mean")
    if not gamma < 1.0 or length is None or not is_flat(history, context, 0.1):
        return None
    ahead = 1.0 / (1.0 - gamma)
    if not length > _FAR * ahead:
        return None
    return Evidence("hyper/gamma", gamma, 1.0 - _FAR / length, "<", f"sees {ahead:.3g} of {length:.4g} steps")


PROGRESS = (
    Rule(
        id="short_sight",
        signal=33,
        severity="warn",
        title="gamma hides what comes later in an episode",
        needs=("hyper/gamma", "rollout/ep_len_mean", _RETURN),
        check=_short_sight,
        cause="gamma is too small for episodes of this length, and the return is flat",
        remedy=set_to("algo.gamma", 0.99),
        effect="rollout/ep_rew_mean rises",
        explains=(
            "return_flat",
            "ev_zero",
            "ev_negative",
            "ev_oscillates",
            "entropy_stuck",
            "value_scale",
            "eval_gap",
        ),
        warmup=0.1,
        standing=True,
    ),
    Rule(
        id="return_fell",
        signal=21,
        severity="warn",
        title="the return has fallen and stays down",
        needs=(_RETURN,),
        check=_fell,
        cause="a step too large destroyed what had been learned",
        remedy=all_of(scale("algo.learning_rate", 0.3), scale("algo.num_epochs", 0.5)),
        effect="rollout/ep_rew_mean keeps its best value",
        persistence=10,
    ),
    Rule(
        id="return_flat",
        signal=21,
        severity="warn",
        title="the return no longer rises",
        needs=(_RETURN,),
        check=_flat,
        cause="too little exploration, a learning rate that does not fit, or a gamma too small",
        remedy=all_of(scale("algo.ent_coef", 3.0, at_least=0.01), scale("algo.learning_rate", 0.5)),
        effect="rollout/ep_rew_mean rises",
        persistence=10,
        warmup=0.2,
    ),
    Rule(
        id="eval_gap",
        signal=22,
        severity="warn",
        title="evaluation is far worse than training",
        needs=(_EVAL, _RETURN),
        check=_gap,
        cause="evaluation sees something else (wrappers, a normaliser that is not frozen), "
        "or the likeliest action alone is not a good policy",
        remedy=scale("algo.ent_coef", 0.3),
        effect="eval/mean_reward comes within 2 standard errors of rollout/ep_rew_mean",
        persistence=4,
    ),
)
