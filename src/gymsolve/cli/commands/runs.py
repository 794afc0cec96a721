"""`gymsolve runs`: list them, look at one, compare several."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymsolve.cli.commands.log import print_entry
from gymsolve.cli.options import All, Json, Limit, RunRef, RunsDir
from gymsolve.cli.printing.output import heading, print_json, print_pairs, print_table, print_whole_table, say
from gymsolve.cli.printing.stages import show_stages
from gymsolve.text import age, count, duration, number, plural, score, setting, took

if TYPE_CHECKING:
    from gymsolve.service.runs import Comparison, ListedRun, RunDetails, StoredCheckpoint

__all__ = ["compare", "list_them", "show"]

_HIGHLIGHTS = ("env.num_envs", "algo.num_steps", "algo.learning_rate", "algo.gamma", "net.hidden", "seed")


def list_them(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]",
            help="Words of the id or name, or status:solved, env:CartPole, algo:ppo, variant:fast, group:ID.",
        ),
    ] = None,
    limit: Limit = 20,
    all_: All = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List runs, newest first; `gymsolve runs` alone does it too."""
    from gymsolve.runs import runs_folder
    from gymsolve.service import runs as service

    words = " ".join(query or ())
    found = service.list_runs(words, limit + 1, runs_dir, trials=all_)
    shown = found[:limit]
    if json:
        print_json([run.to_json() for run in shown])
        return
    if not found:
        fitting = f" fits '{words}'" if words else " yet"
        say(f"No run in {runs_folder(runs_dir)}{fitting}. Start one with: gymsolve train CartPole-v1")
        _tell_trials(0 if all_ else service.count_trials(words, runs_dir))
        return
    headers = ("run", "environment", "variant", "status", "steps", "best", "age")
    print_whole_table(
        headers,
        [_row(run) for run in shown],
        right=("steps", "best", "age"),
        expendable=("environment", "variant", "age", "steps"),  # the first two are in the id
    )
    if len(found) > limit:
        say(f"Only the newest {'is' if limit == 1 else f'{limit} are'} shown; --limit shows more.")
    _tell_trials(0 if all_ else service.count_trials(words, runs_dir))


def _tell_trials(hidden: int) -> None:
    if hidden:
        are, them = ("is", "it") if hidden == 1 else ("are", "them")
        say(f"{plural(hidden, 'trial')} of gymsolve fix {are} not shown; --all shows {them}.")


def show(
    run: RunRef,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Show all newest metrics, not only those that matter most.")
    ] = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Show one run: settings, checkpoints, evaluations, newest metrics, events, damage."""
    from gymsolve.service import runs as service

    told = service.get_run(run, runs_dir)
    if json:
        print_json(told.to_json())
        return
    say(told.id)
    print_pairs(_facts(told))
    show_stages(told.stages)
    _show_checkpoints(told.checkpoints)
    _show_evaluations(told.evaluations)
    _show_tasks(told.evaluations)
    _show_videos(told.videos)
    _show_trials(told.trials)
    if told.logbook:
        heading("Logbook")
        for entry in told.logbook:
            print_entry(entry)
    _show_metrics(told.last_metrics, everything=metrics)
    if told.events:
        heading("Events")
        print_table(("time", "event", "details"), [_event(event) for event in told.events])
    if told.problems:
        heading("Problems")
        for problem in told.problems:
            say(f"  {problem}")


class Axis(StrEnum):
    """What curves are drawn over."""

    ENV_STEPS = "env_steps"
    VEC_STEPS = "vec_steps"
    TIME = "time"


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|QUERY...",
            help="Two runs or more; or words as of `gymsolve runs`, such as env:CartPole status:solved.",
        ),
    ],
    x: Annotated[
        Axis | None,
        typer.Option("--x", help="The horizontal axis of curves; what the runs are measured in by default."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts.")
    ] = None,
    limit: Limit = 20,
    all_: All = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Compare runs: results, curves, and the settings in which they differ."""
    from gymsolve.service import runs as service

    told = service.compare_runs(
        runs, runs_dir, axis=None if x is None else x.value, html=html, limit=limit, trials=all_
    )
    if json:
        print_json(told.to_json())
    else:
        _print_comparison(told)


def _print_comparison(told: "Comparison") -> None:
    letters = [run.letter for run in told.runs]
    for run in told.runs:
        say(f"{run.letter}  {run.id}")
    if told.remark:
        say(f"\n{told.remark}")
    rows = [
        ("status", *(run.status for run in told.runs)),
        ("steps", *(count(run.env_steps) for run in told.runs)),
        ("time", *(took(run.seconds) for run in told.runs)),
        *told.results,
    ]
    heading("Results")
    print_table(("", *letters), rows)
    if told.seeds:
        heading("Over seeds")
        say("\n".join(f"  {one.remark}" for one in told.seeds))
    for title, chart in told.charts.items():
        heading(title)
        say(chart)
    heading("Settings that differ")
    differing = [(path, *map(setting, values)) for path, values in told.differences.items()]
    if differing:
        print_table(("", *letters), differing)
    else:
        say("  none")
    if told.incidental:
        say(f"  Without effect on results, they also differ in {', '.join(told.incidental)}.")
    if told.problems:
        heading("Could not be read")
        say("\n".join(f"  {problem}" for problem in told.problems))
    if told.html:
        say(f"\npage  {told.html}")


def _row(run: "ListedRun") -> tuple[str, ...]:
    steps = count(run.env_steps)
    return (
        run.id,
        run.env_id,
        run.variant,
        run.status,
        steps,
        number(run.best_reward),
        age(run.created),
    )


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
        ("command", " ".join(told.command)),
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
    if "archive/best_score" in metrics:
        parts.append(f"best score {number(metrics['archive/best_score'])}")
    return ", ".join(parts)


def _time(told: "RunDetails") -> str:
    """Of training, and where the time of the whole run went."""
    from gymsolve.metrics.spending import NAMES

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
