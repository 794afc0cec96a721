"""`gymsolve runs`: list them, look at one, compare several."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.printing.output import heading, print_json, print_pairs, print_table, print_whole_table, say
from gymsolve.text import age, count, duration, number, score, setting

if TYPE_CHECKING:
    from gymsolve.service.runs import Comparison, ListedRun, RunDetails, StoredCheckpoint

__all__ = ["compare", "list_them", "show"]

_HIGHLIGHTS = ("env.num_envs", "algo.num_steps", "algo.learning_rate", "algo.gamma", "net.hidden", "seed")


def list_them(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]",
            help="Words of the id or name, or status:solved, env:CartPole, algo:ppo, variant:fast.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most this many, newest first.")] = 20,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List runs, newest first; `gymsolve runs` alone does it too."""
    from gymsolve.runs import runs_folder
    from gymsolve.service import runs as service

    words = " ".join(query or ())
    found = service.list_runs(words, limit + 1, runs_dir)
    shown = found[:limit]
    if json:
        print_json([run.to_json() for run in shown])
        return
    if not found:
        fitting = f" fits '{words}'" if words else " yet"
        say(f"No run in {runs_folder(runs_dir)}{fitting}. Start one with: gymsolve train CartPole-v1")
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
    _show_checkpoints(told.checkpoints)
    _show_evaluations(told.evaluations)
    _show_videos(told.videos)
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
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Two runs or more.")],
    x: Annotated[Axis, typer.Option("--x", help="The horizontal axis of curves.")] = Axis.ENV_STEPS,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts.")
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Compare runs: results, curves, and the settings in which they differ."""
    from gymsolve.service import runs as service

    told = service.compare_runs(runs, runs_dir, axis=x.value, html=html)
    if json:
        print_json(told.to_json())
        return
    letters = [run.letter for run in told.runs]
    for run in told.runs:
        say(f"{run.letter}  {run.id}")
    if told.remark:
        say(f"\n{told.remark}")
    rows = [
        ("status", *(run.status for run in told.runs)),
        ("steps", *(count(run.env_steps) for run in told.runs)),
        ("time", *(duration(run.seconds) for run in told.runs)),
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
    _print_rest(told)


def _print_rest(told: "Comparison") -> None:
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
    needed = "" if result.get("threshold") is None else f" (threshold {number(result['threshold'])})"
    config = told.config
    facts = [
        ("recipe", told.name),
        ("status", f"{told.status}{reason}"),
        ("best return", f"{number(told.best_reward)}{needed}"),
        ("steps", f"{count(told.env_steps)} of {count(told.steps or 0)}"),
        ("time", duration(told.seconds)),
        ("started", f"{told.created[:19].replace('T', ' ')} UTC"),
        ("folder", told.path),
        ("command", " ".join(told.command)),
    ]
    if told.parent:
        begun = told.parent["checkpoint"]
        facts.append(("begun from", told.parent["run"] + ("" if begun is None else f"@{begun}")))
    values = [(path, _lookup(config, path)) for path in _HIGHLIGHTS]
    facts.append(("settings", "  ".join(f"{path}={setting(value)}" for path, value in values)))
    return facts


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


def _show_metrics(newest: dict[str, Any], *, everything: bool) -> None:
    if not newest:
        return
    from gymsolve.metrics.catalog import find_metric

    heading("Newest metrics")
    named = {name: value for name, value in sorted(newest.items()) if "/" in name}
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
    heading("Videos")
    rows = [
        (
            f"videos/{one['name']}.mp4",
            one.get("checkpoint", "–"),
            number(one.get("return")),
            "–" if "seconds" not in one else duration(one["seconds"]),
            "" if one.get("complete", True) else "cut before the episode ended",
        )
        for one in videos
    ]
    print_table(
        ("file", "checkpoint", "return", "length", ""), rows, right=("checkpoint", "return", "length")
    )


def _event(event: dict[str, Any]) -> tuple[str, str, str]:
    moment = event["time"][:19].replace("T", " ")
    if event["kind"] == "config_changed":
        return moment, "settings changed", ""  # its details are the whole of the earlier settings
    details = [
        f"{key}={_metric(value)}"
        for key, value in event.items()
        if key not in ("time", "kind") and "/" not in key
    ]
    return moment, event["kind"], " ".join(details)


def _metric(value: Any) -> str:
    return number(value) if isinstance(value, float) else setting(value)
