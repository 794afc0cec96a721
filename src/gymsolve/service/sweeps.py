"""Sweeps: plan, work on, look at, stop, and write the winner as a variant."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.jobs.sweeps.report import SearchedSetting, State, SweepReport, report_sweep, searched_settings
from gymsolve.jobs.sweeps.search import Search, Tell
from gymsolve.jobs.sweeps.stored import Sweep, enlarge_sweep, find_sweep, list_sweeps, store_sweep
from gymsolve.jobs.sweeps.verdict import Claim
from gymsolve.recipes import apply_overrides
from gymsolve.recipes.local import write_variant
from gymsolve.recipes.resolving import Resolved
from gymsolve.runs.index import list_runs
from gymsolve.runs.run import open_run
from gymsolve.runs.summary import RunSummary
from gymsolve.text import count, number, plural, setting
from gymsolve.training.stop import Reason

RunsDir = Path | str | None
Show = Callable[[Search], Tell]


@dataclass(frozen=True)
class PlannedSweep(Answer):
    """A sweep that has not begun."""

    name: str
    objective: str
    threshold: float | None
    sampler: str
    trials: int
    levels: list[dict[str, int | None]]
    """Rungs and seeds: `seed`, and `until` in environment steps, null for the whole budget."""
    test_seeds: tuple[int, ...]
    at_once: int
    budget: int
    """Environment steps of a whole trial."""
    space: list[SearchedSetting]


@dataclass(frozen=True)
class ListedSweep(Answer):
    """One of a list of sweeps."""

    sweep: str
    name: str
    state: str
    """`running`, or `idle`: stopped or done."""
    objective: str
    runs: int
    """Runs that were begun, tests on fresh seeds among them."""
    training: int
    wanted: int
    """Configurations that were asked for."""


@dataclass(frozen=True)
class StoppedSweep(Answer):
    """A sweep that was asked to stop."""

    sweep: str
    training: int
    """Runs that end after their update and save."""


@dataclass(frozen=True)
class WrittenVariant(Answer):
    """The winner of a sweep as a variant of the recipe."""

    path: str
    recipe: str


def describe_plan(sweep: Sweep) -> PlannedSweep:
    """A planned sweep as a record, for `--dry-run`."""
    return PlannedSweep(
        name=sweep.name,
        objective=sweep.objective,
        threshold=sweep.threshold,
        sampler=sweep.sampler,
        trials=sweep.trials,
        levels=[vars(level) for level in sweep.levels],
        test_seeds=sweep.test_seeds,
        at_once=sweep.at_once,
        budget=sweep.config.env_budget,
        space=searched_settings(sweep),
    )


def begin_sweep(sweep: Sweep, show: Show) -> tuple[SweepReport, Reason | None]:
    """Store a planned sweep and work on it; returns the report, and why it ended early."""
    store_sweep(sweep)
    with sweep.held():
        return _work(sweep, show)


def resume_sweep(
    ref: str,
    show: Show,
    runs_dir: RunsDir = None,
    *,
    trials: int | None = None,
    test_seeds: int | None = None,
    at_once: int | None = None,
    trust: bool = False,
) -> tuple[SweepReport, Reason | None]:
    """Go on with a sweep where it was left, with more configurations or seeds if that is asked for."""
    sweep = find_sweep(ref, runs_dir)
    sweep.require_trust(trust=trust)
    with sweep.held():
        return _work(enlarge_sweep(sweep, trials, test_seeds), show, at_once)


def _work(sweep: Sweep, show: Show, at_once: int | None = None) -> tuple[SweepReport, Reason | None]:
    search = Search(sweep)
    search.tell = show(search)
    reason = search.work(at_once)
    # A run that broke is a result; a search that goes on to its end has not failed.
    return replace(report_sweep(sweep), state=_state(search)), None if reason == "failed" else reason


def _state(search: Search) -> State:
    return "stopped" if search.stop.reason is not None or search.claim() is None else "done"


def show_sweep(ref: str, runs_dir: RunsDir = None) -> SweepReport:
    """The report of a sweep as it stands now."""
    return report_sweep(find_sweep(ref, runs_dir))


def survey_sweeps(runs_dir: RunsDir = None) -> list[ListedSweep]:
    """All sweeps, the newest first."""
    sweeps = list_sweeps(runs_dir)
    runs = list_runs(sweeps[0].base) if sweeps else []
    return [_listed(sweep, [run for run in runs if run.group == sweep.id]) for sweep in sweeps]


def _listed(sweep: Sweep, runs: list[RunSummary]) -> ListedSweep:
    return ListedSweep(
        sweep=sweep.id,
        name=sweep.name,
        state="running" if sweep.is_worked_on() else "idle",
        objective=sweep.objective,
        runs=len(runs),
        training=sum(run.status == "running" for run in runs),
        wanted=sweep.trials,
    )


def stop_sweep(ref: str, runs_dir: RunsDir = None) -> StoppedSweep:
    """Ask a sweep to stop: its runs end after their update, and no further one begins."""
    sweep = find_sweep(ref, runs_dir)
    training = [run for run in list_runs(sweep.base) if run.group == sweep.id and run.status == "running"]
    if sweep.is_worked_on():
        sweep.request_stop()
    elif not training:
        hint = f"Go on with it: gymsolve sweep resume {sweep.id}"
        raise UsageError("the sweep is not running, so it cannot be stopped.", where=sweep.id, hint=hint)
    else:
        for run in training:  # of a process that is gone
            open_run(sweep.base / run.id).request_stop()
    return StoppedSweep(sweep.id, len(training))


def write_winner(ref: str, runs_dir: RunsDir = None) -> WrittenVariant:
    """Write the winner as a variant of the recipe, with the evidence; refused where nothing was proved."""
    sweep = find_sweep(ref, runs_dir)
    report = report_sweep(sweep)
    claim = report.claim
    if claim is None:
        hint = f"Go on with it: gymsolve sweep resume {sweep.id}"
        raise UsageError("the sweep is not over, so there is no winner yet.", where=sweep.id, hint=hint)
    if claim.verdict != "better":
        raise UsageError(
            f"the best configuration is not better than the recipe: {claim.certainty}.",
            where=sweep.id,
            hint="See: gymsolve sweep show " + sweep.id,
        )
    changes = {path: own for path, (_, own) in report.changes.items()}
    kept = Resolved(sweep.name, _as_recipe(sweep), {})
    path, recipe = write_variant(kept, changes, "tuned", _evidence(sweep, report, claim))
    return WrittenVariant(str(path), recipe)


def _as_recipe(sweep: Sweep) -> Any:
    """The settings without those that only trials have."""
    return apply_overrides(sweep.config, sweep.own)[0]


def _evidence(sweep: Sweep, report: SweepReport, claim: Claim) -> list[str]:
    unit = {"steps": "steps to solve", "seconds": "seconds to solve", "return": "return"}[sweep.objective]
    changes = {path: f"{setting(old)} → {setting(new)}" for path, (old, new) in report.changes.items()}
    seeds = ", ".join(map(str, claim.seeds))
    return [
        f"Found by the sweep {sweep.id}: {plural(len(report.configurations), 'configuration')}, "
        f"{count(report.env_steps)} steps.",
        f"On the fresh seeds {seeds}, {unit}:",
        f"  {sweep.name}  {', '.join(number(value) for value in claim.recipe_results)}",
        f"  these settings  {', '.join(number(value) for value in claim.winner_results)}",
        f"How sure: {claim.certainty}.",
        *(f"{path}: {text}" for path, text in changes.items()),
    ]
