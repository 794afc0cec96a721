"""Rules that compare evaluation with training: their returns, and the observations of the network."""

import math
import statistics
from typing import NamedTuple

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.remedies import set_to
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, ProposedChange, Rule
from gymsolve.settings.config import WrapperConfig

_RETURN = "rollout/ep_rew_mean"
_EVAL = "eval/mean_reward"
_FIRST, _EVAL_FIRST = "obs/first_size", "eval/first_obs_size"
_BEGINNINGS = 20
"""First observations of an evaluation are compared with those of so many newest rollouts."""
_UNLIKE = 3.0
_WINDOW = 100
"""Episodes behind a training return, at most."""
_ENOUGH = 2.0
"""Evaluations in a row with this weight together are a case."""
_FAR = 0.5
"""Before this share of the way to the threshold, sampled actions are often better than the likeliest."""
_CATCHING_UP = 0.25
"""An evaluation that has gained this share of the first gap is catching up."""


class _Shortfall(NamedTuple):
    """One evaluation that lacks most of what training had gained by then."""

    evidence: Evidence
    missing: float
    weight: float


def _gap(history: History, context: Context, active: bool) -> Evidence | None:
    """Two evaluations in a row fall short, or four while training is still near its start.

    The policy changes between evaluations, so a single bad update cannot be the reason. Their errors are not
    pooled, because all evaluations play the same seeds. Near the start the likeliest action is often not a
    good one yet; evaluation then catches up.
    """
    newest, weight = None, 0.0
    for index in range(len(history.series[_EVAL]) - 1, -1, -1):
        shortfall = _shortfall(history, context, index, active)
        if shortfall is None:
            return None
        newest, weight = newest or shortfall.evidence, weight + shortfall.weight
        if active or weight >= _ENOUGH:
            catching_up = newest.value - shortfall.evidence.value >= _CATCHING_UP * shortfall.missing
            return newest if active or shortfall.weight == 1.0 or not catching_up else None
    return None


def _shortfall(history: History, context: Context, index: int, active: bool) -> _Shortfall | None:
    if not context.compares_returns:
        return None
    judged, trained = history.series[_EVAL], history.series[_RETURN]
    step, reward = judged.steps[index], judged.values[index]
    then, goal = trained.index_at(step), context.threshold
    if then is None or (goal is not None and reward >= goal):
        return None
    now, start = trained.values[then], trained.low_at(then)
    spread = _spread(history, step)
    error = spread / math.sqrt(max(1.0, _known(history, "rollout/episodes", step, most=_WINDOW) - 1.0))
    gained, missing = now - start, now - reward
    if not gained > 4.0 * error or not missing > (0.35 if active else 0.5) * gained:
        return None
    if not missing > (2.0 if active else 3.0) * math.hypot(error, _eval_error(history, step, spread)):
        return None
    far = goal is not None and gained >= _FAR * (goal - start)
    bar = now - 0.5 * gained
    return _Shortfall(
        Evidence(_EVAL, reward, bar, "<", _note(context, f"training has {now:.4g}")),
        missing,
        1.0 if far else 0.5,
    )


def _spread(history: History, step: int) -> float:
    """The spread of training returns, estimated from their extremes where a log lacks it."""
    if "rollout/ep_rew_std" in history.series:
        return _known(history, "rollout/ep_rew_std", step)
    return 0.25 * (_known(history, "rollout/ep_rew_max", step) - _known(history, "rollout/ep_rew_min", step))


def _eval_error(history: History, step: int, spread: float) -> float:
    """The standard error of an evaluation's mean; without its spread, that of one training episode."""
    episodes = _known(history, "eval/episodes", step)
    if episodes < 2.0:
        return spread
    return _known(history, "eval/std_reward", step) / math.sqrt(episodes - 1.0)


def _known(history: History, metric: str, step: int, most: float = math.inf) -> float:
    """The last value of a metric up to a step; 0 without one."""
    series = history.get(metric)
    index = None if series is None else series.index_at(step)
    return 0.0 if series is None or index is None else min(most, series.values[index])


def _note(context: Context, text: str) -> str:
    """The text and the wrappers that only training or evaluation has: one of them is often the cause."""
    uneven = _one_sided(context)
    if context.config is not None and not uneven:
        text += ", no wrapper is in one of them only"
    for wrapper in uneven:
        where = "training" if "train" in wrapper.roles else "evaluation"
        text += f", only {where} has the wrapper {wrapper.name}"
    return text


def _one_sided(context: Context) -> list[WrapperConfig]:
    wrappers = () if context.config is None else context.config.env.wrappers
    return [wrapper for wrapper in wrappers if ("train" in wrapper.roles) != ("eval" in wrapper.roles)]


def _sample(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Sampled actions in evaluation tell the two causes apart, unless a wrapper is suspect.

    Action values have no other policy than their best actions: random ones among them are not worth judging.
    """
    if _one_sided(context) or context.values_actions:
        return []
    return set_to("eval.deterministic", False)(context, evidence)


def _train_on(context: Context) -> str:
    if not context.values_actions or _one_sided(context):
        return ""
    return (
        "random actions (algo.epsilon) may earn what the best ones do not earn yet: train longer, and let "
        "algo.epsilon fall sooner to see in training what evaluation sees"
    )


def _sight(history: History, context: Context, active: bool) -> Evidence | None:
    """The policy does not decide how an episode begins, so training and evaluation must look alike there."""
    before, size = history.series[_FIRST].tail(_BEGINNINGS), history.series[_EVAL_FIRST].last
    if len(before) < 3 or not (usual := statistics.median(before)) > 0.0:
        return None
    factor = 2.0 if active else _UNLIKE
    seen = _note(context, f"the {usual:.3g} that training sees as its episodes begin")
    if size > factor * usual:
        return Evidence(_EVAL_FIRST, size, _UNLIKE * usual, ">", f"{_UNLIKE:g} times {seen}")
    if size < usual / factor:
        return Evidence(_EVAL_FIRST, size, usual / _UNLIKE, "<", f"1/{_UNLIKE:g} of {seen}")
    return None


EVALUATION = (
    Rule(
        id="eval_sight",
        signal=22,
        severity="error",
        title="evaluation shows the network other numbers than training does",
        needs=(_EVAL_FIRST, _FIRST),
        check=_sight,
        cause="the normaliser's statistics are lost, or updated, in evaluation; or a wrapper scales "
        "observations in one of the two only",
        effect=Effect("eval/first_obs_size", "comes near obs/first_size"),
        explains=("eval_gap",),
        persistence=2,
        patience=2,
        standing=True,
    ),
    Rule(
        id="eval_gap",
        signal=22,
        title="evaluation is far worse than training",
        needs=(_EVAL, _RETURN),
        check=_gap,
        cause="evaluation does not see what training sees (another wrapper, a normaliser that lost its "
        "statistics or is not frozen), or the likeliest action alone is not a good policy",
        remedy=_sample,
        instead=_train_on,
        effect=Effect(
            "eval/mean_reward", "comes near rollout/ep_rew_mean; if not, evaluation sees other observations"
        ),
        persistence=1,
        patience=2,
    ),
)
