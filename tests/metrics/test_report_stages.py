"""Charts of a run with several stages: each says which stage its numbers are about."""

from report_runs import store
from stories import make_config, story

from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.curves import archive_figures, return_figure

STAGES = {
    "env": {"tasks": {"small": {}, "large": {"max_episode_steps": 9}}},
    "curriculum": {"stages": ["small", "large"], "promote_at": 100},
    "solved_at": 150.0,
}
SCORED = {
    "archive/cells": 7.0,
    "archive/best_score": 60.0,
    "archive_best_score/small": 90.0,
    "archive_best_score/large": 30.0,
}


def test_returns_of_a_curriculum_say_that_they_are_those_of_its_last_stage(tmp_path):
    chart = return_figure(DiagnosedRun(store(tmp_path, config=make_config(**STAGES))))
    assert [line.label for line in chart.lines] == [
        "training episodes of large, last 100: mean, smallest to largest",
        "evaluation of large: mean ± standard deviation",
    ]
    assert chart.note == "Raw return per episode of large, the last stage."


def test_scores_of_an_archive_are_about_what_the_returns_beside_them_are_about(tmp_path):
    def lines(name, columns, **changes):
        run = store(tmp_path / name, story(columns), config=make_config(**changes))
        _, scores = archive_figures(DiagnosedRun(run))
        return [(line.label, line.points[0][1]) for line in scores.lines]

    returns = 20.0
    assert lines("stages", SCORED, **STAGES) == [
        ("best score of any episode of large", 30.0),
        ("training episodes of large from a reset, last 100", returns),
    ]
    assert lines("tasks", SCORED, env=STAGES["env"], solved_at=150.0) == [
        ("best scores of the tasks, on average", 60.0),
        ("training episodes from a reset, last 100", returns),
    ]
    alone = {name: value for name, value in SCORED.items() if name.startswith("archive/")}
    assert lines("one", alone, solved_at=150.0) == [
        ("best score of any episode", 60.0),
        ("training episodes from a reset, last 100", returns),
    ]
