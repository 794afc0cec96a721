"""Runs that differ in the seed alone, and whether groups of them differ: answers that are known."""

import pytest
from report_runs import store
from stories import make_config, story

from gymsolve.view.report.claims import claim_differences, conclude
from gymsolve.view.report.comparison import contend
from gymsolve.view.report.comparison_page import render_comparison
from gymsolve.view.report.seeds import interquartile_mean, seed_curves, spread_over_seeds
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


def test_few_seeds_have_a_range_and_six_an_interval_of_their_median(tmp_path):
    (found,) = spread_over_seeds(contend(train_seeds(tmp_path, [100, 104, 102, 190])))
    assert (found.iqm, found.lowest, found.highest) == (103.0, 100.0, 190.0)
    assert (found.low, found.high) == (None, None)
    assert "A, B, C, D differ in the seed alone: the interquartile mean" in found.sentence()
    assert "is 103, from 100 to 190." in found.sentence()
    assert "interval" not in found.sentence()
    (found,) = spread_over_seeds(contend(train_seeds(tmp_path, [6, 1, 2, 3, 4, 5])))
    assert (found.low, found.high) == (1.0, 6.0)
    assert "Their median: 1 to 6 (95 % interval)." in found.sentence()


LOW, HIGH = [9, 20, 33, 40, 57], [172, 200, 257, 325, 437]


def conclusions(runs):
    contenders = contend(runs)
    claims = claim_differences(contenders)
    return claims, conclude(contenders, claims)


def test_five_separated_seeds_against_five_are_claimed(tmp_path):
    runs = [*train_seeds(tmp_path, LOW), *train_seeds(tmp_path, HIGH, algo={"gamma": 0.5})]
    (claim,), (text,) = conclusions(runs)
    assert (claim.first, claim.second) == (tuple("ABCDE"), tuple("FGHIJ"))
    assert (claim.claimed, claim.can_be_claimed, claim.measure) == (True, True, "return")
    assert (claim.difference, claim.low, claim.high, claim.higher) == (224.0, 139.0, 404.0, 1.0)
    assert claim.chance == pytest.approx(2 / 252)
    assert text == (
        "F, G, H, I, J return more than A, B, C, D, E: by 224 (95 % interval 139 to 404), in 100% of the "
        "pairs of runs. Chance alone would part them so 1 time in 126."
    )
    assert text in render_comparison(contend(runs), "env_steps")


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_three_seeds_against_three_cannot_show_a_difference(seeds, tmp_path):
    runs = [*train_seeds(tmp_path, LOW[:seeds]), *train_seeds(tmp_path, HIGH[:seeds], algo={"gamma": 0.5})]
    (claim,), (text,) = conclusions(runs)
    assert (claim.claimed, claim.can_be_claimed, claim.seeds_needed) == (False, False, 4)
    assert "cannot show one, however wide: train at least 4 of each." in text


def test_seeds_that_overlap_are_not_claimed_and_more_of_them_are_named(tmp_path):
    runs = [*train_seeds(tmp_path, LOW), *train_seeds(tmp_path, [8, 21, 41, 60, 70], algo={"gamma": 0.5})]
    (claim,), (text,) = conclusions(runs)
    assert (claim.claimed, claim.can_be_claimed) == (False, True)
    assert claim.higher == 16 / 25
    assert claim.seeds_needed == 67  # Noether: 7.85 / (6 * 0.14 ** 2)
    assert "F, G, H, I, J return more than A, B, C, D, E in 64% of the pairs of runs" in text
    assert "chance alone parts them so 55% of the time" in text
    assert "some 67 seeds of each would show it" in text


def test_pairs_of_groups_are_judged_together(tmp_path):
    """Among three groups there are three ways to be fooled: four seeds against four no longer suffice."""
    groups = [train_seeds(tmp_path, LOW[:4]), train_seeds(tmp_path, HIGH[:4], algo={"gamma": 0.5})]
    assert conclusions([*groups[0], *groups[1]])[0][0].claimed
    third = train_seeds(tmp_path, HIGH[:4], algo={"gamma": 0.6})
    claims, texts = conclusions([*groups[0], *groups[1], *third])
    assert [claim.claimed for claim in claims] == [False] * 3
    assert texts == [
        "No difference can be claimed between A, B, C, D; E, F, G, H; I, J, K, L: "
        "train at least 5 seeds of each."
    ]


def test_where_every_run_is_solved_their_steps_decide(tmp_path):
    groups = []
    for gamma, counts in ((0.9, (20, 30, 40, 50)), (0.8, (60, 70, 80, 90))):
        for seed, count in enumerate(counts):
            rows = story({"eval/mean_reward": 200.0}, count=count)
            rows[-1] |= {"eval/mean_reward": 200.0, "solved": 1.0}
            config = make_config(seed=seed, solved_at=150.0, algo={"gamma": gamma})
            groups.append(store(tmp_path, rows, config=config, status="solved"))
    (claim,), (text,) = conclusions(groups)
    assert (claim.measure, claim.claimed, claim.difference) == ("steps to solve", True, 40_000.0)
    assert text.startswith("A, B, C, D are solved sooner than E, F, G, H: by 40,000 steps (95 % interval ")


def test_what_is_evaluated_differently_is_said_with_the_claim(tmp_path):
    runs = [*train_seeds(tmp_path, LOW), *train_seeds(tmp_path, HIGH, env={"kwargs": {"length": 5}})]
    _, (text,) = conclusions(runs)
    assert text.endswith(
        "They are evaluated differently (env.kwargs.length), which may be the whole difference."
    )


def test_running_runs_and_other_environments_are_not_claimed(tmp_path):
    runs = [*train_seeds(tmp_path, LOW), *train_seeds(tmp_path, HIGH, algo={"gamma": 0.5})]
    other = train_seeds(tmp_path, HIGH, env={"id": "Other-v0"})
    assert claim_differences(contend([*runs[:5], *other])) == []
    for run in runs[5:]:
        run.set_status("running")
    assert claim_differences(contend(runs)) == []


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
    assert "A, B, C, D, E: interquartile mean over 5 seeds; the band holds all of them" in line.label
    assert "Band: from the lowest to the highest seed." in chart.note
    assert {y for _, y in line.points} == {30.0}
    assert {(low, high) for _, low, high in line.spread} == {(10.0, 50.0)}
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
