"""Looking at runs, comparing and stopping them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import UsageError
from gymsolve.runs import Run, best_reward, find_run, read_meta, runs_folder, split_ref
from gymsolve.runs import list_runs as find_runs
from gymsolve.runs.checkpoints import pointed, survey_checkpoints
from gymsolve.runs.files import replace_text
from gymsolve.runs.videos import list_videos

if TYPE_CHECKING:
    from gymsolve.metrics.report.comparison import Axis

__all__ = ["best_evaluation", "compare_runs", "get_run", "list_runs", "stop_run"]

RunsDir = Path | str | None
_EVENTS_SHOWN = 20


def list_runs(
    query: str | None = None, limit: int | None = None, runs_dir: RunsDir = None
) -> list[dict[str, Any]]:
    """Runs, newest first, each with the mean reward of its best checkpoint."""
    folder = runs_folder(runs_dir)
    return [
        summary.to_json() | {"best_reward": best_reward(Run((folder / summary.id).absolute()))}
        for summary in find_runs(runs_dir, query, limit)
    ]


def get_run(ref: str, runs_dir: RunsDir = None) -> dict[str, Any]:
    """Everything worth knowing of one run, and what of it could not be read."""
    run = find_run(split_ref(ref)[0], runs_dir)
    metrics, events = run.read_metrics(), run.read_events()
    checkpoints, damage = survey_checkpoints(run)
    last: dict[str, Any] = {}
    for row in metrics.rows:
        last |= row
    return {
        **run.summary().to_json(),
        "path": str(run.path),
        "seconds": _seconds(metrics.rows),
        "best_reward": best_reward(run),
        **{key: run.config_json()[key] for key in ("config", "provenance")},
        "command": run.info()["command"],
        "versions": run.info()["versions"],
        "checkpoints": checkpoints,
        "videos": [video.to_json() for video in list_videos(run)],
        "evaluations": [row for row in metrics.rows if "eval/mean_reward" in row],
        "last_metrics": last,
        "events": events.rows[-_EVENTS_SHOWN:],
        "problems": [*metrics.problems, *events.problems, *damage],
    }


def _seconds(rows: list[dict[str, Any]]) -> float:
    """Spent training, over all sittings; pauses between them do not count."""
    elapsed = [row["time/elapsed"] for row in rows if "time/elapsed" in row]
    return float(elapsed[-1]) if elapsed else 0.0


def stop_run(ref: str, runs_dir: RunsDir = None) -> dict[str, Any]:
    """Ask the process that trains a run to stop."""
    run = find_run(ref, runs_dir)
    run.request_stop()
    return {"run": run.id, "stop_requested": True}


def compare_runs(
    refs: Sequence[str], runs_dir: RunsDir = None, *, axis: "Axis" = "env_steps", html: Path | None = None
) -> dict[str, Any]:
    """Results side by side, every setting in which the runs differ, and curves over a common axis.

    With `html`, a page of it is written there.
    """
    from gymsolve.metrics.report import comparison  # a third of a second that other verbs need not wait
    from gymsolve.metrics.report.compare_page import render_comparison, result_rows
    from gymsolve.metrics.report.seeds import spread_over_seeds
    from gymsolve.metrics.report.textchart import plot

    runs = [find_run(split_ref(ref)[0], runs_dir) for ref in refs]
    if len({run.id for run in runs}) < 2:
        raise UsageError("a comparison needs at least two different runs.")
    contenders = comparison.contend(runs)
    charts = comparison.compare_curves(contenders, axis)
    if html is not None:
        replace_text(html, render_comparison(contenders, axis))
    return {
        "x": axis,
        "runs": [
            one.run.summary().to_json()
            | {"letter": one.letter, "seconds": _seconds(one.rows)}
            | one.results(axis)
            | {"curve": [list(point) for point in one.points("eval/mean_reward", axis)]}
            for one in contenders
        ],
        "results": result_rows(contenders, axis),
        "seeds": [one.to_json() | {"remark": one.remark()} for one in spread_over_seeds(contenders)],
        "differences": comparison.differences(contenders),
        "remark": comparison.remark(contenders),
        "charts": {chart.title: plot(chart) for chart in charts},
        "html": None if html is None else str(html),
        "problems": [f"{one.run.id}: {problem}" for one in contenders for problem in one.problems],
    }


def best_evaluation(run: Run) -> dict[str, Any] | None:
    """The metrics of the evaluation that made a checkpoint the best."""
    name = pointed(run, "best")
    evaluation: dict[str, Any] | None = None if name is None else read_meta(run, name)["eval"]
    return evaluation
