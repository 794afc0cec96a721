"""Runs that differ in the seed alone: interquartile means whose answers are known, and lucky seeds."""

import pytest
from report_runs import store
from stories import make_config, story

from gymsolve.metrics.report.compare_page import render_comparison
from gymsolve.metrics.report.comparison import contend
from gymsolve.metrics.report.seeds import interquartile_mean, seed_interval, spread_over_seeds


def train_seeds(folder, finals, **settings):
    """Runs of one configuration whose evaluations are constant, one seed each."""
    return [
        store(
            folder,
            story({"eval/mean_reward": final}, count=10),
            config=make_config(seed=seed, solved_at=150.0, **settings),
        )
        for seed, final in enumerate(finals)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5, 8, 4, 38, 8, 6, 9, 7, 7, 3, 1, 6], 6.5),  # 5 to 8 are the middle six
        ([1, 3, 5, 7, 9, 11, 13, 15, 17], 9.0),
        ([1, 2, 3, 100], 2.5),
        ([0, 10, 40], (0.25 * 0 + 10 + 0.25 * 40) / 1.5),  # the quarters cut through both ends
        ([7], 7.0),
    ],
)
def test_the_interquartile_mean_is_that_of_the_middle_half(values, expected):
    assert interquartile_mean(values) == pytest.approx(expected)


def test_the_interval_holds_the_mean_and_is_the_same_every_time():
    values = [10.0, 11.0, 12.0, 13.0, 50.0]
    low, high = seed_interval(values)
    assert min(values) <= low < interquartile_mean(values) < high <= max(values)
    assert seed_interval(values) == (low, high)
    assert seed_interval([4.0, 4.0, 4.0]) == (4.0, 4.0)


def test_a_lucky_seed_is_called_that(tmp_path):
    lucky, even = train_seeds(tmp_path, [100, 104, 102, 190]), train_seeds(tmp_path, [100, 104, 102, 106])
    (found,) = spread_over_seeds(contend(lucky))
    assert (found.iqm, found.best, found.lucky) == (103.0, 190.0, True)
    assert "A, B, C, D differ in the seed alone: the interquartile mean" in found.remark()
    assert "The best seed, 190, is far above the others" in found.remark()
    (found,) = spread_over_seeds(contend(even))
    assert (found.iqm, found.lucky) == (103.0, False)
    assert "luck" not in found.remark()


def test_configurations_are_told_apart_and_repeated_seeds_count_once(tmp_path):
    first, second = train_seeds(tmp_path, [1, 2, 3]), train_seeds(tmp_path, [4, 5, 6], algo={"gamma": 0.5})
    again = train_seeds(tmp_path, [9])  # seed 0 once more
    found = spread_over_seeds(contend([*first, *second, *again]))
    assert [(one.letters, one.seeds, one.iqm) for one in found] == [
        (("A", "B", "C"), (0, 1, 2), pytest.approx(2.0)),
        (("D", "E", "F"), (0, 1, 2), pytest.approx(5.0)),
    ]


def test_two_seeds_are_too_few_and_a_page_tells_of_three(tmp_path):
    three = train_seeds(tmp_path, [1, 2, 3])
    assert spread_over_seeds(contend(three[:2])) == []
    assert "differ in the seed alone" in render_comparison(contend(three), "env_steps")
    assert "differ in the seed alone" not in render_comparison(contend(three[:2]), "env_steps")
