"""Do two groups of numbers differ? An exact test, which few numbers pass only where they are far apart.

Each number is the result of one seed. The test is that of Mann and Whitney: where the groups do not differ,
every way to deal the numbers out to the groups is equally likely, so the chance of a gap at least as clear
can be counted. Nothing is assumed of the numbers' distribution: some seeds solve a task and others fail,
which makes no bell curve. The interval holds those shifts of one group that the same test would not refuse.
Infinities stand for results beyond any number: a crash, or a threshold that was never reached.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, median

SURE = 0.05
"""A difference is claimed where chance alone would show one as clear less often than this."""
_POWER = 0.8
"""A number of seeds is enough where it shows a difference this often."""
_COUNTED = 40
"""Numbers up to which chances are counted; beyond, the normal distribution is as good."""
_MOST_SEEDS = 1000
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Difference:
    """The gap between a first and a second group."""

    counts: tuple[int, int]
    shift: float | None
    """Median of the gaps between each pair of numbers, second less first; None where it is not finite."""
    low: float | None
    high: float | None
    """Ends of the interval of the shift (95 %); None where so few numbers have none."""
    higher: float
    """Share of the pairs in which the second number is higher; equal ones count half."""
    chance: float
    """How often chance alone parts two groups of this size at least as clearly, if they do not differ."""

    @property
    def is_clear(self) -> bool:
        """True if the test refuses chance, and the interval agrees."""
        return self.chance <= SURE and (self.low is None or self.low > 0.0 or _is_below(self.high))

    @property
    def by_chance(self) -> str:
        """How often chance parts the groups as clearly, in words."""
        return (
            f"1 time in {round(1.0 / self.chance):,}"
            if self.chance <= 0.1
            else f"{self.chance:.0%} of the time"
        )

    def fewest(self, tests: int = 1) -> int | None:
        """Seeds per group that would show a gap as clear as this one, in four of five tries.

        `tests` such comparisons are made at once. None where more seeds than anybody trains would be needed.
        """
        lean = abs(self.higher - 0.5)
        sure, power = _NORMAL.inv_cdf(1.0 - SURE / tests / 2.0), _NORMAL.inv_cdf(_POWER)
        enough = (sure + power) ** 2 / (6.0 * lean * lean) if lean else math.inf  # Noether 1987
        parted = fewest_seeds(tests)
        if lean == 0.5:  # the groups do not overlap: as many as can show that
            return max(parted, *self.counts)
        return None if enough > _MOST_SEEDS else max(parted, math.ceil(enough), *(n + 1 for n in self.counts))


def _is_below(high: float | None) -> bool:
    return high is not None and high < 0.0


def compare_groups(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The gap between two groups of at least one number each; NaN is no number."""
    gaps = sorted(0.0 if after == before else after - before for before in first for after in second)
    n, m = len(first), len(second)
    middle = median(gaps)
    outside = _outside(n, m)
    low, high = (gaps[outside - 1], gaps[-outside]) if outside else (None, None)
    return Difference(
        counts=(n, m),
        shift=middle if math.isfinite(middle) else None,
        low=low,
        high=high,
        higher=sum(1.0 if gap > 0 else 0.5 if gap == 0 else 0.0 for gap in gaps) / (n * m),
        chance=_chance(first, second),
    )


def fewest_seeds(tests: int = 1) -> int:
    """Seeds per group below which no gap, however wide, passes the test."""
    count = 1
    while lowest_chance(count, count) > SURE / tests:
        count += 1
    return count


def lowest_chance(n: int, m: int) -> float:
    """How often chance parts two groups of this size completely, either way round."""
    return min(1.0, 2.0 / math.comb(n + m, n))


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the median that these values were drawn around; None below six values.

    Exact, whatever the distribution: each value lies above the median as often as below it.
    """
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 0.5**count
    while tail <= SURE / 2.0:
        outside += 1
        tail += math.comb(count, outside) * 0.5**count
    return (ordered[outside - 1], ordered[-outside]) if outside else None


def holm(chances: Sequence[float]) -> list[bool]:
    """Which of several tests refuse chance, if one in twenty families of such tests may err (Holm 1979)."""
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    refuse = [False] * len(chances)
    for rank, index in enumerate(order):
        if chances[index] > SURE / (len(chances) - rank):
            break
        refuse[index] = True
    return refuse


# ------------------------------------------------------------------------------------- counting


def _chance(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided; equal numbers share the mean of their ranks."""
    numbers = sorted((*first, *second))
    rank_of = _ranks(numbers)
    ranks = [rank_of[number] for number in numbers]
    n, total = len(first), len(numbers)
    off = abs(sum(rank_of[number] for number in first) - n * (total + 1))  # from the mean of twice the ranks
    if total <= _COUNTED:
        ways = _ways(tuple(ranks), n)
        clear = sum(count for drawn, count in ways.items() if abs(drawn - n * (total + 1)) >= off)
        return clear / math.comb(total, n)
    spread = math.fsum((rank - (total + 1)) ** 2 for rank in ranks) / total
    deviation = math.sqrt(n * len(second) * spread / (total - 1))
    return 1.0 if not deviation else min(1.0, 2.0 * _NORMAL.cdf(-max(0.0, off - 1.0) / deviation))


def _ranks(ordered: Sequence[float]) -> dict[float, int]:
    """Twice the rank of each number, so that those of equal numbers are whole."""
    last = {number: index for index, number in enumerate(ordered, start=1)}
    first = {number: index for index, number in reversed(list(enumerate(ordered, start=1)))}
    return {number: first[number] + last[number] for number in last}


@cache
def _ways(ranks: tuple[int, ...], n: int) -> dict[int, int]:
    """In how many ways n of the ranks add up to each sum."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(n))]
    for rank in ranks:
        for size in range(n, 0, -1):
            for drawn, count in ways[size - 1].items():
                ways[size][drawn + rank] = ways[size].get(drawn + rank, 0) + count
    return ways[n]


@cache
def _outside(n: int, m: int) -> int:
    """How many gaps between pairs lie beyond either end of the interval, its end included."""
    total, lowest = n + m, n * (n + 1)
    if total > _COUNTED:
        return math.floor(n * m / 2 + _NORMAL.inv_cdf(SURE / 2.0) * math.sqrt(n * m * (total + 1) / 12.0))
    ways, allowed = _ways(tuple(range(2, 2 * total + 1, 2)), n), SURE / 2.0 * math.comb(total, n)
    outside, tail = 0, ways[lowest]
    while tail <= allowed:
        outside += 1
        tail += ways[lowest + 2 * outside]
    return outside
