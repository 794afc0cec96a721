"""A training return that is another quantity than an evaluation's says so wherever both are shown."""

import pytest
from report_runs import store
from stories import make_config, make_context, story

from gymsolve.cli.live.rows import Layout, metric_row
from gymsolve.cli.live.view import View, progress_line
from gymsolve.cli.printing.tables import join_pieces
from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.history import History
from gymsolve.metrics.training_returns import remark, training_unit
from gymsolve.service.run_changes import look_at
from gymsolve.training.counters import Counters
from gymsolve.view.comparing import compare_runs
from gymsolve.view.curve_answers import read_curves
from gymsolve.view.report.write import write_report
from gymsolve.view.run_page import look_over
from gymsolve.view.runs_table import RunsTable

POINTS = {"wrappers": ["atari_objects", "episodic_point"]}


@pytest.mark.parametrize(
    ("wrappers", "unit"),
    [
        ([], ""),
        (["atari"], ""),
        (["atari", "episodic_life"], "per life"),
        ([{"clip_reward": {"sign": True, "roles": ["train"]}}, "episodic_point"], "per point"),
        ([{"episodic_life": {"roles": ["train"]}}], "per life"),
        ([{"episodic_life": {"roles": ["play"]}}], ""),
    ],
)
def test_wrappers_decide_what_a_training_episode_is(wrappers, unit):
    assert training_unit({"wrappers": wrappers}) == unit
    env = make_config(env={"wrappers": wrappers}).env.model_dump(mode="json")
    assert training_unit(env) == unit
    assert (
        training_unit({"wrappers": [], "tasks": {"a": {"wrappers": None}, "b": {"wrappers": wrappers}}})
        == unit
    )


@pytest.mark.parametrize(
    ("unit", "share", "words"),
    [
        ("", None, ""),
        ("", 0.04, ""),
        ("", 0.25, " (of those left: faults cut 25%)"),
        ("per point", None, " (per point)"),
        ("per point", 0.5, " (per point, of those left: faults cut 50%)"),
    ],
)
def test_a_remark_names_part_and_selection(unit, share, words):
    assert remark(unit, share) == words


def view_of(unit, share):
    view = View("Pong", 1000, 18.0, 8, Counters(env_steps=400), training_unit=unit, history=History([]))
    view.history.append({"env_steps": 400, "rollout/ep_rew_mean": -0.92, "rollout/cut_share": share})
    return view


def test_the_live_line_and_the_table_say_it():
    def cell(unit, share):
        row = metric_row(view_of(unit, share), "rollout/ep_rew_mean", Layout.of(80), 0.0, first=True)
        return " ".join(join_pieces(row).split())

    assert "return -0.92  " in progress_line(view_of("", 0.0), 1.0)
    assert "return -0.92 (per point)  " in progress_line(view_of("per point", 0.0), 1.0)
    assert "return -0.92 (of those left: faults cut 30%)  " in progress_line(view_of("", 0.3), 1.0)
    assert cell("", 0.0).startswith("rollout ep_rew_mean -0.92")
    assert cell("per point", 0.0).startswith("rollout ep_rew_mean/point -0.92")
    assert cell("", 0.3).startswith("rollout ep_rew_mean, 30% cut -0.92")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run whose training episodes are points, one of whose episodes faults cut a third, and a usual one."""
    folder = tmp_path_factory.mktemp("runs")
    cut = [row | {"rollout/cut_share": 0.33} for row in story()]
    return {
        "points": store(folder, config=make_config(env=POINTS)),
        "cut": store(folder, cut, config=make_config(seed=1)),
        "usual": store(folder, config=make_config(seed=2)),
    }


NOTES = {"points": "per point", "cut": "of those left: faults cut 33%", "usual": None}


@pytest.mark.parametrize("kind", NOTES)
def test_answers_to_agents_have_a_note(runs, kind):
    run, note = runs[kind], NOTES[kind]
    assert look_at(str(run.path)).training_note == note
    series = read_curves([str(run.path)], [], 10, (0, None)).series
    assert {line.name: line.note for line in series if line.note} == (
        {} if note is None else {"rollout/ep_rew_mean": note}
    )


def test_reports_say_it(runs):
    texts = {}
    for kind, run in runs.items():
        write_report(run)
        texts[kind] = (run.path / "report.md").read_text()
    assert "training episodes per point, last 100" in texts["points"]
    assert "evaluations whole games: they are different quantities." in texts["points"]
    assert "Faults cut up to 33% of the last training episodes" in texts["cut"]
    assert "per point" not in texts["usual"]
    assert "Faults cut" not in texts["usual"]


def test_comparisons_say_it(runs):
    compared = compare_runs([str(run.path) for run in runs.values()])
    assert [run.training_note for run in compared.runs] == list(NOTES.values())
    row = next(row for row in compared.results if row[0].startswith("training return"))
    assert [("(" in cell) for cell in row[1:]] == [True, True, False]
    assert any(title.startswith("Training episodes, per point, last 100") for title in compared.charts)


def test_pages_say_it(runs):
    assert look_over(runs["points"])["training_unit"] == "per point"
    assert look_over(runs["usual"])["training_unit"] == ""
    rows = {row.id: row.curve for row in RunsTable(runs["usual"].path.parent).look().rows}
    evaluations = [row["eval/mean_reward"] for row in story() if "eval/mean_reward" in row]
    assert {value for _, value in rows[runs["points"].id]} <= set(evaluations), (
        "a threshold is drawn beside it"
    )


def test_rules_do_not_compare_points_with_games():
    rows = story({"eval/mean_reward": 20.0})
    usual = {alert.id for alert in AlertTracker(make_context(), rows).alerts()}
    points = {alert.id for alert in AlertTracker(make_context(env=POINTS), rows).alerts()}
    assert "eval_gap" in usual
    assert "eval_gap" not in points


@pytest.mark.parametrize(
    "env",
    [
        {"wrappers": [[], 3, None, {}, {"episodic_life": 3}, {"episodic_life": {"roles": 3}}, "x"]},
        {"wrappers": "episodic_life"},
        {"wrappers": {"episodic_life": {}}, "tasks": [1]},
        {"tasks": {"a": None, "b": 3, "c": {"wrappers": 7}}},
    ],
)
def test_settings_of_strangers_that_are_no_settings_are_passed_over(env):
    """The list of runs asks this of every run, and one of them must not hide the others."""
    assert training_unit(env) in ("", "per life")
