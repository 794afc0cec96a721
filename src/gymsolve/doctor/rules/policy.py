"""Rules about updates that move the policy too far, or not at all."""

import math

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_decided, is_flat
from gymsolve.doctor.rules.remedies import all_of, lower_to, raise_to, scale
from gymsolve.doctor.rules.rule import POOR_VALUES, Context, Effect, Evidence, Rule, above

_USUAL_KL = 0.01


def _toward_usual(evidence: Evidence) -> float:
    """The KL grows with the square of the learning rate, as long as steps are small."""
    if evidence.value <= 0.0:
        return 100.0
    return float(f"{min(1000.0, max(0.01, math.sqrt(_USUAL_KL / evidence.value))):.1g}")


def _in_full(history: History, metric: str) -> tuple[float, str]:
    """A metric at the last record with at least half of the peak learning rate, and a name for that value.

    A schedule that ends near 0 stops the policy on purpose, so the rules judge it at a full rate.
    """
    series, rates = history.series[metric], history.get("hyper/learning_rate")
    if rates is None or not rates.last < 0.5 * rates.peak:
        return series.last, ""
    newest_first = zip(reversed(rates.steps), reversed(rates.values), strict=True)
    then = series.index_at(next((step for step, rate in newest_first if rate >= 0.5 * rates.peak), 0))
    if then is None:
        return series.last, ""
    return series.values[then], f"{metric} while the learning rate was above half of its peak"


_SMALLER_STEPS = all_of(
    scale("algo.learning_rate", 0.3), scale("algo.num_epochs", 0.5), lower_to("algo.target_kl", 0.02)
)
_LARGER_STEPS = scale("algo.learning_rate", 3.0)
_HEAVY_BONUS = 0.1
_OPEN = 0.005


def _frozen(history: History, context: Context, active: bool) -> Evidence | None:
    if (history.last("hyper/ent_coef") or 0.0) >= _HEAVY_BONUS:
        return None  # then the bonus keeps it uniform
    if is_decided(history, context):
        return None  # a policy without entropy cannot move, which is another finding
    limit = 1e-4 if _clips(context) else 1e-6  # one gradient step moves less than twenty
    bar = 3 * limit if active else limit
    if history.series["train/approx_kl"].last >= bar or not is_flat(history, context, 0.1):
        return None
    value, what = _in_full(history, "train/approx_kl")
    if not value < bar:
        return None
    since = _below_since(history, "train/approx_kl", bar)
    flat = "while the return is flat"
    return Evidence("train/approx_kl", value, limit, "<", flat, meaning=what, since=since)


def _below_since(history: History, metric: str, bar: float) -> int:
    """The step since which a metric has been below a bar; a flat return is recognised only later."""
    series = history.series[metric]
    last = next((i for i in range(len(series) - 1, -1, -1) if not series.values[i] < bar), -1)
    return series.steps[min(last + 1, len(series) - 1)]


def _unclipped(history: History, context: Context, active: bool) -> Evidence | None:
    bar, kl = 0.02 if active else 0.01, history.last("train/approx_kl")
    if history.series["train/clip_fraction"].last >= bar or (kl is not None and kl > 1e-3):
        return None
    if is_decided(history, context) or not is_flat(history, context, 0.2):
        return None
    value, what = _in_full(history, "train/clip_fraction")
    if not value < bar or (kl is not None and _in_full(history, "train/approx_kl")[0] > 1e-3):
        return None
    return Evidence("train/clip_fraction", value, 0.01, "<", "while the return is flat", meaning=what)


def _closed(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["hyper/clip_coef"].last
    if value >= _OPEN or context.progress(history) > 0.9:  # schedules may end at 0
        return None
    return Evidence("hyper/clip_coef", value, _OPEN, "<", "long before the budget ends")


def _clips(context: Context) -> bool:
    return context.config is None or context.config.algo.name == "ppo"


_THROWN = ("kl_extreme", "grad_jump", "step_jump", "dead_network", "grad_vanished")
_STRANDED = ("entropy_collapse", "policy_frozen", "clip_unused", "action_stuck")
_TOO_FAR = ("clip_high", "clip_extreme", "entropy_collapse", "return_fell", "ev_oscillates", "churn_jump")

POLICY = (
    Rule(
        id="clip_closed",
        signal=8,
        severity="error",
        title="clip_coef leaves no room to learn",
        needs=("hyper/clip_coef",),
        check=_closed,
        cause="clip_coef is 0, or its schedule ends too early",
        remedy=raise_to("algo.clip_coef", 0.2),
        effect=Effect("train/clip_fraction", "falls", below=0.3),
        explains=("clip_extreme", "clip_high", "policy_frozen", "entropy_stuck", "return_flat", "churn_dead"),
        warmup=0.0,
        applies=_clips,
    ),
    Rule(
        id="kl_shock",
        signal=7,
        severity="error",
        title="one update threw the policy somewhere else",
        needs=("train/approx_kl",),
        check=above("train/approx_kl", 2.0),
        cause="the learning rate is far too high: a single update undid or decided everything",
        remedy=all_of(scale("algo.learning_rate", _toward_usual), lower_to("algo.target_kl", 0.02)),
        effect=Effect("train/approx_kl", "stays", below=0.02),
        explains=(*_THROWN, *_STRANDED, *POOR_VALUES, "initial_policy"),
        persistence=1,
        warmup=0.0,
    ),
    Rule(
        id="kl_extreme",
        signal=7,
        severity="error",
        title="the policy jumps in every update",
        needs=("train/approx_kl",),
        check=above("train/approx_kl", 0.1, 0.07),
        cause="the learning rate is far too high for this many passes over a rollout",
        remedy=all_of(
            scale("algo.learning_rate", _toward_usual),
            scale("algo.num_epochs", 0.5),
            lower_to("algo.target_kl", 0.02),
        ),
        effect=Effect("train/approx_kl", "falls", below=0.02),
        explains=("kl_high", *_TOO_FAR, "dormant", "rank_collapse", "return_flat", "step_jump", "grad_jump"),
    ),
    Rule(
        id="kl_high",
        signal=7,
        title="the policy moves too far in an update",
        needs=("train/approx_kl",),
        check=above("train/approx_kl", 0.05, 0.03),
        cause="the learning rate is too high, or there are too many passes over a rollout",
        remedy=_SMALLER_STEPS,
        effect=Effect("train/approx_kl", "falls", below=0.02),
        explains=_TOO_FAR,
    ),
    Rule(
        id="clip_extreme",
        signal=8,
        severity="error",
        title="most of what is learned is clipped away",
        needs=("train/clip_fraction",),
        check=above("train/clip_fraction", 0.6, 0.5),
        cause="steps are far too large for clip_coef",
        remedy=_SMALLER_STEPS,
        effect=Effect("train/clip_fraction", "falls", below=0.3),
        explains=("clip_high", "return_fell", "entropy_collapse", "return_flat"),
        applies=_clips,
    ),
    Rule(
        id="clip_high",
        signal=8,
        title="much of what is learned is clipped away",
        needs=("train/clip_fraction",),
        check=above("train/clip_fraction", 0.4, 0.3),
        cause="steps are too large for clip_coef",
        remedy=_SMALLER_STEPS,
        effect=Effect("train/clip_fraction", "falls", below=0.3),
        explains=("return_fell",),
        applies=_clips,
    ),
    Rule(
        id="policy_frozen",
        signal=7,
        title="the policy does not move",
        needs=("train/approx_kl", "rollout/ep_rew_mean"),
        check=_frozen,
        cause="the learning rate is too low, or no gradient reaches the policy",
        remedy=scale("algo.learning_rate", _toward_usual),
        effect=Effect("train/approx_kl", "rises", above=0.001),
        explains=("return_flat", "entropy_stuck", "clip_unused", "churn_dead", "ev_zero", "advantage_biased"),
    ),
    Rule(
        id="clip_unused",
        signal=8,
        title="no step ever comes near clip_coef",
        needs=("train/clip_fraction", "rollout/ep_rew_mean"),
        check=_unclipped,
        cause="the learning rate is too low, or there are too few passes over a rollout",
        remedy=all_of(_LARGER_STEPS, scale("algo.num_epochs", 2.0)),
        effect=Effect("train/clip_fraction", "rises", above=0.05),
        explains=("return_flat",),
        applies=_clips,
    ),
)
