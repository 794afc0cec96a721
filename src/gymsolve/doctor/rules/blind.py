"""Rules that compare a policy with policies that see nothing: do nothing, act at random.

One of them is measured as a run ends (`training/evaluation/blind.py`). A policy is no better only
if its newest evaluation does not exceed it, and the best of all evaluations exceeds it by no more than chance
lifts the best of twenty. One that ever earned more than doing nothing always earns is better.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.rule import Check, Context, Evidence, Rule

_EVAL, _STD, _COUNT = "eval/mean_reward", "eval/std_reward", "eval/episodes"
_BEST = 2.8
"""Standard errors by which chance alone lifts the best of twenty evaluations in one of twenty runs."""
_ROUNDING = 1e-9
_TELLING = 20
"""Fewer episodes whose returns differ are no reference: of policies that are better by half a spread, five
episodes would call one in six no better."""
_WORDS = {"idle": "doing nothing", "random": "acting at random"}


class Sample(NamedTuple):
    """Returns of some episodes."""

    mean: float
    std: float
    episodes: float

    @property
    def square(self) -> float:
        """The squared standard error of the mean."""
        return self.std**2 / max(1.0, self.episodes - 1.0)


def _evaluation(history: History, index: int) -> Sample | None:
    """The evaluation of that number, as far as its spread is known."""
    series, spread, counts = (history.series[name] for name in (_EVAL, _STD, _COUNT))
    at, n = spread.index_at(series.steps[index]), counts.index_at(series.steps[index])
    if at is None or n is None or not math.isfinite(series.values[index]):
        return None
    return Sample(series.values[index], spread.values[at], counts.values[n])


def _limit(reference: Sample, sample: Sample, errors: float) -> float:
    """The return up to which a sample is no better than the reference."""
    rounding = _ROUNDING * abs(reference.mean)
    return reference.mean + errors * math.sqrt(reference.square + sample.square) + rounding


def blind_sample(record: Mapping[str, Any], name: str) -> Sample | None:
    """The returns of actions that do nothing (`idle`) or of `random` ones, if a record has enough of them."""
    values = [record.get(f"blind/{name}_{part}") for part in ("reward", "std", "episodes")]
    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    if len(known) < len(values):
        return None
    sample = Sample(*known)
    return sample if sample.std == 0.0 or sample.episodes >= _TELLING else None


def worthless_beside(records: Iterable[Mapping[str, Any]], mean: float, largest: float) -> str | None:
    """`doing nothing earns -200 over 5 episodes`, if a policy with these returns earns no more."""
    words = None
    for record in records:
        for name, doing in _WORDS.items():
            reference = blind_sample(record, name)
            if reference is not None:
                worse = not _exceeds(reference, mean, largest)
                words = _words(doing, reference) if worse else None
    return words


def _exceeds(reference: Sample, mean: float, largest: float) -> bool:
    """Does a policy earn more, on average or, where the reference always earns the same, ever?"""
    bar = _limit(reference, reference, 0.0)
    return mean > bar or (reference.std == 0.0 and largest > bar)


def _words(doing: str, reference: Sample) -> str:
    return f"{doing} earns {reference.mean:.4g} over {reference.episodes:.0f} episodes"


def _no_better_than(name: str) -> Check:
    def check(history: History, context: Context, active: bool) -> Evidence | None:
        reference = blind_sample(history.record, name)
        if reference is None:
            return None
        series = history.series[_EVAL]
        known = [index for index, value in enumerate(series.values) if math.isfinite(value)]
        if not known:
            return None
        best = _evaluation(history, max(known, key=lambda index: series.values[index]))
        newest = _evaluation(history, known[-1])
        if best is None or newest is None:
            return None
        if _exceeds(reference, newest.mean, _ever(history)) or best.mean > _limit(reference, best, _BEST):
            return None
        note, meaning = _words(_WORDS[name], reference), "mean return of the newest evaluation"
        return Evidence(_EVAL, newest.mean, _limit(reference, newest, 0.0), "≤", note, meaning=meaning)

    return check


def _ever(history: History) -> float:
    """The largest return of an episode in any evaluation."""
    series = history.get("eval/max_reward")
    return -math.inf if series is None else max(series.values)


_CAUSE = (
    "nothing was learned that pays: the budget is too small, rewards are too rare to be found, or costs of "
    "acting outweigh them"
)
_INSTEAD = (
    "mend the causes of other alerts first; else train longer (--steps), or help it to find rewards "
    "(explore.bonus, env.wrappers that shape them, imitate)"
)

BLIND = (
    Rule(
        id="no_better_than_nothing",
        signal=21,
        title="the policy is no better than doing nothing",
        needs=("blind/idle_reward", _EVAL, _STD, _COUNT),
        check=_no_better_than("idle"),
        cause=_CAUSE,
        instead=_INSTEAD,
        persistence=1,
        warmup=0.0,
    ),
    Rule(
        id="no_better_than_random",
        signal=21,
        title="the policy is no better than acting at random",
        needs=("blind/random_reward", _EVAL, _STD, _COUNT),
        check=_no_better_than("random"),
        cause=_CAUSE,
        instead=_INSTEAD,
        persistence=1,
        warmup=0.0,
    ),
)
