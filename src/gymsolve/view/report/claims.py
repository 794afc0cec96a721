"""Whether runs with other settings really differ: one claim for every pair of groups of seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from gymsolve.answers import Answer
from gymsolve.difference import SURE, Difference, compare_groups, fewest_seeds, holm, lowest_chance
from gymsolve.settings.changes import INCIDENTAL, JUDGED
from gymsolve.text import number, plural
from gymsolve.view.report.comparison import Contender, differences

Measure = Literal["return", "share of successes", "steps to solve"]
_VERBS = {
    "return": "return more than",
    "share of successes": "succeed more often than",
    "steps to solve": "are solved sooner than",
}
_MOST_GROUPS = 8
_SHOWN_LETTERS = 6


@dataclass(frozen=True)
class Claim(Answer):
    """Two groups of seeds, and whether their results differ by more than chance."""

    first: tuple[str, ...]
    """Letters of the runs of one group."""
    second: tuple[str, ...]
    measure: Measure
    """The result that decides: of the last evaluations, or the steps to solve where every run is solved."""
    difference: float | None
    """Median of the gaps between the runs of both groups, second less first; null where it is not finite."""
    low: float | None
    high: float | None
    """Ends of its 95 % interval; null where there are too few seeds for one."""
    higher: float
    """Share of the pairs of runs in which the one of the second group has the higher number."""
    chance: float
    """How often chance alone would part the groups as clearly, if they did not differ (exact test)."""
    can_be_claimed: bool
    """False where so few seeds cannot show a difference, however wide."""
    claimed: bool
    """True if a difference can be claimed, all pairs of groups considered."""
    seeds_needed: int | None
    """Seeds of each group that would show a gap like this; null where that is more than anybody trains."""
    text: str
    """The claim in words."""


def group_by_settings(contenders: Sequence[Contender]) -> list[list[Contender]]:
    """Runs that differ in nothing that changes results but the seed, each seed once and in order."""
    ignored = (*INCIDENTAL, "seed")
    groups: dict[str, dict[int, Contender]] = {}
    for run in contenders:
        alike = {path: value for path, value in run.settings.items() if not path.startswith(ignored)}
        same = groups.setdefault(repr(sorted(alike.items())), {})
        same.setdefault(run.settings["seed"], run)  # a repeated seed tells nothing new
    return [[group[seed] for seed in sorted(group)] for group in groups.values()]


def claim_differences(contenders: Sequence[Contender]) -> list[Claim]:
    """A claim for every two configurations that were trained to an end, in the order of the runs."""
    groups = configurations(contenders)
    if not 2 <= len(groups) <= _MOST_GROUPS or len({run.env_id for group in groups for run in group}) > 1:
        return []
    measure = _measure([run for group in groups for run in group])
    results = [[_result(run, measure) for run in group] for group in groups]
    pairs = list(combinations(range(len(groups)), 2))
    gaps = [compare_groups(results[first], results[second]) for first, second in pairs]
    refused = holm([gap.chance for gap in gaps])
    return [
        _claim((groups[first], groups[second]), measure, gap, clear and gap.is_clear, len(pairs))
        for (first, second), gap, clear in zip(pairs, gaps, refused, strict=True)
    ]


def conclude(contenders: Sequence[Contender], claims: Sequence[Claim]) -> list[str]:
    """The claims in words; pairs with too few seeds for any claim share a sentence."""
    groups = configurations(contenders)
    if len(groups) > _MOST_GROUPS:
        return [f"{len(groups)} configurations are too many for claims: compare {_MOST_GROUPS} at most."]
    able = [claim for claim in claims if claim.can_be_claimed]
    unable = [claim for claim in claims if not claim.can_be_claimed]
    if len(unable) < 2:
        return [claim.text for claim in claims]
    few = list(dict.fromkeys(", ".join(side) for claim in unable for side in (claim.first, claim.second)))
    seeds = fewest_seeds(len(claims))
    shared = f"No difference can be claimed between {'; '.join(few)}: train at least {seeds} seeds of each."
    return [*(claim.text for claim in able), shared]


def configurations(contenders: Sequence[Contender]) -> list[list[Contender]]:
    """Runs that have ended with an evaluation, by what changes results besides the seed."""
    ended = [run for run in contenders if run.judged and run.status != "running"]
    return group_by_settings(ended)


def _measure(runs: Sequence[Contender]) -> Measure:
    """Solved runs stop as soon as they are, so that their last returns are alike: their steps tell."""
    if all(run.solved_after is not None for run in runs):
        return "steps to solve"
    by_success = all(run.success_threshold is not None for run in runs)
    return "share of successes" if by_success else "return"


def _result(run: Contender, measure: Measure) -> float:
    if measure == "steps to solve":
        assert run.solved_after is not None
        return float(run.solved_after)
    value = run.judged[-1].get("eval/success_rate" if measure == "share of successes" else "eval/mean_reward")
    return -math.inf if value is None else float(value)


def _claim(
    groups: tuple[Sequence[Contender], Sequence[Contender]],
    measure: Measure,
    gap: Difference,
    claimed: bool,
    tests: int,
) -> Claim:
    needed = gap.fewest(tests)
    judged = [path for path in differences([*groups[0], *groups[1]]) if path.startswith(JUDGED)]
    return Claim(
        first=tuple(run.letter for run in groups[0]),
        second=tuple(run.letter for run in groups[1]),
        measure=measure,
        difference=gap.shift,
        low=gap.low,
        high=gap.high,
        higher=gap.higher,
        chance=gap.chance,
        can_be_claimed=lowest_chance(*gap.counts) * tests <= SURE,
        claimed=claimed,
        seeds_needed=needed,
        text=_sentence(groups, measure, gap, claimed, needed, tests) + _caveat(judged),
    )


def _sentence(
    groups: tuple[Sequence[Contender], Sequence[Contender]],
    measure: Measure,
    gap: Difference,
    claimed: bool,
    needed: int | None,
    tests: int,
) -> str:
    first, second = (_name(group) for group in groups)
    more, less, share = (second, first, gap.higher) if gap.higher >= 0.5 else (first, second, 1 - gap.higher)
    if measure == "steps to solve":
        more, less = less, more  # fewer steps are better
    better = f"{more} {_VERBS[measure]} {less}"
    pairs = f"in {share:.0%} of the pairs of runs"
    if claimed:
        return (
            f"{better}: by {_amount(gap, measure)}, {pairs}. Chance alone would part them so {gap.by_chance}."
        )
    none = f"{first} and {second}: no difference can be claimed."
    if lowest_chance(*gap.counts) * tests > SURE:
        counts = f"{gap.counts[0]} against {plural(gap.counts[1], 'seed')}"
        return f"{none} {counts} cannot show one, however wide: train at least {fewest_seeds(tests)} of each."
    lean = "Neither is better in more pairs of runs" if gap.higher == 0.5 else f"{better} {pairs}"
    part = f"{none} {lean}; chance alone parts them so {gap.by_chance}."
    if needed is None:
        return f"{part} A gap this small would need more seeds than anybody trains."
    return f"{part} If the gap is what it seems, some {needed} seeds of each would show it."


def _name(group: Sequence[Contender]) -> str:
    letters = [run.letter for run in group]
    if len(letters) > _SHOWN_LETTERS:
        return f"{letters[0]} to {letters[-1]} ({len(letters)} runs)"
    return ", ".join(letters)


def _amount(gap: Difference, measure: Measure) -> str:
    if gap.shift is None or gap.low is None or gap.high is None:
        return "more than any number"
    unit = {"return": "", "share of successes": " of all episodes", "steps to solve": " steps"}[measure]
    low, high = sorted((abs(gap.low), abs(gap.high)))
    show = (lambda value: f"{value:.0%}") if measure == "share of successes" else number
    return f"{show(abs(gap.shift))}{unit} (95 % interval {show(low)} to {show(high)})"


def _caveat(judged: Sequence[str]) -> str:
    if not judged:
        return ""
    return f" They are evaluated differently ({', '.join(judged)}), which may be the whole difference."
