"""One run as `gymsolve runs show` tells it: facts, then a table for whatever there is."""

import shlex
from typing import TYPE_CHECKING, Any

from gymsolve.cli.printing.output import heading, print_pairs, print_table, say
from gymsolve.text import age, count, duration, number, score, setting, took

if TYPE_CHECKING:
    from gymsolve.runs.logbook import LogEntry
    from gymsolve.view.runs import ListedRun, RunDetails, StoredCheckpoint
    from gymsolve.view.stages import VisitedStage

_HIGHLIGHTS = ("env.num_envs", "algo.num_steps", "algo.learning_rate", "algo.gamma", "net.hidden", "seed")


def print_run(run: "RunDetails", *, everything: bool) -> None:
    """All that is known of a run; `everything` has all of its newest metrics."""
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
    if run.problems:
        heading("Problems")
        for problem in run.problems:
            say(f"  {problem}")


def print_entry(entry: "LogEntry") -> None:
    """One entry in a few lines."""
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


def _facts(run: "RunDetails") -> list[tuple[str, str]]:
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
    """What a run with an archive has found."""
    parts = [f"{count(int(metrics['archive/cells']))} cells"]
    prefix = "archive_best_score/"
    tasks = [name.removeprefix(prefix) for name in metrics if name.startswith(prefix)]
    if tasks:  # what stands for all of them is a mean
        scores = (f"{task} {number(metrics[prefix + task])}" for task in tasks)
        parts.append(f"best scores: {', '.join(scores)}")
    elif "archive/best_score" in metrics:
        parts.append(f"best score {number(metrics['archive/best_score'])}")
    return ", ".join(parts)


def _time(run: "RunDetails") -> str:
    """Of training, and where the time of the whole run went."""
    from gymsolve.metrics.time_accounting import NAMES

    whole = sum(run.spent.values())
    parts = sorted(run.spent, key=lambda part: run.spent[part], reverse=True)
    shown = [
        f"{NAMES[part]} {run.spent[part] / whole:.0%}" for part in parts if run.spent[part] >= 0.01 * whole
    ]
    trained = f"{took(run.seconds)} training and evaluating"
    return f"{trained}; {took(whole)} in all ({', '.join(shown)})" if shown else trained


def _lookup(config: dict[str, Any], path: str) -> Any:
    node: Any = config
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _show_checkpoints(checkpoints: "list[StoredCheckpoint]") -> None:
    if not checkpoints:
        return
    heading("Checkpoints")
    rows = []
    for saved in checkpoints:
        marks = [mark for mark, there in (("best", saved.best), ("last", saved.last)) if there]
        evaluation = saved.eval or {}
        reward = score(evaluation.get("eval/mean_reward"), evaluation.get("eval/std_reward"))
        rows.append((saved.name, ", ".join(marks), saved.reason or "", reward))
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
    """Each of several tasks in the newest evaluation."""
    from gymsolve.metrics.tasks import task_verdicts

    tasks = task_verdicts(evaluations[-1]) if evaluations else []
    if not tasks:
        return
    heading("Tasks, newest evaluation")
    rows = [
        (task.name, score(task.mean, task.std), number(task.threshold), "yes" if task.reached else "no")
        for task in tasks
    ]
    print_table(("task", "mean return", "threshold", "reached"), rows, right=("threshold",))


def _is_number(name: str) -> bool:
    """Worth a line of its own: neither a counter nor one bar of a histogram."""
    return "/" in name and not name.startswith("gradient/")


def _budget(run: "RunDetails") -> str:
    if run.config.get("budget_in") == "vec_steps":
        return f", {count(run.last_metrics.get('vec_steps', 0))} of {count(run.steps or 0)} vector steps"
    return f" of {count(run.steps or 0)}"


def _show_metrics(newest: dict[str, Any], *, everything: bool) -> None:
    if not newest:
        return
    from gymsolve.metrics.catalog import find_metric

    heading("Newest metrics")
    named = {name: value for name, value in sorted(newest.items()) if _is_number(name)}
    shown = {
        name: value
        for name, value in named.items()
        if everything or ((known := find_metric(name)) is not None and known.priority == 1)
    }
    print_pairs((name, _metric(value)) for name, value in shown.items())
    if len(shown) < len(named):
        say(f"  {len(named) - len(shown)} more are shown by --metrics")


def _show_videos(videos: list[dict[str, Any]]) -> None:
    if not videos:
        return
    from gymsolve.runs.videos import cut_note

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


def _show_trials(trials: "list[ListedRun]") -> None:
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
        return moment, "settings changed", ""  # its details are the whole of the earlier settings
    details = [
        f"{key}={_metric(value)}"
        for key, value in event.items()
        if key not in ("time", "kind") and "/" not in key and value != ""
    ]
    return moment, event["kind"], " ".join(details)


def _metric(value: Any) -> str:
    return number(value) if isinstance(value, float) else setting(value)


def _show_stages(stages: "list[VisitedStage]") -> None:
    """What each stage came to and what is left of it; nothing without a curriculum."""
    if not stages:
        return
    heading("Stages")
    rows = [
        (
            visit.stage,
            count(visit.began),
            "" if visit.ended is None else count(visit.ended),
            visit.ending,
            _known(visit.achieved),
            _known(visit.bound),
            _known(visit.now),
            _known(visit.forgotten),
            "" if visit.master is None else f"@stage-{visit.stage}",
        )
        for visit in stages
    ]
    headers = ("stage", "from", "to", "ended", "in training", "surely", "now", "forgotten", "weights")
    print_table(headers, rows, right=("from", "to"))


def _known(value: float | None) -> str:
    return "" if value is None else number(value)
