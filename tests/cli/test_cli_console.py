"""What is seen while a run trains."""

import io
import os
import pty
import re
import sys

import pytest

from gymsolve.cli.live.console import PlainScreen, Watcher
from gymsolve.cli.live.progress import ProgressBar
from gymsolve.cli.live.rows import choose_rows
from gymsolve.cli.live.screen import LiveScreen
from gymsolve.cli.live.table import plain, render
from gymsolve.cli.live.view import View, progress_line
from gymsolve.cli.printing.output import print_pairs
from gymsolve.cli.printing.tables import fold, panel_lines, styled, text_width
from gymsolve.cli.printing.verdict import print_verdict
from gymsolve.text import age, count, duration, number, score, setting, short, size, sparkline, took
from gymsolve.training.counters import Counters
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.session import start_run

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
    view = View("CartPole-v1:ppo", 10_000, 475.0, num_envs=8, counters=counters, began=0.0)
    counters.env_steps = 4096
    view.history.append(RECORD)
    return view


def drawn(view: View, now: float, width: int = 110, height: int = 45) -> str:
    """With colours."""
    lines = render(view, now, width, height)
    return "\n".join("".join(styled(text, style) for text, style in line) for line in lines)


def row(view: View, name: str, width: int = 80) -> str:
    lines = plain(render(view, view.began + 5, width, 45)).split("\n")
    return next(line for line in lines if f" {name} " in line)


def test_the_table_shows_the_numbers_of_the_record(view):
    view.history.append(EVALUATION)
    view.best = 412.0
    text = drawn(view, view.began + 5)
    for shown in (
        *("4,096 / 10,000 steps", "best evaluation 412", "of 475 needed"),
        *("182.3", "500", "412 ± 30.0", "5,120", "0.1235", "0.0031", "0.00025"),
    ):
        assert shown in text
    for name in ("approx_kl", "clip_fraction", "entropy", "explained_variance", "learning_rate"):
        assert f" {name} " in text


def test_rows_are_grouped_and_the_most_important_come_first(view):
    view.history.append(EVALUATION)
    everything = choose_rows(view, 99)
    assert everything == [
        *("rollout/ep_rew_mean", "rollout/ep_rew_best"),
        *("eval/mean_reward", "eval/episodes"),
        *("time/elapsed", "time/fps"),
        *(
            "train/loss",
            "train/entropy",
            "train/approx_kl",
            "train/explained_variance",
            "train/clip_fraction",
        ),
        "hyper/learning_rate",
        "updates",
    ]
    assert choose_rows(view, 8) == [
        *("rollout/ep_rew_mean", "eval/mean_reward", "time/elapsed", "time/fps"),
        *("train/loss", "train/entropy", "train/approx_kl", "train/explained_variance"),
    ]


def test_choices_of_an_action_are_bars_of_one_row(view):
    shares = {f"action/share_{choice}": share for choice, share in enumerate((0.0, 0.5, 0.25, 0.25))}
    view.history.append({"env_steps": 4096, **shares})
    assert [name for name in choose_rows(view, 99) if "share" in name] == ["action/share_0"]
    told = plain(render(view, view.began + 5)).splitlines()
    (row,) = (line for line in told if " shares " in line)
    assert re.search(r"shares +1: 50% +▁█▅▅ +of 0…3", row), row


def test_bars_of_many_choices_and_parts_fit_the_table(view):
    many = {f"action/share_0_{first}to{first + 3}": 0.0625 for first in range(0, 64, 4)}
    view.history.append({"env_steps": 4096, **many, "action/share_1_0": 0.75, "action/share_1_1": 0.25})
    for width in (40, 80, 200):
        told = plain(render(view, view.began + 5, width, 60)).splitlines()
        first, second = (line for line in told if " shares, part" in line)
        assert "0to3: 6%" in first
        assert "0: 75%" in second
        assert max(map(len, told)) <= width


def test_a_row_with_an_alert_is_there_however_little_room(view):
    view.alerts["slow"] = {"metric": "hyper/learning_rate", "severity": "warn", "active": True}
    assert choose_rows(view, 2) == ["rollout/ep_rew_mean", "hyper/learning_rate"]


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([], 10, ""),
        ([3.0], 10, "▁"),
        ([2.0, 2.0, 2.0], 10, "▁▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], 8, "▁▂▃▄▅▆▇█"),
        ([0, 1, 2, 3, 4, 5, 6, 7], 4, "▁▃▆█"),
        ([7, 0], 10, "█▁"),
        ([0.0, float("nan"), 7.0], 10, "▁ █"),
        ([0.0, float("nan"), 7.0, float("nan")], 2, "▁█"),
        ([float("nan")], 10, " "),
    ],
)
def test_the_sparkline_of_a_known_history(values, width, expected):
    assert sparkline(values, width) == expected


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0.0, 3, "0"),
        (0.0031234, 3, "0.00312"),
        (150.0, 1, "150"),
        (999.0, 3, "999"),
        (20_000, 3, "20k"),
        (-1_500_000, 3, "-1.5m"),
        (2e9, 3, "2g"),
        (123_456, 2, "123k"),
    ],
)
def test_short_numbers(value, digits, expected):
    assert short(value, digits) == expected


def test_a_panel_is_as_wide_as_the_terminal_and_breaks_no_path():
    path = "/somewhere/far/down"
    assert panel_lines("SOLVED  日本", ["one", "二", path], width=20) == [
        "╭─ SOLVED  日本 ───╮",
        "│ one              │",
        "│ 二               │",
        f"│ {path}",
        "╰──────────────────╯",
    ]
    assert panel_lines("a title that is too long", [], width=16)[0] == "╭─ a title t… ─╮"
    (top, *_) = panel_lines("T", [], width=8, frame="green", bold="bold")
    assert top == "\x1b[32m╭─\x1b[0m\x1b[1;32m T \x1b[0m\x1b[32m──╮\x1b[0m"


def test_changes_are_coloured_by_what_is_better(view):
    view.history.append(
        RECORD | {"rollout/ep_rew_mean": 192.34567, "train/loss": 0.2234567, "train/approx_kl": 0.0051}
    )
    text = drawn(view, view.began + 5)
    assert re.search(r"ep_rew_mean .*\x1b\[32m +↑ +10\x1b", text)  # more return is better
    assert re.search(r"loss .*\x1b\[31m +↑ +0.1\x1b", text)  # more loss is worse
    assert re.search(r"approx_kl [^↑]*m +↑ +0.002\x1b\[36m", text)  # neither
    assert re.search(r"clip_fraction .* =\x1b", text)
    assert "▁█" in row(view, "ep_rew_mean")
    assert "182…192" in row(view, "ep_rew_mean")


def test_entropy_is_told_with_its_bounds(view):
    view.max_entropy = 0.6931
    view.history.append(RECORD | {"train/entropy": 0.35})
    assert "0.35 of 0.693" in row(view, "entropy")
    assert "0.35…0.61" in row(view, "entropy")


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


def test_paths_are_never_folded(monkeypatch, capsys):
    monkeypatch.setattr("gymsolve.cli.printing.output._width", lambda: 40)
    path = "/home/somebody/runs/20261117-074709-LunarLander-v3-ppo-084c/videos/progression.mp4"
    print_pairs([("video", path), ("told", "a sentence that is folded where the window ends")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"  video  {path}"
    assert len(lines) == 3
    assert max(map(len, lines[1:])) <= 40


@pytest.mark.parametrize("width", range(20, 70))
def test_a_number_stays_with_its_unit(width):
    text = (
        "best mean return 9.35 ± 0.5 over 20 episodes, 12,288 steps in 1.5 s (most of the rest: 30 %, 1.5 s)"
    )
    lines = fold(text, width)
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if re.match(r"(s|steps|episodes|%|±|0\.5)\b", line)]


@pytest.mark.parametrize("width", [30, 40, 60, 66, 80, 98, 120, 140])
@pytest.mark.parametrize("height", [5, 8, 14, 24, 45])
def test_the_table_fits_the_terminal(view, width, height):
    view.history.append(
        {**EVALUATION, "train/policy_loss": 0.1, "train/value_loss": 0.2, "time/collect_seconds": 1.0}
    )
    view.evaluation, view.best = (3, 20), 412.0
    lines = plain(render(view, view.began + 5, width, height)).split("\n")
    assert len(lines) <= height - 2
    assert max(map(text_width, lines)) <= width
    assert "best" in lines[0]
    assert "4,096 / 1" in lines[1]
    assert "evaluating" in lines[2]
    if height >= 24:
        assert any("412 ± 30.0" in line for line in lines)


def test_a_larger_terminal_shows_more(view):
    view.history.append(EVALUATION)
    small = render(view, view.began + 5, 80, 14)
    large = render(view, view.began + 5, 140, 50)
    assert len(large) > len(small)
    assert "mean raw return" in plain(large)  # what the metric means
    assert "mean raw return" not in plain(small)


def test_steps_beyond_the_budget_are_shown(view):
    view.counters.env_steps = 12_288
    text = plain(render(view, view.began + 5))
    assert "100%  12,288 / 10,000 steps" in text
    assert "0:00 left" in text


def test_the_live_screen_redraws_in_place_and_scrolls_events(view):
    stream = io.StringIO()
    screen = LiveScreen(stream, lambda: (110, 40))
    screen.draw(view, view.began + 1)
    screen.line("note: [64, 64] is not markup")
    screen.progress("not shown")
    screen.alert("not shown either: the table has it")
    screen.draw(view, view.began + 2)
    text = stream.getvalue()
    assert "note: [64, 64] is not markup" in text
    assert "not shown" not in text
    rows = len(render(view, view.began + 1, 110, 40))
    assert text.count(f"\x1b[{rows}A") == 2  # the cursor goes up instead of the table down


def test_what_others_print_scrolls_above_the_table(view):
    stream = io.StringIO()
    before = sys.stdout
    with LiveScreen.opened(stream) as screen:
        screen.draw(view, view.began + 1)
        sys.stdout.write("an environment talks\n")
        sys.stderr.write("to the error stream\n")
    assert sys.stdout is before
    text = stream.getvalue()
    assert text.index("CartPole") < text.index("an environment talks") < text.rindex("CartPole")
    assert "to the error stream" in text
    assert "\x1b[?25l" not in text  # the cursor is never hidden, so a kill cannot leave it so


def test_a_terminal_without_unicode_gets_ascii_of_the_same_width(view):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    view.history.append(RECORD | EVALUATION | {"train/loss": 0.2})
    LiveScreen(stream, lambda: (80, 24), colours=False).draw(view, view.began + 1)
    text = raw.getvalue().decode("ascii").replace("\x1b[K", "").replace("\x1b[J", "").replace("\r", "")
    told = plain(render(view, view.began + 1, 80, 24)).split("\n")
    assert [len(line) for line in text.splitlines()] == [len(line) for line in told]
    assert "412 ~ 30.0" in text
    assert re.search(r"loss +0.2 +\^ +0.077 +_#", text)


def test_one_line_of_progress(view):
    line = progress_line(view, view.began + 5)
    assert line.split("  ")[-1] == "0:07 left"
    for part in ("4,096 steps", "41%", "return 182.3", "fps 5,120", "loss 0.1235", "kl 0.0031"):
        assert part in line


def test_progress_tells_the_return_of_the_stage_that_is_played(view):
    """That of the last stage, which all else is about, is not known yet."""
    view.stages = ("short", "long")
    view.history.append({"env_steps": 5000, "curriculum/stage": 1.0, "task_return/short": 52.5})
    assert "  return 52.5 in short  " in progress_line(view, view.began + 5)
    view.history.append({"env_steps": 6000, "curriculum/stage": 2.0})
    assert "return" not in progress_line(view, view.began + 5)  # no episode has ended there
    view.history.append({"env_steps": 7000, "curriculum/stage": 2.0, "task_return/long": 170.0})
    assert "  return 170 in long  " in progress_line(view, view.began + 5)


def test_lines_go_to_the_screen_and_to_the_log(place):
    stream = io.StringIO()
    plan = plan_run("Bandit-v0", {"steps": 600, "eval.every": 256, "solved_at": 100})
    outcome = start_run(plan, observer=Watcher(PlainScreen(stream)))
    log = (outcome.run.path / "log.txt").read_text()
    assert stream.getvalue() == log
    assert log.count("evaluation:") >= 2
    assert "100 needed" in log
    assert "\x1b" not in log


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
    monkeypatch.setattr("gymsolve.cli.live.console.time", clock)
    watcher = Watcher(screen)
    watcher._view = view
    for step in range(100_000):
        watcher.rollout_step(step % 128 + 1, 128)
    assert 0 < screen.spent <= 0.0101 * clock.now


PATIENT = """
import sys
import gymsolve.cli.live.progress as progress
progress._PATIENCE = float(sys.argv[1])
from gymsolve.cli import main
sys.exit(main(sys.argv[2:]))
"""


def on_terminal(*words: str, patience: float | None = None) -> tuple[int, str]:
    """The real program on a pseudo-terminal: its exit code, and all it wrote."""
    program = ["-m", "gymsolve"] if patience is None else ["-c", PATIENT, str(patience)]
    command = [sys.executable, *program, *words]
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
    return os.waitstatus_to_exitcode(status), seen.decode()


def test_a_long_evaluation_has_a_bar_on_a_terminal_only(trained, cli):
    """Whatever the machine, it is long for a bar that has no patience."""
    code, text = on_terminal("eval", trained, "--episodes", "2000", patience=0.0)
    assert code == 0
    bars = [part for part in text.split("\r\x1b[K") if part.startswith("evaluating")]
    assert bars
    assert "/ 2,000 episodes" in bars[0]
    shown = [int(part.rpartition(" / ")[0].split()[-1].replace(",", "")) for part in bars]
    assert shown == sorted(shown)
    assert "mean return" in text.rpartition("\r\x1b[K")[2]  # the bar is gone before the result is told
    code, text = on_terminal("eval", trained, "--episodes", "2", patience=1e9)
    assert code == 0
    assert "evaluating" not in text


def test_off_a_terminal_there_is_no_bar(trained, cli, monkeypatch):
    monkeypatch.setattr("gymsolve.cli.live.progress._PATIENCE", 0.0)
    piped = cli("eval", trained, "--episodes", "20")
    assert piped.err == ""
    assert "evaluating" not in piped.out


def test_a_bar_appears_after_a_second_and_is_drawn_five_times_a_second(monkeypatch):
    class Clock:
        now = 100.0

        def perf_counter(self) -> float:
            return self.now

    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr("gymsolve.cli.live.progress.time", clock)
    bar = ProgressBar(stream, "evaluating", "episodes")
    drawn = []
    for tenths in range(1, 21):
        clock.now = 100.0 + tenths * 0.100001
        before = len(stream.getvalue())
        bar.tell(tenths, 20)
        if len(stream.getvalue()) > before:
            drawn.append(tenths)
    assert drawn == [10, 12, 14, 16, 18, 20]
    bar.clear()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_training_on_a_terminal(place):
    """A live table, then the panel."""
    code, text = on_terminal("train", "Bandit-v0", "--steps", "2k")
    assert code == 0
    assert "elapsed" in text
    assert "╭─" in text
    assert "gymsolve eval @last" in text
    assert "\x1b[?25l" not in text  # the cursor is never hidden


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
        (took(0.84), "0.8 s"),
        (took(42.9), "0:42"),
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


def test_the_bar_of_a_solved_run_is_full_and_promises_nothing(view):
    view.ended = "solved"
    text = plain(render(view, view.began + 5, 80, 45)).splitlines()[1]
    assert text.endswith("solved after 4,096 of 10,000 steps")
    assert "─" not in text
    view.ended = "ended"
    text = plain(render(view, view.began + 5, 80, 45)).splitlines()[1]
    assert text.endswith("ended after 4,096 of 10,000 steps")
    assert "left" not in text


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_paths_and_commands_of_a_verdict_can_be_copied(capsys, monkeypatch, width):
    class Solved:
        solved = True

    monkeypatch.setattr("gymsolve.cli.printing.output.is_terminal", lambda: True)
    monkeypatch.setattr("gymsolve.cli.printing.verdict.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    path = "/home/some body/a-long-folder/runs/20261116-091239-CartPole-v1-ppo-62b6"
    lines = [
        "SOLVED  CartPole-v1:ppo",
        "best mean return 491.8 ± 32.6 over 100 episodes (threshold 475), 495.8 over 100 fresh ones",
        f"run   {path}",
        f"page  {path}/report.html",
        f"next  gymsolve eval @last --runs-dir '{path}'",
        f"      gymsolve runs show @last --runs-dir '{path}'",
    ]
    print_verdict(Solved, lines)
    shown = capsys.readouterr().out
    for line in lines[2:]:
        assert line in shown


def test_a_run_shows_its_most_important_metrics(cli, trained):
    few = cli("runs", "show", trained).out
    everything = cli("runs", "show", trained, "--metrics").out

    assert "rollout/ep_rew_mean" in few
    assert "train/explained_variance" in few
    assert "time/diagnose_seconds" not in few
    assert re.search(r"\d+ more are shown by --metrics", few)
    assert len(few.partition("Newest metrics")[2].partition("Events")[0].splitlines()) < 25
    assert "time/diagnose_seconds" in everything
    assert "more are shown" not in everything
