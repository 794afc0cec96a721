"""Does what training gains show in evaluation? Usually that is the better of the two."""

import math
from typing import NamedTuple

from gymsolve.metrics.history import History
from gymsolve.metrics.rules.rule import Context, Evidence, Rule, set_to

__all__ = ["EVALUATION"]

_RETURN = "rollout/ep_rew_mean"
_EVAL = "eval/mean_reward"
_WINDOW = 100
"""Episodes behind a training return, at most."""
_ENOUGH = 2.0
"""Weight of evaluations in a row that are a case together."""
_FAR = 1.0 / 3.0
"""Of the way to the threshold: what training gained by then is no chance, whatever the likeliest action does."""


class _Shortfall(NamedTuple):
    """One evaluation that lacks most of what training had gained by then."""

    evidence: Evidence
    weight: float


def _gap(history: History, context: Context, active: bool) -> Evidence | None:
    """Two evaluations in a row, or four while training is still near its start.

    The policy changes from one to the next, so it is not a bad update that all of them share. Their errors
    are not pooled: evaluations use the same seeds, and share what is hard about those.
    """
    newest, weight = None, 0.0
    for index in range(len(history.series[_EVAL]) - 1, -1, -1):
        found = _shortfall(history, context, index, active)
        if found is None:
            return None
        newest, weight = newest or found.evidence, weight + found.weight
        if active or weight >= _ENOUGH:
            return newest
    return None


def _shortfall(history: History, context: Context, index: int, active: bool) -> _Shortfall | None:
    judged, trained = history.series[_EVAL], history.series[_RETURN]
    step, reward = judged.steps[index], judged.values[index]
    then, goal = trained.index_at(step), context.threshold
    if then is None or (goal is not None and reward >= goal):
        return None
    now, start = trained.values[then], trained.lows[then]
    spread = _spread(history, step)
    error = spread / math.sqrt(max(1.0, _known(history, "rollout/episodes", step, most=_WINDOW) - 1.0))
    gained, missing = now - start, now - reward
    if not gained > 4.0 * error or not missing > (0.35 if active else 0.5) * gained:
        return None
    if not missing > (2.0 if active else 3.0) * math.hypot(error, _eval_error(history, step, spread)):
        return None
    far = goal is not None and gained >= _FAR * (goal - start)
    bar = now - 0.5 * gained
    return _Shortfall(Evidence(_EVAL, reward, bar, "<", _note(context, now)), 1.0 if far else 0.5)


def _spread(history: History, step: int) -> float:
    """Of the returns of training episodes; logs that lack it may have their ends."""
    if "rollout/ep_rew_std" in history.series:
        return _known(history, "rollout/ep_rew_std", step)
    return 0.25 * (_known(history, "rollout/ep_rew_max", step) - _known(history, "rollout/ep_rew_min", step))


def _eval_error(history: History, step: int, spread: float) -> float:
    """Of an evaluation's mean, as Welch's test takes it; episodes that are not told count as one of training."""
    episodes = _known(history, "eval/episodes", step)
    if episodes < 2.0:
        return spread
    return _known(history, "eval/std_reward", step) / math.sqrt(episodes - 1.0)


def _known(history: History, metric: str, step: int, most: float = math.inf) -> float:
    """What was measured last by then; 0 when nothing was."""
    series = history.get(metric)
    index = None if series is None else series.index_at(step)
    return 0.0 if series is None or index is None else min(most, series.values[index])


def _note(context: Context, trained: float) -> str:
    """With the wrappers that only one of the two has: usually one of them is the answer."""
    wrappers = () if context.config is None else context.config.env.wrappers
    told = [f"training has {trained:.4g}"]
    for wrapper in wrappers:
        if ("train" in wrapper.roles) != ("eval" in wrapper.roles):
            where = "training" if "train" in wrapper.roles else "evaluation"
            told.append(f"only {where} has the wrapper {wrapper.name}")
    return ", ".join(told)


EVALUATION = (
    Rule(
        id="eval_gap",
        signal=22,
        severity="warn",
        title="evaluation is far worse than training",
        needs=(_EVAL, _RETURN),
        check=_gap,
        cause="evaluation does not see what training sees (another wrapper, a normaliser whose statistics are "
        "lost or not frozen), or the likeliest action alone is not a good policy",
        remedy=set_to("eval.deterministic", False),
        effect="eval/mean_reward comes near rollout/ep_rew_mean; if not, evaluation sees other observations",
        persistence=1,
        patience=2,
    ),
)
