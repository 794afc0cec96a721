"""Runs beside each other: axes, thresholds, other environments."""

import pytest
from report_runs import store
from stories import make_config, story

from gymsolve.view.report.comparison import compare_curves, contend, differences, remark
from gymsolve.view.report.comparison_page import render_comparison, result_rows
from gymsolve.view.report.textchart import plot


@pytest.fixture
def pair(tmp_path):
    """The healthy story, and one that is ten returns better in every evaluation."""
    better = story({"eval/mean_reward": lambda i: 40.0 + 1.5 * i})
    other = make_config(solved_at=150.0, algo={"gamma": 0.5})
    return contend([store(tmp_path), store(tmp_path, better, config=other)])


def test_settings_that_differ_are_all_there_are(pair):
    assert differences(pair) == {"algo.gamma": [0.99, 0.5]}
    assert differences(pair, incidental=True) == {}
    assert remark(pair) == ""


def test_an_argument_that_only_one_run_has_is_told_once(tmp_path):
    runs = contend(
        [store(tmp_path), store(tmp_path, config=make_config(solved_at=150.0, env={"kwargs": {"length": 5}}))]
    )
    assert list(differences(runs)) == ["env.kwargs.length"]


@pytest.mark.parametrize(
    ("axis", "first", "second"),
    # 30 + 1.5 i reaches 150 at record 80, of which the next evaluation is number 84; 40 + 1.5 i at 74.
    [("env_steps", 85_000, 75_000), ("vec_steps", 10_625, 9_375), ("time", 170.0, 150.0)],
)
def test_the_threshold_is_reached_somewhere_on_each_axis(pair, axis, first, second):
    assert [one.results(axis)["reached_at"] for one in pair] == [first, second]
    chart = compare_curves(pair, axis)[0]
    assert [line.points[-1][0] for line in chart.lines] == [pytest.approx(2 * 100.0)] * 2 or axis != "time"
    assert chart.level == (150.0, "threshold 150")


def test_several_tasks_reach_the_threshold_when_each_of_them_does(tmp_path):
    """A mean above the mean of the thresholds may hide a task that is far below its own."""
    rows = [
        row | {"task_reached/a": 1.0, "task_reached/b": float(row["env_steps"] > 90_000)} for row in story()
    ]
    ladder = {"env": {"tasks": {"a": {}, "b": {}}}, "curriculum": {"stages": ["a", "b"], "promote_at": 100}}
    runs = [store(tmp_path, rows), store(tmp_path, rows, config=make_config(solved_at=150.0, **ladder))]
    assert [run.results("env_steps")["reached_at"] for run in contend(runs)] == [95_000, 85_000]


def test_results_say_best_final_speed_and_quality(pair):
    told = pair[0].results("env_steps")
    assert told["best_reward"] == told["final_reward"] == 30.0 + 1.5 * 99
    assert told["fps"] == 500.0  # 1000 steps in two seconds
    assert told["quality"] < pair[1].results("env_steps")["quality"] < 1.0
    assert ("best evaluation", "178.5", "188.5") in result_rows(pair, "env_steps")


def test_other_environments_are_compared_by_their_way_to_the_threshold(tmp_path):
    other = make_config(solved_at=100.0, env={"id": "Other-v0"})
    runs = contend([store(tmp_path), store(tmp_path, config=other, name="Other-v0:ppo")])
    assert "2 environments (A: Story-v0, B: Other-v0): their returns do not compare" in remark(runs)
    first, second = compare_curves(runs, "env_steps")[0].lines
    assert first.points[0][1] == second.points[0][1] == 0.0
    # Both reach 178.5 from 36: over thresholds of 150 and 100.
    assert first.points[-1][1] == pytest.approx((178.5 - 36.0) / (150.0 - 36.0))
    assert second.points[-1][1] == pytest.approx((178.5 - 36.0) / (100.0 - 36.0))


def test_runs_without_records_evaluations_or_threshold_compare_too(tmp_path):
    bare = make_config()
    runs = contend([store(tmp_path, [], config=bare), store(tmp_path, story(count=2)), store(tmp_path)])
    page = render_comparison(runs, "time")
    assert page.count("<svg") == 2
    assert [one.results("time")["reached_at"] for one in runs[:2]] == [None, None]
    alone = contend([store(tmp_path, story(count=5))])[0]
    assert (len(alone.evaluations), alone.results("time")["quality"]) == (1, None)  # one is no curve


def test_a_running_run_says_so_with_its_values_so_far_and_its_threshold(tmp_path):
    fresh = store(tmp_path, story(count=2), config=make_config(), status="running")
    fresh.append_event("started", env_steps=0, threshold=150.0)
    ended, running, begun = contend(
        [store(tmp_path), store(tmp_path, story(count=20), status="running"), fresh]
    )
    rows = {name: values for name, *values in result_rows([ended, running, begun], "env_steps")}
    assert rows["threshold"] == ["150", "150", "150"]
    assert rows["last evaluation"] == ["178.5", "58.5 so far", "none yet"]
    assert all(value != "–" for value in rows["training return, last 100 episodes"])
    chart = plot(compare_curves([ended, running, begun], "env_steps")[0])
    assert f"B {running.run.id} (running): " in chart
    assert f"C {begun.run.id} (running): nothing yet" in chart
    assert "not finite" not in chart
