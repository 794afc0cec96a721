"""What is seen while a run trains."""

import io
import os
import pty
import re
import sys

import pytest
from rich.console import Console
from rich.live import Live

from gymsolve.cli.console import PlainScreen, Watcher
from gymsolve.cli.livetable import LiveScreen, render
from gymsolve.cli.text import age, count, duration, number, score, setting, size
from gymsolve.cli.view import View, progress_line
from gymsolve.training.plan import plan_run
from gymsolve.training.session import start_run
from gymsolve.training.trainer import Counters

RECORD = {
    "env_steps": 4096,
    "updates": 16,
    "rollout/ep_rew_mean": 182.34567,
    "rollout/ep_rew_best": 500.0,
    "time/fps": 5120.4,
    "train/loss": 0.1234567,
    "train/approx_kl": 0.0031,
    "train/clip_fraction": 0.12,
    "train/entropy": 0.61,
    "train/explained_variance": 0.82,
    "hyper/learning_rate": 2.5e-4,
}
EVALUATION = {"env_steps": 4096, "eval/mean_reward": 412.0, "eval/std_reward": 30.0, "eval/episodes": 20.0}


@pytest.fixture
def view():
    counters = Counters(env_steps=0, seconds=60.0)
    view = View(title="CartPole-v1:ppo", budget=10_000, threshold=475.0, num_envs=8, counters=counters)
    counters.env_steps = 4096
    view.take(RECORD)
    return view


def drawn(view: View, now: float, width: int = 110, height: int = 45) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system="standard")
    console.print(render(view, now, width, height))
    return console.file.getvalue()


def test_the_table_shows_the_numbers_of_the_record(view):
    view.take(EVALUATION)
    text = drawn(view, view.began + 5)
    for shown in (
        "4,096 / 10,000 steps",
        "182.3",
        "500",
        "412 ± 30.0",
        "475",
        "5,120",
        "0.1235",
        "0.0031",
        "0.00025",
    ):
        assert shown in text
    for label in ("KL", "clip fraction", "entropy", "expl. variance", "learning rate"):
        assert label in text


def test_elapsed_time_is_blue_and_counts_earlier_sittings(view):
    assert re.search(r"\x1b\[1;34m +1:05", drawn(view, view.began + 5))


def test_the_rest_is_estimated_from_the_pace_of_this_sitting(view):
    assert "0:07 left" in drawn(view, view.began + 5)  # 5,904 steps at 819 per second


def test_a_slow_rollout_and_an_evaluation_show_their_progress(view):
    view.rollout, view.rollout_began = (17, 32), view.began
    assert "17 / 32 steps" not in drawn(view, view.began + 0.1)
    assert "17 / 32 steps" in drawn(view, view.began + 5)
    assert "4,232 / 10,000" in drawn(view, view.began + 5)  # 17 × 8 more
    view.evaluation = (3, 20)
    assert "3 / 20 episodes" in drawn(view, view.began + 5)


def test_a_narrow_terminal_gets_the_groups_below_each_other(view):
    lines = drawn(view, view.began + 5, width=60).splitlines()
    assert any("elapsed" in line and "loss" not in line for line in lines)
    assert any("loss" in line for line in lines)


@pytest.mark.parametrize("width", [60, 66, 80, 98, 99, 140])
@pytest.mark.parametrize("height", [5, 8, 14, 24, 45])
def test_the_table_fits_the_terminal(view, width, height):
    view.take({**EVALUATION, "train/policy_loss": 0.1, "train/value_loss": 0.2, "time/collect_seconds": 1.0})
    view.evaluation = (3, 20)
    lines = render(view, view.began + 5, width, height).plain.split("\n")
    assert len(lines) <= height - 2
    assert max(map(len, lines)) <= width
    assert "4,096 / 10,000" in lines[1]
    assert "3 / 20 episodes" in lines[2]
    if height >= 8:
        assert any("412 ± 30.0" in line for line in lines)


def test_two_columns_stand_side_by_side_at_80(view):
    lines = drawn(view, view.began + 5, width=80, height=24).splitlines()
    assert any("return" in line and "learning" in line for line in lines)
    assert any("rollout takes" in line for line in lines)


def test_steps_beyond_the_budget_are_shown(view):
    view.counters.env_steps = 12_288
    text = drawn(view, view.began + 5)
    assert "100%  12,288 / 10,000 steps" in text
    assert "0:00 left" in text


def test_the_live_screen_redraws_in_place_and_scrolls_events(view):
    console = Console(file=io.StringIO(), force_terminal=True, width=110)
    with Live(console=console, auto_refresh=False) as live:
        screen = LiveScreen(console, live)
        screen.draw(view, view.began + 1)
        screen.line("note: [64, 64] is not markup")
        screen.progress("not shown")
        screen.draw(view, view.began + 2)
    text = console.file.getvalue()
    assert "note: [64, 64] is not markup" in text
    assert "not shown" not in text
    assert "\x1b[1A" in text  # the cursor goes up instead of the table down


def test_one_line_of_progress(view):
    line = progress_line(view, view.began + 5)
    assert line.split("  ")[-1] == "0:07 left"
    for part in ("4,096 steps", "41%", "return 182.3", "fps 5,120", "loss 0.1235", "kl 0.0031"):
        assert part in line


def test_lines_go_to_the_screen_and_to_the_log(place):
    stream = io.StringIO()
    plan = plan_run("Bandit-v0", {"steps": 600, "eval.every": 256, "solved_at": 100})
    outcome = start_run(plan, observer=Watcher(PlainScreen(stream)))
    log = (outcome.run.path / "log.txt").read_text()
    assert stream.getvalue() == log
    assert log.count("evaluation:") >= 2
    assert "100 needed" in log


def test_a_reader_that_leaves_does_not_end_the_training(place):
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    plan = plan_run("Bandit-v0", {"steps": 600, "eval.every": 256, "solved_at": 100})
    outcome = start_run(plan, observer=Watcher(PlainScreen(Gone())))
    assert outcome.env_steps >= 600
    assert "evaluation:" in (outcome.run.path / "log.txt").read_text()


def test_drawing_takes_a_hundredth_of_the_time_at_most(view, monkeypatch):
    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            self.now += 0.001
            return self.now

    class Slow(PlainScreen):
        spent = 0.0

        def draw(self, view: View, now: float) -> None:
            clock.now += 0.05
            self.spent += 0.05

    clock, screen = Clock(), Slow(None)
    monkeypatch.setattr("gymsolve.cli.console.time", clock)
    watcher = Watcher(screen)
    watcher._view = view
    for step in range(100_000):
        watcher.rollout_step(step % 128 + 1, 128)
    assert 0 < screen.spent <= 0.0101 * clock.now


def test_training_on_a_terminal(place):
    """The real program on a pseudo-terminal: a live table, then the panel."""
    command = [sys.executable, "-m", "gymsolve", "train", "Bandit-v0", "--steps", "2k"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(
            command[0], command, os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
        )
    seen = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    _, status = os.waitpid(pid, 0)
    text = seen.decode()
    assert os.waitstatus_to_exitcode(status) == 0
    assert "elapsed" in text
    assert "╭─" in text
    assert "gymsolve eval @last" in text
    assert "\x1b[?25h" in text  # the cursor is back


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (count(12288.4), "12,288"),
        (size(200_000), "200k"),
        (size(1_500_000), "1.5m"),
        (size(12_345), "12345"),
        (number(None), "–"),
        (number(float("nan")), "–"),
        (number(475.0), "475"),
        (number(-133.71), "-133.7"),
        (number(0.00031), "0.00031"),
        (score(412.0, 30.06), "412 ± 30.1"),
        (score(9.01, 0.98765), "9.01 ± 0.9877"),
        (score(None, None), "–"),
        (duration(42.9), "0:42"),
        (duration(3723), "1:02:03"),
        (duration(3 * 86400 + 3600), "3 d 1 h"),
        (age(""), "–"),
        (age("2020-01-01T00:00:00+00:00")[-1], "d"),
        (setting({"start": 1e-3, "end": 0}), "0.001 -> 0"),
        (setting([64, {"a": None}, True]), "[64, {a: null}, true]"),
    ],
)
def test_how_numbers_are_told(told, expected):
    assert told == expected
