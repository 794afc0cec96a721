"""Faults that no hyperparameter mends: numbers, observations, rewards, episodes, bookkeeping."""

from dataclasses import replace

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_confirmed, is_finding
from gymsolve.doctor.rules.remedies import all_of, lower_to, scale, set_to
from gymsolve.doctor.rules.rule import (
    NOTHING_MOVES,
    POOR_VALUES,
    Context,
    Effect,
    Evidence,
    Rule,
    above,
    below,
)
from gymsolve.metrics.catalog import find_metric

_ENOUGH_EPISODES = 100
_FEW_EPISODES = 10
_ROUNDING = 1e-6
_CLIPPED = 10.01
"""The largest observation that running statistics let through."""


def _nonfinite(history: History, context: Context, active: bool) -> Evidence | None:
    for name in history.broken:
        metric = find_metric(name)
        nothing_played = name == "eval/mean_reward" and history.record.get("eval/episodes") == 0
        if not nothing_played and (metric is None or not metric.may_be_nan):
            return Evidence(name, history.record[name], 0.0, "≠", "not a finite number")
    return None


def _out_of_bounds(history: History, context: Context, active: bool) -> Evidence | None:
    find = context.limits.get
    for name, value in history.record.items():
        limits = find(name)
        if limits is None or limits[0] <= value <= limits[1]:
            continue
        if value < limits[0]:
            return Evidence(name, value, context.bounds[name][0], "<", "below what is possible")
        if value > limits[1]:
            return Evidence(name, value, context.bounds[name][1], ">", "above what is possible")
    return None


def _obs_huge(history: History, context: Context, active: bool) -> Evidence | None:
    if history.series["obs/abs_max"].last <= _CLIPPED:
        return None
    scaled = context.setting("net.normalize_obs") == "running"
    return above("obs/abs_max", _CLIPPED if scaled else 100.0)(history, context, active)


def _still(history: History, context: Context, active: bool) -> Evidence | None:
    evidence = above("obs/constant_share", 0.9, 0.8)(history, context, active)
    if evidence is None or history.last("obs/abs_max") != 0.0:
        return evidence
    scaled = context.setting("net.normalize_obs") == "running"  # then any constant is 0
    return replace(evidence, note=f"every observation is 0{' once normalised' if scaled else ''}")


def _sees_numbers(context: Context) -> bool:
    spec = context.spec  # a bandit shows one constant category, and images have constant borders
    return spec is None or any(entry.kind == "vector" for entry in spec.obs.values())


def _no_reward(history: History, context: Context, active: bool) -> Evidence | None:
    smallest, largest = history.get("rollout/ep_rew_min"), history.get("rollout/ep_rew_max")
    if smallest is None or largest is None or is_finding(history, context):
        return None
    paid = history.get("rollout/ep_shaped_rew_mean")  # the reward that the agent saw counts
    lowest, highest = (smallest.low, largest.peak) if paid is None else (paid.low, paid.peak)
    if not highest == 0.0 == lowest:
        return None
    # Where episodes are long, there will never be a hundred: a quarter of the budget is enough.
    late = context.progress(history) >= 0.25
    episodes = history.last("rollout/episodes") or 0.0
    if episodes < (_FEW_EPISODES if late else _ENOUGH_EPISODES):
        return None
    metric = "rollout/ep_rew_max" if paid is None else "rollout/ep_shaped_rew_mean"
    return Evidence(metric, 0.0, 0.0, "=", f"no reward in {episodes:.0f} episodes")


def _same_return(history: History, context: Context, active: bool) -> Evidence | None:
    smallest, largest = history.get("rollout/ep_rew_min"), history.get("rollout/ep_rew_max")
    episodes = history.last("rollout/episodes") or 0.0
    if smallest is None or largest is None or episodes < _ENOUGH_EPISODES or _is_shaped(history):
        return None
    if is_finding(history, context):
        return None
    value = largest.peak
    if value == smallest.low and value != 0.0 and not is_confirmed(history, context):
        return Evidence("rollout/ep_rew_max", value, value, "=", f"as all {episodes:.0f} episodes so far")
    return None


def _is_shaped(history: History) -> bool:
    """Wrappers change the reward, so the agent may learn although the raw reward is constant."""
    return "rollout/ep_shaped_rew_mean" in history.series


def _first_ratio(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["train/first_ratio"].last
    return Evidence("train/first_ratio", value, 1.0, "≠") if abs(value - 1.0) > 1e-4 else None


def _bootstrap(history: History, context: Context, active: bool) -> Evidence | None:
    if not (history.last("rollout/truncated_share") or 0.0) > 0.0:
        return None
    return below("rollout/bootstrapped_share", 1.0 - _ROUNDING)(history, context, active)


_NO_SIGNAL = (
    "return_flat",
    "policy_frozen",
    "entropy_stuck",
    "advantage_dead",
    "grad_vanished",
    "value_scale",
)

ENVIRONMENT = (
    Rule(
        id="nonfinite",
        signal=1,
        severity="error",
        title="a number is NaN or infinite",
        needs=("env_steps",),
        check=_nonfinite,
        cause="the environment returned such a number, or the weights ran away: a learning rate far too high",
        remedy=all_of(scale("algo.learning_rate", 0.1), lower_to("algo.max_grad_norm", 0.5)),
        effect=Effect("train/loss", "stays finite"),
        explains=("out_of_bounds", "return_fell", "grad_jump", "kl_extreme", "kl_high"),
        persistence=1,
        warmup=0.0,
    ),
    Rule(
        id="out_of_bounds",
        signal=0,
        severity="error",
        title="a metric is outside of what is possible",
        needs=("env_steps",),
        check=_out_of_bounds,
        cause="the environment leaves its declared spaces, or what measures it is wrong",
        effect=Effect(None, "the metric returns to its bounds"),
        persistence=1,
        warmup=0.0,
    ),
    Rule(
        id="obs_huge",
        signal=2,
        title="the network sees huge numbers",
        needs=("obs/abs_max",),
        check=_obs_huge,
        cause="observations are not scaled: units of very different size, or raw pixels",
        remedy=set_to("net.normalize_obs", "running"),
        effect=Effect("obs/abs_max", "falls", below=10),
        explains=("ev_negative", "ev_zero", "return_flat", "dormant", "grad_jump", "entropy_collapse"),
        warmup=0.0,
    ),
    Rule(
        id="obs_constant",
        signal=2,
        severity="error",
        title="observations do not change",
        needs=("obs/constant_share",),
        check=_still,
        cause="a wrapper or the environment returns the same observation whatever happens",
        effect=Effect("obs/constant_share", "falls"),
        explains=(*NOTHING_MOVES, "action_stuck", "ev_zero", "advantage_biased", "eval_gap"),
        warmup=0.0,
        applies=_sees_numbers,
        standing=True,
    ),
    Rule(
        id="no_reward",
        signal=3,
        severity="error",
        title="no episode was ever rewarded",
        needs=("rollout/ep_rew_max", "rollout/ep_rew_min", "rollout/episodes"),
        check=_no_reward,
        cause="rewards are too rare for chance to find one, or a wrapper swallows them",
        remedy=scale("algo.ent_coef", 10.0, from_zero=0.01),
        effect=Effect("rollout/ep_rew_max", "rises", above=0),
        explains=("same_return", *_NO_SIGNAL, *POOR_VALUES, "entropy_collapse", "action_stuck"),
        persistence=10,
        patience=1,
        standing=True,
    ),
    Rule(
        id="same_return",
        signal=3,
        title="all episodes had the same return",
        needs=("rollout/ep_rew_max", "rollout/ep_rew_min", "rollout/episodes"),
        check=_same_return,
        cause="nothing the policy tried so far made a difference: the reward is too rare, or constant",
        remedy=scale("algo.ent_coef", 10.0, from_zero=0.01),
        effect=Effect("rollout/ep_rew_max", "moves away from rollout/ep_rew_min"),
        explains=(*_NO_SIGNAL, *POOR_VALUES, "equal_lengths"),
        persistence=20,
        patience=1,
        warmup=0.15,
        standing=True,
    ),
    Rule(
        id="bootstrap_missing",
        signal=24,
        severity="error",
        title="truncated episodes are learned from as if they had ended",
        needs=("rollout/bootstrapped_share", "rollout/truncated_share"),
        check=_bootstrap,
        cause="the environment's last observation is lost at a time limit (another autoreset mode)",
        effect=Effect("rollout/bootstrapped_share", "becomes 1"),
        explains=("ev_negative", "return_flat", "terminal_uncorrelated"),
        persistence=2,
        warmup=0.0,
    ),
    Rule(
        id="stale_ratio",
        signal=9,
        severity="error",
        title="the policy that learns is not the one that acted",
        needs=("train/first_ratio",),
        check=_first_ratio,
        cause="log-probabilities are stale, dropout is active, or the normaliser moved in between",
        remedy=set_to("net.dropout", 0.0),
        effect=Effect("train/first_ratio", "is exactly 1"),
        explains=("kl_high", "kl_extreme", "clip_high", "clip_extreme", "return_flat", "return_fell"),
        persistence=1,
        warmup=0.0,
    ),
)
