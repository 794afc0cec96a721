"""Comparing runs: results, settings and curves beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer, left_out
from gymsolve.errors import UsageError
from gymsolve.runs import RunSummary, select_runs
from gymsolve.runs.files import replace_text
from gymsolve.view.report import comparison
from gymsolve.view.report.claims import Claim, claim_differences, conclude
from gymsolve.view.report.comparison import Axis, Contender
from gymsolve.view.report.comparison_page import render_comparison, result_rows
from gymsolve.view.report.seeds import SeedSpread, seed_curves, spread_over_seeds
from gymsolve.view.report.textchart import plot
from gymsolve.view.runs import RunsDir


@dataclass(frozen=True, kw_only=True)
class ComparedRun(Answer, RunSummary):
    """One of several runs beside each other."""

    letter: str
    """Stands for the run in the columns of the comparison."""
    seconds: float
    final_reward: float | None
    best_reward: float | None
    best_success: float | None
    """Highest share of successes, where that decides."""
    training_reward: float | None
    """Mean return of its last training episodes."""
    training_note: str | None = left_out()
    """Where that is another quantity than those of evaluations: per point, or of what faults left."""
    threshold: float | None
    success_needed: float | None
    """Share of successes that counts as solved, where that decides (`solved_by`) and not the return."""
    reached_at: float | None
    """The place on the axis at which an evaluation first reached the threshold."""
    fps: float | None
    quality: float | None
    curve: list[tuple[float, float]]
    """Mean rewards of evaluations over the axis."""


@dataclass(frozen=True, kw_only=True)
class SeedGroup(Answer, SeedSpread):
    """Runs that differ in their seed alone, and a sentence on their result."""

    remark: str


@dataclass(frozen=True)
class Comparison(Answer):
    """Runs side by side."""

    x: str
    runs: list[ComparedRun]
    results: list[tuple[str, ...]]
    """A table: a name, then one text per run."""
    seeds: list[SeedGroup]
    claims: list[Claim]
    """For every two configurations, whether a difference can be claimed."""
    conclusions: list[str]
    """The claims in words."""
    differences: dict[str, list[Any]]
    """Settings in which the runs differ and which change results, with the value of each run."""
    incidental: dict[str, list[Any]]
    """Settings in which they differ without effect on results."""
    remark: str
    """A warning to read before comparing; may be empty."""
    charts: dict[str, str]
    """Curves drawn in text, by title."""
    html: str | None
    problems: list[str]


def compare_runs(
    refs: Sequence[str],
    runs_dir: RunsDir = None,
    *,
    axis: Axis | None = None,
    html: Path | None = None,
    limit: int | None = None,
    trials: bool = False,
) -> Comparison:
    """Results side by side, every setting in which the runs differ, and curves over a common axis.

    `refs` are runs, or words that `list_runs` takes; `limit` and `trials` are for those. Without an
    axis, it is what the runs are measured in (`budget_in`), or environment steps if they differ. With `html`,
    a page of it is written there.
    """
    runs = select_runs(refs, runs_dir, limit, trials=trials)
    if len(runs) < 2:
        only = f" '{' '.join(refs)}' gives only {runs[0].id}." if runs else ""
        raise UsageError(f"a comparison needs at least two different runs.{only}")
    contenders = comparison.contend(runs)
    axis = axis or comparison.common_axis(contenders)
    if html is not None:
        replace_text(html, render_comparison(contenders, axis))
    return compare_contenders(contenders, axis, html)


def compare_contenders(contenders: Sequence[Contender], axis: Axis, html: Path | None = None) -> Comparison:
    """The comparison of runs that have been read."""
    claims = claim_differences(contenders)
    charts = [*seed_curves(contenders, axis), *comparison.compare_curves(contenders, axis)]
    return Comparison(
        x=axis,
        runs=[_compared(run, axis) for run in contenders],
        results=result_rows(contenders, axis),
        seeds=[SeedGroup(**vars(seeds), remark=seeds.sentence()) for seeds in spread_over_seeds(contenders)],
        claims=claims,
        conclusions=conclude(contenders, claims),
        differences=comparison.differences(contenders),
        incidental=comparison.differences(contenders, incidental=True),
        remark=comparison.remark(contenders),
        charts={chart.title: plot(chart) for chart in charts},
        html=None if html is None else str(html),
        problems=[f"{run.run.id}: {problem}" for run in contenders for problem in run.metrics.problems],
    )


def _compared(contender: Contender, axis: Axis) -> ComparedRun:
    return ComparedRun(
        **vars(contender.summary),
        letter=contender.letter,
        seconds=contender.seconds,
        **contender.results(axis),
        curve=contender.points_on("eval/mean_reward", axis),
    )
