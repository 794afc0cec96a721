"""Rules about exploration: entropy, spread of actions, actions that are taken nearly always."""

from dataclasses import replace

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import (
    DECIDED,
    categorical,
    entropy_evidence,
    is_flat,
    is_reached,
    relative_entropy,
    while_flat,
)
from gymsolve.doctor.rules.remedies import all_of, scale, set_to
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, Rule, above, below

_EXPLORE = all_of(scale("algo.ent_coef", 5.0, from_zero=0.01), scale("algo.learning_rate", 0.5))


def _collapse(history: History, context: Context, active: bool) -> Evidence | None:
    entropy = relative_entropy(history, context)
    if entropy is None or is_reached(history, context):
        return None
    series, factor = entropy
    value = series.last * factor
    if value >= (2 * DECIDED if active else DECIDED):
        return None
    # Deciding while the return still grows is what learning looks like.
    if not is_flat(history, context, 0.1) and not (context.progress(history) < 0.1 and value < 0.01):
        return None
    return entropy_evidence(factor, value, DECIDED, "<", "return is flat")


def _arrival(history: History, context: Context, active: bool) -> Evidence | None:
    """Extrapolated from the last tenth of the budget, the entropy is gone before half of the budget."""
    if not context.budget or context.progress(history) > 0.5 or not is_flat(history, context, 0.1):
        return None
    entropy = relative_entropy(history, context)
    if entropy is None:
        return None
    series, factor = entropy
    then = series.index_at(history.env_steps - 0.1 * context.budget)
    if then is None:
        return None
    now, before = series.last * factor, series.values[then] * factor
    if now < DECIDED or before - now < 0.05:
        return None
    slope = (before - now) / (history.env_steps - series.steps[then])
    arrival = history.env_steps + (now - DECIDED) / slope
    if arrival > 0.5 * context.budget:
        return None
    note = f"gone at step {arrival:,.0f} if it goes on like this, return is flat"
    return entropy_evidence(factor, now, DECIDED, "→", note)


def _stuck(history: History, context: Context, active: bool) -> Evidence | None:
    entropy = relative_entropy(history, context)
    if entropy is None:
        return None
    series, factor = entropy
    value = series.last * factor
    if value <= (0.95 if active else 0.98) or not is_flat(history, context, 0.15):
        return None
    return entropy_evidence(factor, value, 0.98, ">", "return is flat")


def _wide(history: History, context: Context, active: bool) -> Evidence | None:
    series = history.series["policy/log_std_mean"]
    before = series.values[max(0, len(series) - 20)]
    if series.last <= 1.0 or series.last < before or is_reached(history, context):
        return None
    return Evidence("policy/log_std_mean", series.last, 1.0, ">", "and rising")


def _narrow(history: History, context: Context, active: bool) -> Evidence | None:
    """A policy that knows what to do has little spread; that is a fault only while the return is flat."""
    evidence = while_flat(below("policy/log_std_mean", -3.0, -2.5))(history, context, active)
    return None if evidence is None else replace(evidence, note="while the return is flat")


def _no_choice(history: History, context: Context, active: bool) -> Evidence | None:
    """There was no entropy from the first update on; learning takes longer than that to remove it."""
    series = history.series["train/entropy"]
    if series.peak >= 1e-3:
        return None
    return Evidence("train/entropy", series.peak, 1e-3, "<", meaning="largest train/entropy since the start")


def _is_masked(context: Context) -> bool:
    return context.spec is not None and context.spec.masked and not context.warm_start


EXPLORATION = (
    Rule(
        id="entropy_collapse",
        signal=10,
        severity="error",
        title="the policy has decided before it learned",
        needs=("train/entropy", "rollout/ep_rew_mean"),
        check=_collapse,
        cause="nothing rewards exploring: the entropy bonus is too small for rewards of this size",
        remedy=_EXPLORE,
        effect=Effect("train/entropy", "stays above a tenth of its maximum until the return has risen"),
        explains=(
            "return_flat",
            "policy_frozen",
            "clip_unused",
            "churn_dead",
            "action_stuck",
            "entropy_falling",
        ),
        applies=categorical,
    ),
    Rule(
        id="entropy_falling",
        signal=10,
        title="exploration will end long before the budget does",
        needs=("train/entropy", "rollout/ep_rew_mean"),
        check=_arrival,
        cause="the entropy bonus is too small, or the learning rate too high",
        remedy=_EXPLORE,
        effect=Effect("train/entropy", "falls more slowly"),
        applies=categorical,
    ),
    Rule(
        id="entropy_stuck",
        signal=10,
        title="the policy is still as good as random",
        needs=("train/entropy", "rollout/ep_rew_mean"),
        check=_stuck,
        cause="the entropy bonus outweighs the reward, or no gradient reaches the policy",
        remedy=all_of(scale("algo.ent_coef", 0.1), scale("algo.learning_rate", 3.0)),
        effect=Effect("train/entropy", "begins to fall"),
        explains=("return_flat", "clip_unused"),
        warmup=0.2,
        applies=categorical,
    ),
    Rule(
        id="mask_closed",
        signal=13,
        severity="error",
        title="the action mask leaves no choice",
        needs=("train/entropy",),
        check=_no_choice,
        cause="the mask allows one action at a time: it is inverted, or made from something else",
        effect=Effect("train/entropy", "rises", above=0),
        explains=("action_stuck", "entropy_collapse", "policy_frozen", "grad_vanished", "return_flat"),
        persistence=3,
        patience=1,
        warmup=0.0,
        applies=_is_masked,
        standing=True,
    ),
    Rule(
        id="log_std_low",
        signal=11,
        title="the policy hardly varies its actions any more",
        needs=("policy/log_std_mean", "rollout/ep_rew_mean"),
        check=_narrow,
        cause="nothing rewards exploring: the entropy bonus is too small for rewards of this size",
        remedy=_EXPLORE,
        effect=Effect("policy/log_std_mean", "stays", above=-2),
        explains=("return_flat",),
    ),
    Rule(
        id="log_std_high",
        signal=11,
        title="the spread of actions grows beyond their range",
        needs=("policy/log_std_mean",),
        check=_wide,
        cause="the entropy bonus outweighs the reward; actions beyond the bounds cost nothing",
        remedy=all_of(scale("algo.ent_coef", 0.1), set_to("net.squash", True)),
        effect=Effect("policy/log_std_mean", "falls", below=0),
        explains=("action_saturated", "return_flat"),
    ),
    Rule(
        id="action_saturated",
        signal=12,
        title="most actions lie at a bound",
        needs=("action/saturated_share", "rollout/ep_rew_mean"),
        check=while_flat(above("action/saturated_share", 0.5, 0.4)),  # some tasks are solved by extremes
        cause="the actions' scale does not fit, or only extremes are rewarded",
        remedy=all_of(set_to("net.squash", True), set_to("net.log_std_init", -1.0)),
        effect=Effect("action/saturated_share", "falls", below=0.5),
        explains=("return_flat",),
    ),
    Rule(
        id="action_stuck",
        signal=13,
        title="one action is taken nearly always",
        needs=("action/largest_share", "rollout/ep_rew_mean"),
        check=while_flat(above("action/largest_share", 0.95, 0.9)),
        cause="an action mask that allows nothing else, a reward for doing nothing, or a collapsed policy",
        remedy=_EXPLORE,
        effect=Effect("action/largest_share", "falls", below=0.9),
        explains=("return_flat", "ev_negative", "ev_zero"),
        applies=categorical,
    ),
)
