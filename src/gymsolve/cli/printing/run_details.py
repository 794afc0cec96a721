"""One run as `gymsolve runs show` prints it: facts, then tables."""

import shlex
from pathlib import Path
from typing import Any

from gymsolve.cli.printing.output import heading, print_lines, print_pairs, print_section, say
from gymsolve.metrics.catalog import find_metric
from gymsolve.metrics.tasks import TaskVerdict, task_verdicts
from gymsolve.metrics.time_accounting import NAMES
from gymsolve.runs.logbook import LogEntry
from gymsolve.runs.videos import Video, cut_note, same_films
from gymsolve.text import age, count, duration, number, score, setting, took
from gymsolve.view.runs import ListedRun, RunDetails, StoredCheckpoint
from gymsolve.view.stages import VisitedStage

_HIGHLIGHTS = ("env.num_envs", "algo.num_steps", "algo.learning_rate", "algo.gamma", "net.hidden", "seed")
_STAGE_HEADERS = ("stage", "from", "to", "ended", "in training", "surely", "now", "forgotten", "weights")
_CHECKPOINT_HEADERS = ("steps", "pointers", "saved because", "evaluation")
_EVALUATION_HEADERS = ("steps", "mean return", "min", "max", "episodes")
_TASK_HEADERS = ("task", "mean return", "threshold", "reached")
_VIDEO_HEADERS = ("file", "checkpoint", "return", "length", "")
_TRIAL_HEADERS = ("run", "status", "seed", "best")


def print_run(run: RunDetails, *, everything: bool) -> None:
    """Print a run; with `everything`, all of its newest metrics."""
    say(run.id)
    print_pairs(_facts(run))
    print_section("Stages", _STAGE_HEADERS, map(_stage_row, run.stages), right=("from", "to"))
    print_section("Checkpoints", _CHECKPOINT_HEADERS, map(_checkpoint_row, run.checkpoints), right=("steps",))
    numbers = "steps", "min", "max", "episodes"
    print_section("Evaluations", _EVALUATION_HEADERS, map(_evaluation_row, run.evaluations), right=numbers)
    tasks = task_verdicts(run.evaluations[-1]) if run.evaluations else []
    print_section("Tasks, newest evaluation", _TASK_HEADERS, map(_task_row, tasks), right=("threshold",))
    print_section("Videos", _VIDEO_HEADERS, _video_rows(run.videos), right=_VIDEO_HEADERS[1:4])
    print_section("Trials", _TRIAL_HEADERS, map(_trial_row, run.trials), right=("seed", "best"))
    if run.logbook:
        heading("Logbook")
        for entry in run.logbook:
            print_entry(entry)
    _print_metrics(run.last_metrics, everything=everything)
    print_section("Events", ("time", "event", "details"), map(_event_row, run.events))
    print_lines("Problems", run.problems)


def print_entry(entry: LogEntry) -> None:
    """Print an entry of the logbook."""
    when = age(entry.time)
    say(f"{'just now' if when == 'now' else f'{when} ago'}, {entry.by}: {entry.note}".rstrip(" :"))
    parts = {"hypothesis": entry.hypothesis, "change": entry.change, "result": entry.result}
    for name, text in parts.items():
        if text:
            say(f"  {name}: {text}")
    if entry.verdict != "open" or any(parts.values()):
        say(f"  verdict: {entry.verdict}")
    if entry.runs:
        say(f"  runs: {', '.join(entry.runs)}")


def _facts(run: RunDetails) -> list[tuple[str, str]]:
    reason = f" ({run.reason})" if run.reason not in (None, "", run.status) else ""
    result = run.result or {}
    needed = "" if run.threshold is None else f" (threshold {number(run.threshold)})"
    if result.get("success_threshold") is not None:
        reached = "–" if result["success_rate"] is None else f"{result['success_rate']:.0%}"
        needed = f" ({reached} successes, threshold {result['success_threshold']:.0%})"
    config = run.config
    facts = [
        *([("name", run.label)] if run.label else []),
        *([("tags", " ".join(run.tags))] if run.tags else []),
        ("recipe", run.name),
        ("status", f"{run.status}{reason}"),
        ("best return", f"{number(run.best_reward)}{needed}"),
        ("steps", f"{count(run.env_steps)}{_budget(run)}"),
        ("time", _time(run)),
        ("started", f"{run.created[:19].replace('T', ' ')} UTC"),
        ("folder", run.path),
        ("command", shlex.join(run.command)),
    ]
    if run.parent:
        begun = run.parent["checkpoint"]
        name = "trial of" if run.is_trial else "begun from"
        gone = "" if run.parent_deleted is None else f" (deleted on {run.parent_deleted})"
        facts.append((name, run.parent["run"] + ("" if begun is None else f"@{begun}") + gone))
    if "archive/cells" in run.last_metrics:
        facts.append(("archive", _archive(run.last_metrics)))
    if run.group:
        facts.append(("seeds of", f"group:{run.group}"))
    values = [(path, _lookup(config, path)) for path in _HIGHLIGHTS]
    facts.append(("settings", "  ".join(f"{path}={setting(value)}" for path, value in values)))
    return facts


def _archive(metrics: dict[str, Any]) -> str:
    parts = [f"{count(int(metrics['archive/cells']))} cells"]
    prefix = "archive_best_score/"
    tasks = [name.removeprefix(prefix) for name in metrics if name.startswith(prefix)]
    if tasks:  # `archive/best_score` is a mean over them
        scores = (f"{task} {number(metrics[prefix + task])}" for task in tasks)
        parts.append(f"best scores: {', '.join(scores)}")
    elif "archive/best_score" in metrics:
        parts.append(f"best score {number(metrics['archive/best_score'])}")
    return ", ".join(parts)


def _time(run: RunDetails) -> str:
    """The time of training, and the shares of the whole time by part."""
    whole = sum(run.spent.values())
    longest = sorted(run.spent.items(), key=lambda item: item[1], reverse=True)
    shares = [f"{NAMES[part]} {spent / whole:.0%}" for part, spent in longest if spent >= 0.01 * whole]
    trained = f"{took(run.seconds)} training and evaluating"
    return f"{trained}; {took(whole)} in all ({', '.join(shares)})" if shares else trained


def _lookup(config: dict[str, Any], path: str) -> Any:
    node: Any = config
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _stage_row(stage: VisitedStage) -> tuple[str, ...]:
    figures = stage.achieved, stage.bound, stage.now, stage.forgotten
    ended = "" if stage.ended is None else count(stage.ended)
    numbers = ("" if figure is None else number(figure) for figure in figures)
    weights = "" if stage.master is None else f"@stage-{stage.stage}"
    return stage.stage, count(stage.began), ended, stage.ending, *numbers, weights


def _checkpoint_row(checkpoint: StoredCheckpoint) -> tuple[str, ...]:
    pointers = ["best"] * checkpoint.best + ["last"] * checkpoint.last
    evaluation = checkpoint.eval or {}
    reward = score(evaluation.get("eval/mean_reward"), evaluation.get("eval/std_reward"))
    return checkpoint.name, ", ".join(pointers), checkpoint.reason or "", reward


def _evaluation_row(record: dict[str, Any]) -> tuple[str, ...]:
    mean = score(record["eval/mean_reward"], record.get("eval/std_reward"))
    ends = number(record.get("eval/min_reward")), number(record.get("eval/max_reward"))
    return count(record["env_steps"]), mean, *ends, count(record.get("eval/episodes") or 0)


def _task_row(task: TaskVerdict) -> tuple[str, ...]:
    return task.name, score(task.mean, task.std), number(task.threshold), "yes" if task.reached else "no"


def _video_rows(videos: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Each film once: `best.mp4` and `final.mp4` are often the same."""
    films = same_films([Video(Path(f"{video['name']}.mp4"), _film_facts(video)) for video in videos])
    by_name = {video["name"]: video for video in videos}
    return [_video_row(by_name[film.name], others) for film, others in films]


def _film_facts(video: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in video.items() if name not in ("name", "path")}


def _video_row(video: dict[str, Any], others: list[str]) -> tuple[str, ...]:
    names, length = (f"{name}.mp4" for name in (video["name"], *others)), "–"
    file = f"videos/{', '.join(names)}"
    if video.get("seconds") is not None:
        length = duration(video["seconds"])
    note = cut_note(video).removeprefix(", ")
    return file, video.get("checkpoint", "–"), number(video.get("return")), length, note


def _trial_row(trial: ListedRun) -> tuple[str, ...]:
    return trial.id, trial.status, "–" if trial.seed is None else str(trial.seed), number(trial.best_reward)


def _budget(run: RunDetails) -> str:
    if run.config.get("budget_in") == "vec_steps":
        return f", {count(run.last_metrics.get('vec_steps', 0))} of {count(run.steps or 0)} vector steps"
    return f" of {count(run.steps or 0)}"


def _print_metrics(newest: dict[str, Any], *, everything: bool) -> None:
    if not newest:
        return
    heading("Newest metrics")
    # Neither counters nor the bars of a histogram.
    names = [name for name in sorted(newest) if "/" in name and not name.startswith("gradient/")]
    important = [name for name in names if (metric := find_metric(name)) and metric.priority == 1]
    rows = names if everything else important
    print_pairs((name, _metric(newest[name])) for name in rows)
    if len(rows) < len(names):
        say(f"  {len(names) - len(rows)} more are shown by --metrics")


def _event_row(event: dict[str, Any]) -> tuple[str, str, str]:
    moment = event["time"][:19].replace("T", " ")
    if event["kind"] == "config_changed":
        return moment, "settings changed", ""  # its details are all earlier settings
    details = [
        f"{key}={_metric(value)}"
        for key, value in event.items()
        if key not in ("time", "kind") and "/" not in key and value != ""
    ]
    return moment, event["kind"], " ".join(details)


def _metric(value: Any) -> str:
    return number(value) if isinstance(value, float) else setting(value)
