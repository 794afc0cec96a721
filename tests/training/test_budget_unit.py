"""`budget_in: vec_steps`: budget, schedules, cadences and charts count calls of `step`."""

import csv
import signal

import pytest
from killing import KillAt, in_child

import gymsolve
from gymsolve.cli import main
from gymsolve.cli.live.seeds import _Row
from gymsolve.cli.live.table import plain, render
from gymsolve.cli.live.view import View
from gymsolve.training.counters import Counters
from gymsolve.view.comparing import compare_runs

SETTINGS = {
    "budget_in": "vec_steps",
    "algo.num_steps": 32,
    "algo.learning_rate": "1e-3 -> 0",
    "steps": 640,
    "eval.every": 160,
    "eval.episodes": 2,
    "checkpoint.every": 128,
    "solved_at": 1e9,
    "video.enabled": False,
}


def train(copies, folder, **more):
    changes = SETTINGS | {"env.num_envs": copies}
    return gymsolve.train("CartPole-v1:ppo", changes, runs_dir=folder, **more).run


def rows(run, name):
    return [row for row in run.read_metrics().rows if name in row]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same training with two and with four copies."""
    folder = tmp_path_factory.mktemp("runs")
    return train(2, folder), train(4, folder, track=["csv", "tensorboard"])


def test_runs_with_different_numbers_of_copies_compare(runs):
    for run, copies in zip(runs, (2, 4), strict=True):
        last = rows(run, "train/loss")[-1]
        assert (last["vec_steps"], last["env_steps"], last["progress"]) == (640, 640 * copies, 1.0)
        assert [row["vec_steps"] for row in rows(run, "eval/mean_reward")] == [160, 320, 480, 640]
    rates = [
        {row["vec_steps"]: row["hyper/learning_rate"] for row in rows(run, "train/loss")} for run in runs
    ]
    assert rates[0] == rates[1]
    assert rates[0][320] == pytest.approx(1e-3 * (1 - 288 / 640))


def test_every_chart_counts_vector_steps(runs):
    few, many = runs
    told = compare_runs([few.id, many.id], few.path.parent)
    assert told.x == "vec_steps"
    assert [x for x, _ in told.runs[0].curve] == [x for x, _ in told.runs[1].curve] == [160, 320, 480, 640]
    assert all("vector steps" in chart for chart in told.charts.values())
    page = (many.path / "report.md").read_text()
    assert "640 of 640 vector steps" in page
    assert page.count("environment steps") == page.count("environment steps per second")  # no axis has it
    assert "vector steps" in (many.path / "report.html").read_text()


def test_trackers_count_vector_steps(runs):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    many = runs[1]
    log = EventAccumulator(str(many.path / "tensorboard")).Reload()
    assert [one.step for one in log.Scalars("eval/mean_reward")] == [160, 320, 480, 640]
    assert [one.value for one in log.Scalars("env_steps")][-1] == 2560
    with (many.path / "metrics.csv").open(newline="") as file:
        assert {"env_steps", "vec_steps"} <= set(next(csv.reader(file)))


def test_a_resume_goes_on_in_vector_steps(runs, tmp_path):
    straight = runs[1]

    def die():
        train(4, tmp_path, observer=KillAt(records=12))

    assert in_child(die) == signal.SIGKILL
    killed = gymsolve.open_run("@last", runs_dir=tmp_path)
    gymsolve.resume(killed)
    timed = ("time/", "eval/seconds")
    one, other = (
        [{k: v for k, v in row.items() if not k.startswith(timed)} for row in run.read_metrics().rows]
        for run in (straight, killed)
    )
    assert str(one) == str(other)


def test_the_bar_counts_what_the_budget_counts():
    counters = Counters()
    view = View(title="X", budget=100, threshold=None, num_envs=8, counters=counters, budget_in="vec_steps")
    counters.env_steps, counters.vec_steps = 400, 50
    view.rollout = (10, 32)
    assert "60%  60 / 100 vector steps" in plain(render(view, view.began + 1))
    assert view.remaining(view.began + 6) == pytest.approx(4.0)


def test_the_next_command_has_the_unit_of_the_budget(tmp_path, capsys):
    words = ["--set", "budget_in=vec_steps", "--set", "env.num_envs=8", "--set", "algo.num_steps=32"]
    words += ["--set", "video.enabled=false", "--set", "solved_at=1e9", "--runs-dir", str(tmp_path)]
    assert main(["train", "CartPole-v1:ppo", "--steps", "320", *words]) == 0
    assert "gymsolve resume @last --steps 640 " in capsys.readouterr().out


def test_seeds_are_shown_in_the_unit_of_the_budget(runs):
    row = _Row(0, runs[0])
    row.read_new()
    assert " 640 of 640 vector steps " in row.cells(640, "vec_steps")
