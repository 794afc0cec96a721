"""Runs that differ in the seed alone: interquartile means whose answers are known, and lucky seeds."""

import pytest
from report_runs import store
from stories import make_config, story

from gymsolve.view.report.comparison import contend
from gymsolve.view.report.comparison_page import render_comparison
from gymsolve.view.report.seeds import interquartile_mean, seed_curves, seed_interval, spread_over_seeds
from gymsolve.view.report.textchart import plot


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
    assert "A, B, C, D differ in the seed alone: the interquartile mean" in found.sentence()
    assert "The best seed, 190, is far above the others" in found.sentence()
    (found,) = spread_over_seeds(contend(even))
    assert (found.iqm, found.lucky) == (103.0, False)
    assert "luck" not in found.sentence()


def test_seeds_come_in_their_order_whichever_began_first(tmp_path):
    one, two, three = train_seeds(tmp_path, [1, 2, 9])
    orders = [spread_over_seeds(contend(runs))[0] for runs in ([one, two, three], [one, three, two])]
    assert [found.seeds for found in orders] == [(0, 1, 2)] * 2
    assert [found.letters for found in orders] == [("A", "B", "C"), ("A", "C", "B")]
    assert (orders[0].low, orders[0].high) == (orders[1].low, orders[1].high)


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


def test_settings_that_change_no_result_do_not_part_seeds(tmp_path):
    runs = [
        *train_seeds(tmp_path, [1, 2]),
        *(
            store(
                tmp_path,
                story({"eval/mean_reward": 3.0}, count=10),
                config=make_config(seed=seed, solved_at=150.0, track=["csv"], video={"every": 5}, threads=2),
            )
            for seed in (2, 3)
        ),
    ]
    (found,) = spread_over_seeds(contend(runs))
    assert found.seeds == (0, 1, 2, 3)
    assert found.incidental == ("video.every", "threads", "track")
    assert (
        "in nothing that changes results but the seed (also in video.every, threads, track)"
        in found.sentence()
    )
    page = render_comparison(contend(runs), "env_steps")
    assert "Without effect on results, they also differ in" in page


def test_a_seed_that_crashed_is_named_and_counts(tmp_path):
    runs = [*train_seeds(tmp_path, [1, 2, 3])]
    runs[1].set_status("crashed", reason="the disk is full")
    (found,) = spread_over_seeds(contend(runs))
    assert found.unfinished == ("B",)
    assert "B stopped or crashed" in found.sentence()


def test_seeds_get_one_line_and_a_band_that_says_what_it_is(tmp_path):
    contenders = contend(train_seeds(tmp_path, [10, 20, 30, 40, 50]))
    (chart,) = seed_curves(contenders, "env_steps")
    (line,) = chart.lines
    assert "A, B, C, D, E: interquartile mean over 5 seeds; the band is its 95 % interval" in line.label
    assert "95 % bootstrap interval" in chart.note
    assert {y for _, y in line.points} == {30.0}
    assert all(10 <= low < 30 < high <= 50 for _, low, high in line.spread)
    text = plot(chart)
    assert "1 A, B, C, D, E" in text
    assert ".." in text
    assert 'class="band' in render_comparison(contenders, "env_steps")
    assert seed_curves(contenders[:2], "env_steps") == []


def test_a_band_keeps_the_last_value_of_runs_that_ended_and_stops_with_those_under_way(tmp_path):
    runs = [
        store(tmp_path, story({"eval/mean_reward": 100.0}, count=count), config=make_config(seed=seed))
        for seed, count in enumerate((10, 40, 100))
    ]
    (chart,) = seed_curves(contend(runs), "env_steps")
    last = max(row["env_steps"] for row in runs[2].read_metrics().rows if "eval/mean_reward" in row)
    assert chart.lines[0].points[-1] == (last, 100.0)
    runs[1].set_status("stopped", reason="interrupt")
    (chart,) = seed_curves(contend(runs), "env_steps")
    assert chart.lines[0].points[-1][0] == max(
        row["env_steps"] for row in runs[1].read_metrics().rows if "eval/mean_reward" in row
    )
