"""Looking at runs, and stopping them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.metrics.time_accounting import Spending, spent_in_all
from gymsolve.runs import (
    Run,
    RunSummary,
    best_reward,
    find_run,
    needed_reward,
    read_meta,
    runs_folder,
    split_ref,
)
from gymsolve.runs import list_runs as find_runs
from gymsolve.runs.checkpoints import pointed, survey_checkpoints
from gymsolve.runs.groups import GROUP, Group, find_group
from gymsolve.runs.logbook import LogEntry, entries_about
from gymsolve.runs.stage_checkpoints import find_masters
from gymsolve.runs.videos import list_videos
from gymsolve.view.stages import StageVisit, how_it_ended, stage_stories, stage_visits, task_curves

if TYPE_CHECKING:
    pass

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
class VisitedStage(Answer, StageVisit):
    """A stretch of a run in one stage of its curriculum."""

    ending: str
    """How it ended, in words."""
    master: str | None
    """The checkpoint with the weights at its end."""
    now: float | None
    """What the newest evaluation found on it."""
    forgotten: float | None
    """What evaluation found at its end, less what it finds now."""


@dataclass(frozen=True, kw_only=True)
class RunDetails(Answer, RunSummary):
    """Everything worth knowing of one run, and what of it could not be read."""

    path: str
    seconds: float
    """Spent training, over all sittings; pauses between them do not count."""
    best_reward: float | None
    threshold: float | None
    """Mean reward at which it counts as solved."""
    trials: list[ListedRun]
    """Runs that tried something for this one, oldest first."""
    logbook: list[LogEntry]
    """Entries about it, oldest first."""
    config: dict[str, Any]
    spent: dict[str, float]
    """Seconds of all sittings by what they went into; parts as `metrics/time_accounting.py` calls them."""
    provenance: dict[str, str]
    command: list[str]
    versions: dict[str, str | None]
    checkpoints: list[StoredCheckpoint]
    stages: list[VisitedStage]
    """Of a curriculum, in the order in which they were visited."""
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
    """Runs, newest first; `trials` of other runs only if wanted."""
    folder = runs_folder(runs_dir)
    return [_listed(folder, summary) for summary in find_runs(runs_dir, query, limit, trials=trials)]


def count_runs(query: str | None = None, runs_dir: RunsDir = None, *, trials: bool = False) -> int:
    """How many fit a query."""
    return len(find_runs(runs_dir, query, trials=trials))


def count_trials(query: str | None = None, runs_dir: RunsDir = None) -> int:
    """How many trials of other runs fit a query."""
    return sum(one.is_trial for one in find_runs(runs_dir, query))


def _listed(folder: Path, summary: RunSummary) -> ListedRun:
    return ListedRun(**vars(summary), best_reward=best_reward(Run((folder / summary.id).absolute())))


def get_run(ref: str, runs_dir: RunsDir = None) -> RunDetails:
    """One run in detail."""
    run = find_run(split_ref(ref)[0], runs_dir)
    metrics, events = run.read_metrics(), run.read_events()
    checkpoints, damage = survey_checkpoints(run)
    stored, info = run.config_json(), run.info()
    last: dict[str, Any] = {}
    for row in metrics.rows:
        last |= row
    spending = _spending(metrics.rows)
    return RunDetails(
        **vars(run.summary()),
        path=str(run.path),
        seconds=spending.trained,
        spent=spent_in_all(spending, events.rows),
        best_reward=best_reward(run),
        threshold=needed_reward(run),
        trials=[_listed(run.path.parent, one) for one in _trials(run)],
        logbook=entries_about(run.path.parent, run.id),
        config=stored["config"],
        provenance=stored["provenance"],
        command=info["command"],
        versions=info["versions"],
        checkpoints=[StoredCheckpoint(**one) for one in checkpoints],
        stages=visited_stages(run, stored["config"], metrics.rows, events.rows),
        videos=[video.to_json() for video in list_videos(run)],
        evaluations=[row for row in metrics.rows if "eval/mean_reward" in row],
        last_metrics=last,
        events=events.rows[-_EVENTS_SHOWN:],
        problems=[*metrics.problems, *events.problems, *damage],
    )


def visited_stages(
    run: Run, config: dict[str, Any], rows: list[dict[str, Any]], events: list[dict[str, Any]]
) -> list[VisitedStage]:
    """What a curriculum went through; importing settings takes a moment, which other runs do not pay."""
    settings_of = config.get("curriculum")
    if not isinstance(settings_of, dict) or not settings_of.get("stages"):
        return []
    from gymsolve.recipes import validate

    settings = validate(config, f"{run.id}/config.json")
    visits = stage_visits(settings, events)
    names, by_success = settings.curriculum.names, settings.solved_by == "success_rate"
    curves = task_curves(rows, names, by_success=by_success)
    told = {one.stage: one for one in stage_stories(visits, curves)}
    masters = find_masters(run)
    return [
        VisitedStage(
            **vars(one),
            ending=how_it_ended(one),
            master=name if (name := masters.get(one.stage)) == str(one.ended) else None,
            now=told[one.stage].now,
            forgotten=told[one.stage].forgotten if told[one.stage].ended == one.ended else None,
        )
        for one in visits
    ]


def _spending(rows: list[dict[str, Any]]) -> Spending:
    spending = Spending()
    for row in rows:
        spending.add(row)
    return spending


def _trials(run: Run) -> list[RunSummary]:
    """Trials of a run, oldest first."""
    there = find_runs(run.path.parent)
    return [one for one in reversed(there) if one.is_trial and (one.parent or {}).get("run") == run.id]


def running_trials(run: Run) -> list[RunSummary]:
    """Trials of a run that train now."""
    return [one for one in _trials(run) if one.status == "running"]


def stop_run(ref: str, runs_dir: RunsDir = None) -> StopRequest:
    """Ask the process that trains a run to stop; a run that has ended may have a trial under way.

    `group:ID` asks all seeds of a group.
    """
    if ref.startswith(GROUP):
        return _stop_group(find_group(ref, runs_dir))
    run = find_run(ref, runs_dir)
    trials = running_trials(run)
    if run.status != "running" and trials:
        run = Run(run.path.parent / trials[-1].id)
    run.request_stop()
    return StopRequest(run.id)


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
