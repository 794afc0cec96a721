"""Reports a sweep from its journal and its runs; another process may work on it meanwhile."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.jobs.sweeps.drafts import importances
from gymsolve.jobs.sweeps.ladder import Standing, best_of, next_promotion, pareto
from gymsolve.jobs.sweeps.proposals import Configuration, Journal
from gymsolve.jobs.sweeps.results import TrialRun, read_runs, standing_of
from gymsolve.jobs.sweeps.stored import Sweep
from gymsolve.jobs.sweeps.verdict import Claim, judge
from gymsolve.recipes.search.check import setting_at

State = Literal["running", "stopped", "done"]
_FEWEST_FOR_IMPORTANCE = 10


@dataclass(frozen=True)
class SearchedSetting(Answer):
    """A setting that is searched."""

    path: str
    range: str
    recipe: Any
    """The recipe's own value."""
    reason: str
    """The reason for the range, where it was derived."""
    importance: float | None
    """Its share of the differences between configurations; null while there are fewer than ten."""


@dataclass(frozen=True)
class TriedConfiguration(Answer):
    """A configuration and its runs."""

    trial: int
    """0 is the recipe."""
    state: str
    """`training`, `resting` (others were better so far), `complete`, `broken` or `waiting`."""
    level: int
    """Rungs and seeds that are completed."""
    settings: dict[str, Any]
    """Settings that differ from the recipe."""
    mean_reward: float | None
    """Mean of the newest evaluations of its runs."""
    solved: int
    """Runs that were solved."""
    steps_to_solve: float | None
    """Median of the solved runs."""
    seconds: float | None
    """Mean time of its runs, to solve or so far."""
    score: float | None
    on_front: bool
    """No other configuration of its level is both better and cheaper."""
    runs: list[str]


@dataclass(frozen=True)
class SweepReport(Answer):
    """A sweep: what was asked, what was tried, and what can be claimed."""

    sweep: str
    name: str
    path: str
    state: State
    objective: str
    """`steps` or `seconds` to solve, or `return`."""
    threshold: float | None
    sampler: str
    wanted: int
    """Configurations that were asked for."""
    levels: int
    tuning_seeds: tuple[int, ...]
    test_seeds: tuple[int, ...]
    space: list[SearchedSetting]
    configurations: list[TriedConfiguration]
    """The best first."""
    best: int | None
    """The configuration that is the best so far on the tuning seeds."""
    changes: dict[str, list[Any]]
    """Settings of the best one, with the recipe's value and its own."""
    claim: Claim | None
    """The result on fresh seeds; null while there is none."""
    seconds: float
    """Time that all runs have trained, summed."""
    env_steps: int
    """Steps of all runs, summed."""


def report_sweep(sweep: Sweep) -> SweepReport:
    """The report of a sweep as it stands now."""
    runs = read_runs(sweep)
    configurations = Journal(sweep, reading=True).configurations()
    standings = {each.number: standing_of(each.number, runs, sweep) for each in configurations}
    return make_report(sweep, configurations, standings, runs)


def make_report(
    sweep: Sweep,
    configurations: Sequence[Configuration],
    standings: Mapping[int, Standing],
    runs: Sequence[TrialRun],
) -> SweepReport:
    """The report for this state of a sweep."""
    best = best_of(standings)
    rows = [_row(each, standings[each.number], runs, sweep) for each in configurations]
    front = _front(rows, standings)
    rows = [replace(row, on_front=row.trial in front) for row in rows]
    rows.sort(key=lambda row: (-row.level, -(row.score if row.score is not None else -math.inf), row.trial))
    number = None if best is None else best.number
    values = next((each.values for each in configurations if each.number == number), {})
    over = len(configurations) >= sweep.trials and _is_searched(standings, runs, sweep)
    claim = judge(sweep, number, runs) if number is not None and over else None
    return SweepReport(
        sweep=sweep.id,
        name=sweep.name,
        path=str(sweep.path),
        state="running" if sweep.is_worked_on() else "stopped" if claim is None else "done",
        objective=sweep.objective,
        threshold=sweep.threshold,
        sampler=sweep.sampler,
        wanted=sweep.trials,
        levels=len(sweep.levels),
        tuning_seeds=sweep.tuning_seeds,
        test_seeds=sweep.test_seeds,
        space=searched_settings(sweep, _weights(sweep, configurations, standings)),
        configurations=rows,
        best=number,
        changes={path: [setting_at(sweep.config, path), value] for path, value in values.items()},
        claim=claim,
        seconds=sum(run.seconds for run in runs),
        env_steps=sum(run.env_steps for run in runs),
    )


def _is_searched(standings: Mapping[int, Standing], runs: Sequence[TrialRun], sweep: Sweep) -> bool:
    """Nothing trains, nothing was cut short, and no configuration is to go on."""
    budget = sweep.config.env_budget
    whole = all(run.reached(run.asked, budget) for run in runs if run.purpose == "trial")
    busy = any(each.busy for each in standings.values())
    return whole and not busy and next_promotion(standings, len(sweep.levels), last=True) is None


def searched_settings(sweep: Sweep, weights: Mapping[str, float] | None = None) -> list[SearchedSetting]:
    """The dimensions of a sweep, with their weights where these are known."""
    known = weights or {}
    return [
        SearchedSetting(
            each.path, str(each), setting_at(sweep.config, each.path), each.reason, known.get(each.path)
        )
        for each in sweep.space
    ]


def _weights(
    sweep: Sweep, configurations: Sequence[Configuration], standings: Mapping[int, Standing]
) -> dict[str, float]:
    scored = {
        each.number: standings[each.number].scores[0]
        for each in configurations
        if standings[each.number].scores and math.isfinite(standings[each.number].scores[0])
    }
    values = {each.number: each.values for each in configurations}
    return importances(sweep, values, scored) if len(scored) >= _FEWEST_FOR_IMPORTANCE else {}


def _row(
    each: Configuration, standing: Standing, runs: Sequence[TrialRun], sweep: Sweep
) -> TriedConfiguration:
    mine = [run for run in runs if (run.purpose, run.number) == ("trial", each.number)]
    proofs = [proof for run in mine if (proof := run.solved_by) is not None]
    newest = [run.evaluations[-1].mean for run in mine if run.evaluations]
    costs = [run.solved_by.seconds if run.solved_by else run.seconds for run in mine]
    score = standing.scores[-1] if standing.scores else None
    return TriedConfiguration(
        trial=each.number,
        state=_state(standing, sweep),
        level=standing.level,
        settings=each.values,
        mean_reward=fmean(newest) if newest else None,
        solved=len(proofs),
        steps_to_solve=median(proof.env_steps for proof in proofs) if proofs else None,
        seconds=fmean(costs) if costs else None,
        score=score if score is not None and math.isfinite(score) else None,
        on_front=False,
        runs=[run.run.id for run in mine],
    )


def _state(standing: Standing, sweep: Sweep) -> str:
    if standing.broken:
        return "broken"
    if standing.busy:
        return "training"
    if standing.level >= len(sweep.levels):
        return "complete"
    return "resting" if standing.scores else "waiting"


def _front(rows: Sequence[TriedConfiguration], standings: Mapping[int, Standing]) -> set[int]:
    """The Pareto front of score and seconds among configurations that were trained with the whole budget."""
    level = max((standing.level for standing in standings.values()), default=0)
    points = {
        row.trial: (row.score, row.seconds)
        for row in rows
        if row.score is not None and row.seconds is not None and row.level == level and row.state != "broken"
    }
    return set(pareto(points))
