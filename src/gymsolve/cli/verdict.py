"""The last word on a run: solved or not, by which numbers, and what to do next."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.cli.alerts import summary_line
from gymsolve.cli.output import is_terminal
from gymsolve.text import count, duration, number, score, size

if TYPE_CHECKING:
    from gymsolve.training.session import Outcome

__all__ = ["print_verdict", "verdict_lines"]

_WHY = {
    "steps": "the budget is spent",
    "time": "the time is up",
    "stop file": "stopped on request",
    "interrupt": "stopped by Ctrl-C",
    "terminated": "stopped by the system",
}


def print_verdict(outcome: "Outcome", lines: list[str]) -> None:
    """A panel on a terminal, plain lines elsewhere."""
    if not is_terminal():
        print("\n".join(lines))
        return
    from rich.panel import Panel
    from rich.text import Text

    from gymsolve.cli.output import make_console

    colour = "green" if outcome.solved else "yellow"
    body = Text("\n").join(Text(line) for line in lines[1:])
    make_console().print(
        Panel(body, title=Text(lines[0], style="bold"), title_align="left", border_style=colour)
    )


def verdict_lines(outcome: "Outcome", runs_dir: Path | None) -> list[str]:
    """The verdict as text; the first line is its title."""
    from gymsolve.runs.videos import find_best_video
    from gymsolve.service.runs import best_evaluation

    name = outcome.run.info()["name"]
    evaluation, video = best_evaluation(outcome.run), find_best_video(outcome.run)
    title = "SOLVED" if outcome.solved else f"Not solved: {_WHY.get(outcome.reason, outcome.reason)}"
    if outcome.threshold is None:
        title = f"Done: {_WHY.get(outcome.reason, outcome.reason)}"
    return [
        f"{title}  {name}",
        _result(evaluation, outcome.threshold),
        f"{count(outcome.env_steps)} steps in {duration(outcome.seconds)}",
        f"run   {outcome.run.path}",
        *([] if video is None else [f"video {video.path}"]),
        *([f"page  {page}"] if (page := outcome.run.path / "report.html").is_file() else []),
        *(summary_line(alert.to_json(), outcome.because.get(alert.id)) for alert in outcome.alerts),
        *_next_commands(outcome, runs_dir),
    ]


def _result(evaluation: dict[str, Any] | None, threshold: float | None) -> str:
    needed = "no threshold is known" if threshold is None else f"threshold {number(threshold)}"
    if evaluation is None:
        return f"never evaluated ({needed})"
    mean = score(evaluation["eval/mean_reward"], evaluation.get("eval/std_reward"))
    told = f"best mean return {mean} over {count(evaluation['eval/episodes'])} episodes ({needed})"
    if "eval/confirm_mean_reward" in evaluation:
        again = number(evaluation["eval/confirm_mean_reward"])
        told += f", {again} over {count(evaluation['eval/confirm_episodes'])} fresh ones"
    return told


def _next_commands(outcome: "Outcome", runs_dir: Path | None) -> list[str]:
    where = "" if runs_dir is None else f" --runs-dir {runs_dir}"
    commands = [f"gymsolve eval @last{where}"]
    if outcome.reason in _WHY:
        budget = outcome.run.info()["steps"]
        enough = 2 * budget if 2 * budget > outcome.env_steps else 2 * outcome.env_steps
        more = f" --steps {size(enough)}" if outcome.reason == "steps" else ""
        commands.append(f"gymsolve resume @last{more}{where}")
    if outcome.alerts:
        commands.append(f"gymsolve diagnose @last{where}")
    commands.append(f"gymsolve runs show @last{where}")
    return [f"{'next' if index == 0 else '':<6}{command}" for index, command in enumerate(commands)]
