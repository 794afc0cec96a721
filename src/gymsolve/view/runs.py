"""Looking at runs, and stopping them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.runs import Run, RunSummary, best_reward, find_run, read_meta, runs_folder, split_ref
from gymsolve.runs import list_runs as find_runs
from gymsolve.runs.checkpoints import pointed
from gymsolve.runs.files import replace_text
from gymsolve.runs.groups import GROUP, Group, find_group, find_queue, queue_stop
from gymsolve.runs.logbook import LogEntry
from gymsolve.runs.run import now
from gymsolve.view.run_view import RunView, restore_nan
from gymsolve.view.stages import VisitedStage

RunsDir = Path | str | None
_EVENTS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class ListedRun(Answer, RunSummary):
    """One of a list of runs."""

    best_reward: float | None
    """Mean reward of the best checkpoint."""


@dataclass(frozen=True)
class StoredCheckpoint(Answer):
    """A checkpoint of a run."""

    name: str
    best: bool
    last: bool
    env_steps: int
    time: str
    reason: str | None
    """Why it was saved."""
    eval: dict[str, Any] | None
    """Metrics of the evaluation of these weights, if there was one."""


@dataclass(frozen=True, kw_only=True)
class RunDetails(Answer, RunSummary):
    """One run in detail, and sentences on files that cannot be read."""

    path: str
    seconds: float
    """Spent training, over all sittings; pauses between them do not count."""
    best_reward: float | None
    threshold: float | None
    """Mean reward at which it counts as solved."""
    parent_deleted: str | None
    """The day on which the run that it began from was deleted; None where it was not."""
    trials: list[ListedRun]
    """Runs that tried something for this one, oldest first."""
    logbook: list[LogEntry]
    """Entries about it, oldest first."""
    config: dict[str, Any]
    spent: dict[str, float]
    """Seconds of all sittings by part; `metrics/time_accounting.py` names the parts."""
    provenance: dict[str, str]
    command: list[str]
    versions: dict[str, str | None]
    checkpoints: list[StoredCheckpoint]
    stages: list[VisitedStage]
    """Stages of a curriculum in the order of the visits."""
    videos: list[dict[str, Any]]
    evaluations: list[dict[str, Any]]
    last_metrics: dict[str, Any]
    """The newest value of each metric."""
    events: list[dict[str, Any]]
    """The newest ones."""
    problems: list[str]


@dataclass(frozen=True)
class StopRequest(Answer):
    """A run that was asked to stop."""

    run: str
    stop_requested: bool = True


def list_runs(
    query: str | None = None, limit: int | None = None, runs_dir: RunsDir = None, *, trials: bool = False
) -> list[ListedRun]:
    """Runs, newest first, with or without `trials` of other runs."""
    folder = runs_folder(runs_dir)
    return [_listed(folder, summary) for summary in find_runs(runs_dir, query, limit, trials=trials)]


def count_runs(query: str | None = None, runs_dir: RunsDir = None, *, trials: bool = False) -> int:
    """The number of runs that fit a query."""
    return len(find_runs(runs_dir, query, trials=trials))


def count_trials(query: str | None = None, runs_dir: RunsDir = None) -> int:
    """The number of trials that fit a query."""
    return sum(run.is_trial for run in find_runs(runs_dir, query))


def _listed(folder: Path, summary: RunSummary) -> ListedRun:
    return ListedRun(**vars(summary), best_reward=best_reward(Run((folder / summary.id).absolute())))


def get_run(ref: str, runs_dir: RunsDir = None) -> RunDetails:
    """One run in detail."""
    view = RunView(find_run(split_ref(ref)[0], runs_dir))
    return RunDetails(
        **vars(view.summary),
        path=str(view.run.path),
        seconds=view.seconds,
        spent=view.spent,
        best_reward=view.best_reward,
        threshold=view.threshold,
        parent_deleted=view.parent_deleted,
        trials=[_listed(view.run.path.parent, trial) for trial in view.trials],
        logbook=view.logbook,
        config=view.stored["config"],
        provenance=view.stored["provenance"],
        command=view.info["command"],
        versions=view.info["versions"],
        checkpoints=[StoredCheckpoint(**saved) for saved in view.checkpoints],
        stages=view.stages,
        videos=[video.to_json() for video in view.videos],
        evaluations=[restore_nan(row) for row in view.evaluations],
        last_metrics=view.newest,
        events=view.shown_events[-_EVENTS_SHOWN:],
        problems=view.problems,
    )


def stop_run(ref: str, runs_dir: RunsDir = None) -> StopRequest:
    """Ask a run to stop, or its newest trial where the run has ended, or all seeds of `group:ID`."""
    if ref.startswith(GROUP):
        queue = find_queue(ref, runs_dir)
        return _stop_queue(queue, runs_dir) if queue else _stop_group(find_group(ref, runs_dir))
    run = find_run(ref, runs_dir)
    trials = RunView(run).running_trials
    if run.status != "running" and trials:
        run = Run(run.path.parent / trials[-1].id)
    run.request_stop()
    return StopRequest(run.id)


def _stop_queue(queue: str, runs_dir: RunsDir) -> StopRequest:
    """Ask the runs of a queue to stop; none of those that wait begins."""
    folder = runs_folder(runs_dir).absolute()
    replace_text(queue_stop(folder, queue), now() + "\n")
    for run in find_runs(folder, f"group:{queue} status:running"):
        Run(folder / run.id).request_stop()
    return StopRequest(f"{GROUP}{queue}")


def _stop_group(group: Group) -> StopRequest:
    running = [run for run in group.runs().values() if run.status == "running"]
    if not running:
        raise UsageError(f"no seed of {group.ref} is running, so none can be stopped.")
    for run in running:
        run.request_stop()
    return StopRequest(group.ref)


def best_evaluation(run: Run) -> dict[str, Any] | None:
    """The metrics of the evaluation that made a checkpoint the best."""
    name = pointed(run, "best")
    evaluation: dict[str, Any] | None = None if name is None else read_meta(run, name)["eval"]
    return evaluation
