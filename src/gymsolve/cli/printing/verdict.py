"""The verdict on a run: solved or not, by which numbers, and what to do next."""

import math
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.cli.printing.alerts import summary_lines
from gymsolve.cli.printing.output import is_terminal, print_panel, say
from gymsolve.cli.printing.tables import can_say, fold
from gymsolve.doctor.history import History
from gymsolve.metrics.tasks import task_verdicts
from gymsolve.metrics.time_accounting import NAMES, spent_in_all
from gymsolve.metrics.training_returns import CUT_SHARE, selection, training_unit
from gymsolve.recipes import validate
from gymsolve.runs.videos import cut_note, find_best_video
from gymsolve.text import count, number, plural, score, setting, size, took
from gymsolve.view.runs import best_evaluation

if TYPE_CHECKING:
    from gymsolve.runs.run import Run
    from gymsolve.settings.config import WrapperConfig
    from gymsolve.training.outcome import Outcome

_LABEL = 6
_TRAINING = ("env", "act", "update", "eval")
_COPIED = ("run", "video", "page", "next")
"""Labels of lines that hold paths or commands."""
_RETURN = "rollout/ep_rew_mean"
_RECENT = 100
"""Episodes behind a training return, at most."""
_WHY = {
    "steps": "the budget is spent",
    "time": "the time is up",
    "observer": "an observer ended the run",
    "stop file": "stopped on request",
    "interrupt": "stopped by Ctrl-C",
    "terminated": "stopped by the system",
    "hangup": "the terminal was closed",
}
"""Reasons for the end of a training that can be resumed, in words."""
_SHAPING = ("env.kwargs", "env.wrappers", "env.max_episode_steps", "env.frame_stack", "env.action_masks")
"""Settings that change the environment."""


def print_verdict(outcome: "Outcome", lines: list[str]) -> None:
    """A panel on a terminal, plain lines elsewhere."""
    if not (is_terminal() and can_say("╭─│╰", sys.stdout.encoding)):
        say("\n".join(lines))
        return
    width = shutil.get_terminal_size().columns - 4
    print_panel(lines[0], _folded(lines[1:], width), "green" if outcome.solved else "yellow")


def verdict_lines(outcome: "Outcome", runs_dir: Path | None) -> list[str]:
    """The verdict as text; the first line is its title."""
    name = outcome.run.info()["name"]
    evaluation, video = best_evaluation(outcome.run), find_best_video(outcome.run)
    title = "SOLVED" if outcome.solved else f"Not solved: {_WHY.get(outcome.reason, outcome.reason)}"
    if outcome.threshold is None and outcome.success_threshold is None:
        title = f"Done: {_WHY.get(outcome.reason, outcome.reason)}"
    return [
        f"{title}  {name}",
        _result(evaluation, outcome),
        *_labelled("tasks", [str(task) for task in task_verdicts(evaluation or {})]),
        *_training(outcome),
        _took(outcome),
        f"run   {outcome.run.path}",
        *([] if video is None else [f"video {video.path}{cut_note(video.facts)}"]),
        *([f"page  {page}"] if (page := outcome.run.path / "report.html").is_file() else []),
        *_findings(outcome),
        *_labelled("next", next_steps(outcome, runs_dir)),
    ]


def _took(outcome: "Outcome") -> str:
    """Steps and seconds of training, and the time of the whole run where that is much more."""
    history = History(outcome.run.read_metrics().rows)
    spent = spent_in_all(history.spending, outcome.run.read_events().rows)
    trained, whole = f"{count(outcome.env_steps)} steps in {took(outcome.seconds)}", sum(spent.values())
    if whole - outcome.seconds < max(1.0, 0.05 * whole):
        return trained
    most = max((part for part in spent if part not in _TRAINING), key=lambda part: spent[part])
    return f"{trained}, {took(whole)} in all (most of the rest: {NAMES[most]}, {took(spent[most])})"


def _folded(lines: list[str], width: int) -> list[str]:
    """Prose is folded with an indent; paths and commands stay whole, so that they can be copied."""
    folded, label, indent = [], "", " " * _LABEL
    for line in lines:
        label = line[:_LABEL].strip() or label
        if label in _COPIED:
            folded.append(line)
            continue
        folded += fold(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return folded


def _findings(outcome: "Outcome") -> list[str]:
    """The causes with their consequences; hints come last."""
    alerts = [alert.to_json() for alert in outcome.alerts]
    roots = [alert for alert in alerts if alert["id"] not in outcome.because]
    lines = []
    for index, root in enumerate(roots):
        label = "also" if index else "seen" if outcome.solved else "why"
        label = "note" if root["severity"] == "info" else label
        follows = [alert for alert in alerts if outcome.because.get(alert["id"]) == root["id"]]
        lines += _labelled(label, summary_lines(root, follows))
    return lines


def _labelled(label: str, lines: list[str]) -> list[str]:
    return [f"{'' if place else label:<{_LABEL}}{line}" for place, line in enumerate(lines)]


def _training(outcome: "Outcome") -> list[str]:
    """The return of the last training episodes, to compare with the evaluations."""
    rows = outcome.run.read_metrics().rows
    last = next((row for row in reversed(rows) if math.isfinite(row.get(_RETURN, math.nan))), None)
    if last is None:
        return []
    unit = training_unit(outcome.run.config_json()["config"]["env"])
    line = f"training's own mean {number(last[_RETURN])}{f' {unit}' if unit else ''} {_behind(outcome, last)}"
    line += f" ({left})" if (left := selection(last.get(CUT_SHARE))) else ""
    line += "; evaluations play whole games" if unit else ""
    paid = last.get("rollout/ep_shaped_rew_mean")
    return [line if paid is None else f"{line}, for which wrappers paid the agent {number(paid)}"]


def _behind(outcome: "Outcome", record: dict[str, Any]) -> str:
    """The episodes behind a training return, in words."""
    config = outcome.run.config_json()["config"]
    stages, tasks = (config.get("curriculum") or {}).get("stages"), config["env"].get("tasks") or {}
    if stages:
        goal = stages[-1] if isinstance(stages[-1], str) else stages[-1]["name"]
        episodes = int(min(_RECENT, record[f"task_episodes/{goal}"]))
        return f"over the last {plural(episodes, 'episode')} of {goal}"
    if tasks:
        return f"over {plural(len(tasks), 'task')}, each over its last {_RECENT} episodes at most"
    return f"over its last {plural(int(min(_RECENT, record['rollout/episodes'])), 'episode')}"


def _result(evaluation: dict[str, Any] | None, outcome: "Outcome") -> str:
    bar, needed = outcome.success_threshold, "no threshold is known"
    if bar is not None:
        needed = f"threshold {bar:.0%}"
    elif outcome.threshold is not None:
        needed = f"threshold {number(outcome.threshold)}"
    if evaluation is None:
        failed = any(event["kind"] == "eval_failed" for event in outcome.run.read_events().rows)
        return f"{'no evaluation gave a verdict' if failed else 'never evaluated'} ({needed})"
    if bar is not None:
        return _successes(evaluation, needed)
    mean = score(evaluation["eval/mean_reward"], evaluation.get("eval/std_reward"))
    line = f"best mean return {mean} over {plural(int(evaluation['eval/episodes']), 'episode')} ({needed})"
    if "eval/confirm_mean_reward" in evaluation:
        again = number(evaluation["eval/confirm_mean_reward"])
        line += f", {again} over {count(evaluation['eval/confirm_episodes'])} fresh ones"
    return line


def _successes(evaluation: dict[str, Any], needed: str) -> str:
    """The result where the share of successes decides."""
    played = plural(int(evaluation["eval/episodes"]), "episode")
    line = f"best {evaluation['eval/success_rate']:.0%} successes over {played} ({needed})"
    again = evaluation.get("eval/confirm_success_rate")
    if again is not None:
        line += f", {again:.0%} over {count(evaluation['eval/confirm_episodes'])} fresh ones"
    return f"{line}; mean return {score(evaluation['eval/mean_reward'], evaluation.get('eval/std_reward'))}"


def steps_of_budget(run: "Run", env_steps: int) -> int:
    """Environment steps in the unit that `--steps` has in this run (`budget_in`)."""
    config = run.config_json()["config"]
    return env_steps // config["env"]["num_envs"] if config.get("budget_in") == "vec_steps" else env_steps


def next_steps(outcome: "Outcome", runs_dir: Path | None) -> list[str]:
    """Commands to try next; more training only where no cause was diagnosed."""
    where = "" if runs_dir is None else f" --runs-dir {runs_dir}"
    roots = [alert for alert in outcome.alerts if alert.id not in outcome.because]
    causes = [alert for alert in roots if alert.severity != "info"]
    blocked = bool(causes) and not outcome.solved
    steps = [f"gymsolve diagnose @last{where}"] if causes else []
    if blocked and causes[0].changes:
        steps.append(f"gymsolve fix @last{where}")
    elif blocked:
        steps += _look(outcome)
    steps.append(f"gymsolve eval @last{where}")
    if outcome.reason in _WHY and not blocked:
        budget, spent = outcome.run.info()["steps"], steps_of_budget(outcome.run, outcome.env_steps)
        enough = 2 * (budget if 2 * budget > spent else spent)
        more = f" --steps {size(enough)}" if outcome.reason == "steps" else ""
        steps.append(f"gymsolve resume @last{more}{where}")
    return [*steps, f"gymsolve runs show @last{where}"]


def _look(outcome: "Outcome") -> list[str]:
    """Where no setting helps: check the environment and its wrappers."""
    stored = outcome.run.config_json()
    config = validate(stored["config"], "config.json")
    chosen = [path for path in _SHAPING if stored["provenance"].get(path, "").startswith("--set")]
    changes = [f"{path}={setting(_value(stored['config'], path))}" for path in chosen]
    words = ["gymsolve", "check", stored["name"], *(word for change in changes for word in ("--set", change))]
    wrappers = [_wrapper(wrapper) for wrapper in config.env.wrappers]
    plural = "s" if len(wrappers) > 1 else ""
    looks = [f"look at the wrapper{plural} {', '.join(wrappers)}"] if wrappers else []
    return [shlex.join(words), *looks]


def _wrapper(wrapper: "WrapperConfig") -> str:
    sides = {"train": "training", "eval": "evaluation"}
    used = [side for role, side in sides.items() if role in wrapper.roles]
    return f"{wrapper.name} ({used[0]} only)" if len(used) == 1 else wrapper.name


def _value(config: dict[str, Any], path: str) -> Any:
    section, _, key = path.partition(".")
    return config[section][key]
