"""Does evaluation judge what is trained: are the returns alike, and what the network gets to see?"""

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
"""Newest rollouts whose first observations are what an evaluation's are compared with."""
_UNLIKE = 3.0
_WINDOW = 100
"""Episodes behind a training return, at most."""
_ENOUGH = 2.0
"""Weight of evaluations in a row that are a case together."""
_FAR = 0.5
"""Of the way to the threshold; before that, the likeliest action is often worse than a sampled one."""
_CATCHING_UP = 0.25
"""Of what was missing at first."""


class _Shortfall(NamedTuple):
    """One evaluation that lacks most of what training had gained by then."""

    evidence: Evidence
    missing: float
    weight: float


def _gap(history: History, context: Context, active: bool) -> Evidence | None:
    """Two evaluations in a row, or four while training is still near its start.

    The policy changes from one to the next, so it is not a bad update that all of them share. Their errors
    are not pooled: evaluations use the same seeds, and share what is hard about those. Near the start the
    likeliest action is often not yet a good one; then evaluation catches up meanwhile.
    """
    newest, weight = None, 0.0
    for index in range(len(history.series[_EVAL]) - 1, -1, -1):
        found = _shortfall(history, context, index, active)
        if found is None:
            return None
        newest, weight = newest or found.evidence, weight + found.weight
        if active or weight >= _ENOUGH:
            catching_up = newest.value - found.evidence.value >= _CATCHING_UP * found.missing
            return newest if active or found.weight == 1.0 or not catching_up else None
    return None


def _shortfall(history: History, context: Context, index: int, active: bool) -> _Shortfall | None:
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
    """Of the returns of training episodes; logs that lack it may have their ends."""
    if "rollout/ep_rew_std" in history.series:
        return _known(history, "rollout/ep_rew_std", step)
    return 0.25 * (_known(history, "rollout/ep_rew_max", step) - _known(history, "rollout/ep_rew_min", step))


def _eval_error(history: History, step: int, spread: float) -> float:
    """Of an evaluation's mean, as Welch's test takes it; without its spread, that of one training episode."""
    episodes = _known(history, "eval/episodes", step)
    if episodes < 2.0:
        return spread
    return _known(history, "eval/std_reward", step) / math.sqrt(episodes - 1.0)


def _known(history: History, metric: str, step: int, most: float = math.inf) -> float:
    """What was measured last by then; 0 when nothing was."""
    series = history.get(metric)
    index = None if series is None else series.index_at(step)
    return 0.0 if series is None or index is None else min(most, series.values[index])


def _note(context: Context, told: str) -> str:
    """With the wrappers that only one of the two has: usually one of them is the answer."""
    uneven = _one_sided(context)
    if context.config is not None and not uneven:
        told += ", no wrapper is in one of them only"
    for wrapper in uneven:
        where = "training" if "train" in wrapper.roles else "evaluation"
        told += f", only {where} has the wrapper {wrapper.name}"
    return told


def _one_sided(context: Context) -> list[WrapperConfig]:
    wrappers = () if context.config is None else context.config.env.wrappers
    return [one for one in wrappers if ("train" in one.roles) != ("eval" in one.roles)]


def _sample(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """Tells the two causes apart, unless there is a wrapper to look at first."""
    return [] if _one_sided(context) else set_to("eval.deterministic", False)(context, evidence)


def _sight(history: History, context: Context, active: bool) -> Evidence | None:
    """How an episode begins is not the policy's doing: in training and evaluation it must look alike."""
    before, shown = history.series[_FIRST].tail(_BEGINNINGS), history.series[_EVAL_FIRST].last
    if len(before) < 3 or not (usual := statistics.median(before)) > 0.0:
        return None
    factor = 2.0 if active else _UNLIKE
    seen = _note(context, f"the {usual:.3g} that training sees as its episodes begin")
    if shown > factor * usual:
        return Evidence(_EVAL_FIRST, shown, _UNLIKE * usual, ">", f"{_UNLIKE:g} times {seen}")
    if shown < usual / factor:
        return Evidence(_EVAL_FIRST, shown, usual / _UNLIKE, "<", f"1/{_UNLIKE:g} of {seen}")
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
        severity="warn",
        title="evaluation is far worse than training",
        needs=(_EVAL, _RETURN),
        check=_gap,
        cause="evaluation does not see what training sees (another wrapper, a normaliser that lost its "
        "statistics or is not frozen), or the likeliest action alone is not a good policy",
        remedy=_sample,
        effect=Effect(
            "eval/mean_reward", "comes near rollout/ep_rew_mean; if not, evaluation sees other observations"
        ),
        persistence=1,
        patience=2,
    ),
)
