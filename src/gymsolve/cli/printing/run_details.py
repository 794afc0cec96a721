"""One run as `gymsolve runs show` prints it: facts, then tables."""

import shlex
from typing import Any

from gymsolve.cli.printing.output import heading, print_lines, print_pairs, print_table, say
from gymsolve.metrics.catalog import find_metric
from gymsolve.metrics.tasks import task_verdicts
from gymsolve.metrics.time_accounting import NAMES
from gymsolve.runs.logbook import LogEntry
from gymsolve.runs.videos import cut_note
from gymsolve.text import age, count, duration, number, score, setting, took
from gymsolve.view.runs import ListedRun, RunDetails, StoredCheckpoint
from gymsolve.view.stages import VisitedStage

_HIGHLIGHTS = ("env.num_envs", "algo.num_steps", "algo.learning_rate", "algo.gamma", "net.hidden", "seed")


def print_run(run: RunDetails, *, everything: bool) -> None:
    """Print a run; with `everything`, all of its newest metrics."""
    say(run.id)
    print_pairs(_facts(run))
    _show_stages(run.stages)
    _show_checkpoints(run.checkpoints)
    _show_evaluations(run.evaluations)
    _show_tasks(run.evaluations)
    _show_videos(run.videos)
    _show_trials(run.trials)
    if run.logbook:
        heading("Logbook")
        for entry in run.logbook:
            print_entry(entry)
    _show_metrics(run.last_metrics, everything=everything)
    if run.events:
        heading("Events")
        print_table(("time", "event", "details"), [_event(event) for event in run.events])
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
        facts.append((name, run.parent["run"] + ("" if begun is None else f"@{begun}")))
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


def _show_checkpoints(checkpoints: list[StoredCheckpoint]) -> None:
    if not checkpoints:
        return
    heading("Checkpoints")
    rows = []
    for checkpoint in checkpoints:
        pointers = ["best"] * checkpoint.best + ["last"] * checkpoint.last
        evaluation = checkpoint.eval or {}
        reward = score(evaluation.get("eval/mean_reward"), evaluation.get("eval/std_reward"))
        rows.append((checkpoint.name, ", ".join(pointers), checkpoint.reason or "", reward))
    print_table(("steps", "pointers", "saved because", "evaluation"), rows, right=("steps",))


def _show_evaluations(evaluations: list[dict[str, Any]]) -> None:
    if not evaluations:
        return
    heading("Evaluations")
    rows = [
        (
            count(row["env_steps"]),
            score(row["eval/mean_reward"], row.get("eval/std_reward")),
            number(row.get("eval/min_reward")),
            number(row.get("eval/max_reward")),
            count(row["eval/episodes"]),
        )
        for row in evaluations
    ]
    print_table(
        ("steps", "mean return", "min", "max", "episodes"), rows, right=("steps", "min", "max", "episodes")
    )


def _show_tasks(evaluations: list[dict[str, Any]]) -> None:
    tasks = task_verdicts(evaluations[-1]) if evaluations else []
    if not tasks:
        return
    heading("Tasks, newest evaluation")
    rows = [
        (task.name, score(task.mean, task.std), number(task.threshold), "yes" if task.reached else "no")
        for task in tasks
    ]
    print_table(("task", "mean return", "threshold", "reached"), rows, right=("threshold",))


def _budget(run: RunDetails) -> str:
    if run.config.get("budget_in") == "vec_steps":
        return f", {count(run.last_metrics.get('vec_steps', 0))} of {count(run.steps or 0)} vector steps"
    return f" of {count(run.steps or 0)}"


def _show_metrics(newest: dict[str, Any], *, everything: bool) -> None:
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


def _show_videos(videos: list[dict[str, Any]]) -> None:
    if not videos:
        return
    heading("Videos")
    rows = [
        (
            f"videos/{video['name']}.mp4",
            video.get("checkpoint", "–"),
            number(video.get("return")),
            "–" if "seconds" not in video else duration(video["seconds"]),
            cut_note(video).removeprefix(", "),
        )
        for video in videos
    ]
    headers = ("file", "checkpoint", "return", "length", "")
    print_table(headers, rows, right=("checkpoint", "return", "length"))


def _show_trials(trials: list[ListedRun]) -> None:
    if not trials:
        return
    heading("Trials")
    rows = [
        (trial.id, trial.status, "–" if trial.seed is None else str(trial.seed), number(trial.best_reward))
        for trial in trials
    ]
    print_table(("run", "status", "seed", "best"), rows, right=("seed", "best"))


def _event(event: dict[str, Any]) -> tuple[str, str, str]:
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


def _show_stages(stages: list[VisitedStage]) -> None:
    """Print the result of each stage of a curriculum and how much of it was forgotten."""
    if not stages:
        return
    heading("Stages")
    rows = [
        (
            stage.stage,
            count(stage.began),
            "" if stage.ended is None else count(stage.ended),
            stage.ending,
            _number_or_blank(stage.achieved),
            _number_or_blank(stage.bound),
            _number_or_blank(stage.now),
            _number_or_blank(stage.forgotten),
            "" if stage.master is None else f"@stage-{stage.stage}",
        )
        for stage in stages
    ]
    headers = ("stage", "from", "to", "ended", "in training", "surely", "now", "forgotten", "weights")
    print_table(headers, rows, right=("from", "to"))


def _number_or_blank(value: float | None) -> str:
    return "" if value is None else number(value)
