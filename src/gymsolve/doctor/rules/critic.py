"""Rules about the quality of values and advantages."""

import itertools
import math
import statistics

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_flat, is_reached
from gymsolve.doctor.rules.remedies import all_of, raise_to, scale, set_to
from gymsolve.doctor.rules.rule import POOR_VALUES, Context, Effect, Evidence, Rule, below

_EV = "train/explained_variance"
_WINDOW = 20
_LUCK = 0.04
_LARGE_GRADIENTS = ("grad_jump", "grad_clipped")


def _has_critic(context: Context) -> bool:
    """The run learns values of states; for action values, other numbers are normal."""
    return context.setting("algo.baseline") in (None, "value") and context.values_states


def _negative(history: History, context: Context, active: bool) -> Evidence | None:
    """Compares the median of a window: a rollout whose returns are all alike gives a meaningless share."""
    if is_reached(history, context):
        return None
    value, meaning = _recent_median(history)
    return Evidence(_EV, value, 0.0, "<", meaning=meaning) if value < (0.05 if active else -0.05) else None


def _useless(history: History, context: Context, active: bool) -> Evidence | None:
    if not is_flat(history, context, 0.2, luck=_LUCK):
        return None
    value, meaning = _recent_median(history)
    if not abs(value) <= (0.1 if active else 0.05):
        return None
    return Evidence(_EV, value, 0.05, "<", "while the return is flat", meaning=meaning)


def _look_back(context: Context) -> str:
    """Advice for a network that sees a single observation and has no memory."""
    stack = context.setting("env.frame_stack")
    if context.setting("net.memory") is not None or (stack is not None and stack > 1):
        return ""
    return (
        "if a single observation does not show how things move, let the network see the last ones "
        "(env.frame_stack=2) or remember them (net.memory.cell=lstm); else look at what is observed"
    )


def _recent_median(history: History) -> tuple[float, str]:
    """The median of the newest values and a name for it; NaN where there are too few."""
    tail = history.series[_EV].tail(_WINDOW)
    median = statistics.median(tail) if len(tail) >= _WINDOW // 2 else math.nan
    return median, f"median of the last {len(tail)} {_EV}"


def _oscillates(history: History, context: Context, active: bool) -> Evidence | None:
    if not is_flat(history, context, 0.1):
        return None
    tail = history.series[_EV].tail(_WINDOW)
    if len(tail) < _WINDOW:
        return None
    ordered = sorted(
        tail
    )  # without the extremes: a single rollout whose returns are all alike does not count
    spread = (ordered[-_WINDOW // 6] - ordered[_WINDOW // 6]) / 2.0
    if spread <= (0.3 if active else 0.4):
        return None
    moves = [b - a for a, b in itertools.pairwise(tail)]
    flips = sum(a * b < 0 for a, b in itertools.pairwise(moves)) / (len(moves) - 1)
    if flips <= 0.5:
        return None
    note = f"turning in {flips:.0%} of updates"
    return Evidence(_EV, spread, 0.4, ">", note, meaning=f"spread of the last {_WINDOW} {_EV}")


def _scale(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["rollout/return_p95abs"].last
    if 0.01 <= value <= 50.0:
        return None
    if context.setting("net.normalize_values") not in (None, "none"):
        return None
    fit = history.last(_EV)
    if value > (50.0 if active else 100.0) and fit is not None and fit < 0.2:
        return Evidence("rollout/return_p95abs", value, 100.0, ">", "and the values cannot follow")
    if 0.0 < value < 0.01 and is_flat(history, context, 0.2):
        return Evidence("rollout/return_p95abs", value, 0.01, "<", "while the return is flat")
    return None


def _dead(history: History, context: Context, active: bool) -> Evidence | None:
    if is_reached(history, context):
        return None
    return below("rollout/advantage_std", 1e-6)(history, context, active)


def _biased(history: History, context: Context, active: bool) -> Evidence | None:
    std = history.last("rollout/advantage_std")
    if not std or is_reached(history, context):
        return None
    tail = history.series["rollout/advantage_mean"].tail(_WINDOW)
    if len(tail) < _WINDOW or min(tail) <= 0 <= max(tail):
        return None
    size = abs(statistics.fmean(tail))
    if size < 0.1 * (history.last("rollout/return_p95abs") or 0.0):
        return None  # nearly right: where all steps are worth the same, any lag exceeds their spread
    value = size / std
    if value <= (1.0 if active else 1.5):
        return None
    meaning = "size of rollout/advantage_mean over rollout/advantage_std"
    return Evidence("rollout/advantage_mean", value, 1.5, ">", "always to one side of 0", meaning=meaning)


def _dominates(history: History, context: Context, active: bool) -> Evidence | None:
    policy = history.last("train/grad_norm_policy")
    value = history.series["train/grad_norm_value"].last
    if not policy or is_reached(history, context):
        return None
    ratio = value / policy
    if ratio <= (50.0 if active else 100.0):
        return None
    meaning = "train/grad_norm_value over train/grad_norm_policy"
    return Evidence("train/grad_norm_value", ratio, 100.0, ">", "in a shared trunk", meaning=meaning)


def _shares(context: Context) -> bool:
    shared = context.setting("net.shared")
    return bool(shared) or (shared is None and context.sees_pictures)


def _uncorrelated(history: History, context: Context, active: bool) -> Evidence | None:
    fit = history.last(_EV)
    if fit is None or fit < 0.5 or not is_flat(history, context, 0.2):
        return None
    value = history.series["train/terminal_correlation"].last
    if not abs(value) < (0.1 if active else 0.05):
        return None
    return Evidence("train/terminal_correlation", value, 0.05, "<", "although the values fit elsewhere")


CRITIC = (
    Rule(
        id="values_untrained",
        signal=15,
        severity="error",
        title="the values are not trained at all",
        needs=("hyper/vf_coef",),
        check=below("hyper/vf_coef", 1e-6),
        cause="vf_coef is 0: nothing of the value loss reaches the weights",
        remedy=raise_to("algo.vf_coef", 0.5),
        effect=Effect("train/explained_variance", "rises", above=0.3),
        explains=("ev_negative", "ev_zero", "ev_oscillates", "policy_frozen", "return_flat"),
        warmup=0.0,
        applies=_has_critic,
        standing=True,
    ),
    Rule(
        id="ev_negative",
        signal=5,
        title="the values are worse than a constant guess",
        needs=(_EV,),
        check=_negative,
        cause="the value function diverges: targets too large, or its learning rate too high",
        remedy=all_of(
            set_to("net.normalize_values", "running"),
            scale("algo.learning_rate", 0.5),
            scale("algo.vf_coef", 0.5),
        ),
        effect=Effect("train/explained_variance", "rises", above=0),
        explains=("ev_oscillates", "return_flat", "advantage_biased", "rank_collapse", "clip_unused"),
        warmup=0.1,
        applies=_has_critic,
    ),
    Rule(
        id="ev_zero",
        signal=5,
        title="the values predict nothing",
        needs=(_EV, "rollout/ep_rew_mean"),
        check=_useless,
        cause="observations do not tell what will be rewarded, gamma does not fit, or no value loss",
        remedy=all_of(set_to("net.normalize_obs", "running"), raise_to("algo.vf_coef", 0.5)),
        instead=_look_back,
        effect=Effect("train/explained_variance", "rises", above=0.3),
        explains=("return_flat", "advantage_biased"),
        warmup=0.1,
        applies=_has_critic,
    ),
    Rule(
        id="ev_oscillates",
        signal=6,
        title="the quality of the values swings from update to update",
        needs=(_EV, "rollout/ep_rew_mean"),
        check=_oscillates,
        cause="the value function's learning rate is too high, or a rollout holds too little",
        remedy=all_of(scale("algo.learning_rate", 0.5), scale("algo.num_steps", 2.0)),
        effect=Effect("train/explained_variance", "falls", of="the spread of"),
        warmup=0.1,
        applies=_has_critic,
    ),
    Rule(
        id="value_scale",
        signal=4,
        title="returns are of a size that the values cannot learn",
        needs=("rollout/return_p95abs", _EV),
        check=_scale,
        cause="rewards are far from 1 in size, and nothing scales them",
        remedy=set_to("algo.normalize_rewards", True),
        effect=Effect("rollout/return_p95abs", "comes to lie between 0.1 and 10"),
        explains=(*POOR_VALUES, "advantage_biased", "value_dominates", *_LARGE_GRADIENTS, "entropy_stuck"),
        warmup=0.1,
    ),
    Rule(
        id="advantage_dead",
        signal=14,
        severity="error",
        title="no action looks better than another",
        needs=("rollout/advantage_std",),
        check=_dead,
        cause="the reward is constant, so there is nothing to learn from",
        effect=Effect("rollout/advantage_std", "rises", above=0.1),
        explains=("return_flat", "policy_frozen", "grad_vanished", "entropy_stuck", "clip_unused"),
    ),
    Rule(
        id="advantage_biased",
        signal=14,
        title="all actions look better (or worse) than expected, all the time",
        needs=("rollout/advantage_mean", "rollout/advantage_std"),
        check=_biased,
        cause="the values lag behind the returns: they learn too slowly, or advantages are wrong",
        remedy=scale("algo.vf_coef", 2.0, from_zero=0.5),
        effect=Effect("rollout/advantage_mean", "comes near 0"),
        warmup=0.1,
        applies=_has_critic,
    ),
    Rule(
        id="value_dominates",
        signal=15,
        title="the value loss drowns the policy's gradient",
        needs=("train/grad_norm_value", "train/grad_norm_policy"),
        check=_dominates,
        cause="rewards are large, and policy and value share a trunk",
        remedy=all_of(scale("algo.vf_coef", 0.1), set_to("net.shared", False)),
        effect=Effect("train/grad_norm_value", "falls below 100 times train/grad_norm_policy"),
        explains=("return_flat", "policy_frozen", "grad_clipped", "ev_negative"),
        applies=_shares,
    ),
    Rule(
        id="terminal_uncorrelated",
        signal=26,
        title="values do not see an episode's last reward coming",
        needs=("train/terminal_correlation", _EV),
        check=_uncorrelated,
        cause="returns are not propagated at an episode's end",
        effect=Effect("train/terminal_correlation", "rises"),
        warmup=0.1,
        applies=_has_critic,
    ),
)
