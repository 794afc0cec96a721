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


def print_run(told: "RunDetails", *, everything: bool) -> None:
    """All that is known of a run; `everything` has all of its newest metrics."""
    say(told.id)
    print_pairs(_facts(told))
    _show_stages(told.stages)
    _show_checkpoints(told.checkpoints)
    _show_evaluations(told.evaluations)
    _show_tasks(told.evaluations)
    _show_videos(told.videos)
    _show_trials(told.trials)
    if told.logbook:
        heading("Logbook")
        for entry in told.logbook:
            print_entry(entry)
    _show_metrics(told.last_metrics, everything=everything)
    if told.events:
        heading("Events")
        print_table(("time", "event", "details"), [_event(event) for event in told.events])
    if told.problems:
        heading("Problems")
        for problem in told.problems:
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


def _facts(told: "RunDetails") -> list[tuple[str, str]]:
    reason = f" ({told.reason})" if told.reason not in (None, "", told.status) else ""
    result = told.result or {}
    needed = "" if told.threshold is None else f" (threshold {number(told.threshold)})"
    if result.get("success_threshold") is not None:
        reached = "–" if result["success_rate"] is None else f"{result['success_rate']:.0%}"
        needed = f" ({reached} successes, threshold {result['success_threshold']:.0%})"
    config = told.config
    facts = [
        ("recipe", told.name),
        ("status", f"{told.status}{reason}"),
        ("best return", f"{number(told.best_reward)}{needed}"),
        ("steps", f"{count(told.env_steps)}{_budget(told)}"),
        ("time", _time(told)),
        ("started", f"{told.created[:19].replace('T', ' ')} UTC"),
        ("folder", told.path),
        ("command", shlex.join(told.command)),
    ]
    if told.parent:
        begun = told.parent["checkpoint"]
        name = "trial of" if told.is_trial else "begun from"
        facts.append((name, told.parent["run"] + ("" if begun is None else f"@{begun}")))
    if "archive/cells" in told.last_metrics:
        facts.append(("archive", _archive(told.last_metrics)))
    if told.group:
        facts.append(("seeds of", f"group:{told.group}"))
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


def _time(told: "RunDetails") -> str:
    """Of training, and where the time of the whole run went."""
    from gymsolve.metrics.time_accounting import NAMES

    whole = sum(told.spent.values())
    parts = sorted(told.spent, key=lambda part: told.spent[part], reverse=True)
    shown = [
        f"{NAMES[part]} {told.spent[part] / whole:.0%}" for part in parts if told.spent[part] >= 0.01 * whole
    ]
    trained = f"{took(told.seconds)} training and evaluating"
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
    for one in checkpoints:
        marks = [mark for mark, there in (("best", one.best), ("last", one.last)) if there]
        evaluation = one.eval or {}
        reward = score(evaluation.get("eval/mean_reward"), evaluation.get("eval/std_reward"))
        rows.append((one.name, ", ".join(marks), one.reason or "", reward))
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
        (one.name, score(one.mean, one.std), number(one.threshold), "yes" if one.reached else "no")
        for one in tasks
    ]
    print_table(("task", "mean return", "threshold", "reached"), rows, right=("threshold",))


def _is_number(name: str) -> bool:
    """Worth a line of its own: neither a counter nor one bar of a histogram."""
    return "/" in name and not name.startswith("gradient/")


def _budget(told: "RunDetails") -> str:
    if told.config.get("budget_in") == "vec_steps":
        return f", {count(told.last_metrics.get('vec_steps', 0))} of {count(told.steps or 0)} vector steps"
    return f" of {count(told.steps or 0)}"


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
            f"videos/{one['name']}.mp4",
            one.get("checkpoint", "–"),
            number(one.get("return")),
            "–" if "seconds" not in one else duration(one["seconds"]),
            cut_note(one).removeprefix(", "),
        )
        for one in videos
    ]
    headers = ("file", "checkpoint", "return", "length", "")
    print_table(headers, rows, right=("checkpoint", "return", "length"))


def _show_trials(trials: "list[ListedRun]") -> None:
    if not trials:
        return
    heading("Trials")
    rows = [
        (one.id, one.status, "–" if one.seed is None else str(one.seed), number(one.best_reward))
        for one in trials
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
            one.stage,
            count(one.began),
            "" if one.ended is None else count(one.ended),
            one.ending,
            _known(one.achieved),
            _known(one.bound),
            _known(one.now),
            _known(one.forgotten),
            "" if one.master is None else f"@stage-{one.stage}",
        )
        for one in stages
    ]
    headers = ("stage", "from", "to", "ended", "in training", "surely", "now", "forgotten", "weights")
    print_table(headers, rows, right=("from", "to"))


def _known(value: float | None) -> str:
    return "" if value is None else number(value)
