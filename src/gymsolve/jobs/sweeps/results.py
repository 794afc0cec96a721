"""The results of a sweep's runs as scores, read from the folders of the runs.

Scores are numbers of which higher is better. A run that is solved after fewer steps (or seconds) is better;
one that is not solved ranks below every solved one, the nearer to the threshold the better. By `return`, the
mean of the evaluation counts; the mean over the whole curve decides between equals.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from gymsolve.errors import UsageError
from gymsolve.jobs.queue import STOPPED
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.sweeps.ladder import Level, Standing
from gymsolve.jobs.sweeps.stored import Sweep
from gymsolve.runs.index import list_runs
from gymsolve.runs.run import Run, open_run
from gymsolve.runs.summary import SILENT

_TIE = 1e-3
"""The weight of the whole curve beside the evaluation: it decides between equals only."""
_MOST_SECONDS = 6.0
"""The logarithm of seconds that stands for a run that is never solved."""
_OF_THE_MACHINE = ("RunDamagedError", "CheckpointError", "OSError", "MemoryError", "FileNotFoundError")
"""The beginnings of a run's reason for errors that a resume may not meet again."""
MOST_DEATHS = 3
"""A run whose process has died so often is given up."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a run."""

    env_steps: int
    mean: float
    """Mean return, or share of successes where that decides."""
    seconds: float
    """Time of training by then; evaluations do not count."""
    solved: bool


@dataclass(frozen=True)
class TrialRun:
    """A run of a configuration on one seed."""

    purpose: str
    """`trial` to search, `test` on fresh seeds."""
    number: int
    seed: int
    run: Run
    status: str
    reason: str | None
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)
    deaths: int = 0
    """Sittings that ended without a word."""
    env_steps: int = 0
    asked: int | None = None
    """The steps at which its newest sitting was to end; None is the whole budget."""

    @property
    def solved_by(self) -> Evaluation | None:
        return next((each for each in self.evaluations if each.solved), None)

    @property
    def machine_fault(self) -> str | None:
        """The error that ended it, where that says nothing about its settings, such as a full disk."""
        text = self.reason or ""
        return text if self.status == "crashed" and text.startswith(_OF_THE_MACHINE) else None

    @property
    def is_broken(self) -> bool:
        """It ended by an error of its own, or died again and again."""
        died = self.reason == SILENT
        if self.machine_fault is not None:
            return False
        return self.status == "damaged" or (
            self.status == "crashed" and (not died or self.deaths >= MOST_DEATHS)
        )

    def reached(self, until: int | None, budget: int) -> bool:
        """True if it has an evaluation at these steps or later, or goes no further by itself."""
        if self.status == "running":
            return False
        if self.is_broken or self.status == "solved" or self.solved_by is not None:
            return True
        if until is None:
            spent = self.env_steps >= budget or self.reason == "time"
            return self.status == "finished" and spent and self.reason not in STOPPED
        return any(each.env_steps >= until for each in self.evaluations)

    def judged_at(self, until: int | None) -> tuple[Evaluation, ...]:
        """Evaluations up to the first one at these steps."""
        if until is None:
            return self.evaluations
        after = [index for index, each in enumerate(self.evaluations) if each.env_steps >= until]
        return self.evaluations[: after[0] + 1] if after else self.evaluations

    @property
    def seconds(self) -> float:
        return max((each.seconds for each in self.evaluations), default=0.0)


def read_trial_run(run: Run, sweep: Sweep) -> TrialRun | None:
    """The state of a run of a sweep; None for a run that somebody else began."""
    summary = run.summary()
    label = _label(run)
    if label is None or label[0] != sweep.id or summary.seed is None:
        return None
    measure = "eval/success_rate" if sweep.config.solved_by == "success_rate" else "eval/mean_reward"
    rows = run.read_metrics().rows
    seconds = training_seconds(rows)
    evaluations = [
        Evaluation(int(row["env_steps"]), row[measure], seconds(row["env_steps"]), row.get("solved") == 1.0)
        for row in rows
        if math.isfinite(row.get(measure, math.nan))
    ]
    kinds = [event["kind"] for event in run.read_events().rows]
    words = run.info().get("resumed_with") or run.info()["command"]
    return TrialRun(
        purpose=label[1],
        number=label[2],
        seed=summary.seed,
        run=run,
        status=summary.status,
        reason=summary.reason,
        evaluations=tuple(sorted(evaluations, key=lambda each: each.env_steps)),
        deaths=kinds.count("started") - kinds.count("ended") if summary.reason == SILENT else 0,
        env_steps=summary.env_steps,
        asked=RunRequest.from_words(words[1:]).until,
    )


def training_seconds(rows: Sequence[Mapping[str, Any]]) -> Callable[[float], float]:
    """Gives the seconds of training up to a step, without evaluations; between records, evenly by steps."""
    evaluated, points = 0.0, [(0.0, 0.0)]
    for row in rows:
        if math.isfinite(spent := row.get("eval/seconds", math.nan)):
            evaluated += spent
        elapsed = row.get("time/elapsed", math.nan)
        if math.isfinite(elapsed) and row["env_steps"] > points[-1][0]:
            points.append((row["env_steps"], max(points[-1][1], elapsed - evaluated)))

    def seconds(step: float) -> float:
        after = min(max(1, bisect.bisect_left(points, (step, 0.0))), len(points) - 1)
        if after < 1:
            return 0.0
        (left, low), (right, high) = points[after - 1], points[after]
        return low + (high - low) * (step - left) / (right - left)

    return seconds


def _label(run: Run) -> tuple[str, str, int] | None:
    """The sweep, the purpose and the configuration that the command of a run names."""
    try:
        words = (RunRequest.from_words(run.info()["command"][1:]).trial or "").split()
        return (words[1], words[2], int(words[3])) if words[:1] == ["sweep"] else None
    except (UsageError, IndexError, ValueError):
        return None


def read_runs(sweep: Sweep) -> list[TrialRun]:
    """All runs of a sweep, the oldest first; a user's own forks of them left out."""
    listed = [summary for summary in list_runs(sweep.base) if summary.group == sweep.id]
    runs = [read_trial_run(open_run(sweep.base / each.id), sweep) for each in reversed(listed)
            if each.status != "damaged"]  # fmt: skip
    return [run for run in runs if run is not None]


def score_at(run: TrialRun, level: Level, sweep: Sweep) -> float:
    """The score of a run at a level that it has reached."""
    if run.is_broken:
        return -math.inf
    judged, budget = run.judged_at(level.until), sweep.config.env_budget
    if not judged:
        return -math.inf
    if sweep.objective == "return":
        end = min(budget, level.until or budget)
        return judged[-1].mean + _TIE * curve_mean(judged, end)
    proof = next((each for each in judged if each.solved), None)
    if proof is not None:
        return -math.log10(max(1e-9, proof.seconds if sweep.objective == "seconds" else proof.env_steps))
    assert sweep.threshold is not None
    ceiling = _MOST_SECONDS if sweep.objective == "seconds" else math.log10(budget)
    missing = max(0.0, sweep.threshold - judged[-1].mean)
    return -ceiling - 1e-6 - missing / (missing + max(1.0, abs(sweep.threshold)))


def curve_mean(evaluations: Sequence[Evaluation], end: int) -> float:
    """The mean of a curve of evaluations over the steps up to `end`, which its last value holds until."""
    last = Evaluation(max(end, evaluations[-1].env_steps), evaluations[-1].mean, 0.0, False)
    points = [*evaluations, last]
    area = points[0].mean * points[0].env_steps
    for left, right in itertools.pairwise(points):
        area += 0.5 * (left.mean + right.mean) * (right.env_steps - left.env_steps)
    return area / last.env_steps if last.env_steps else points[0].mean


def scores_of(number: int, runs: Sequence[TrialRun], sweep: Sweep) -> tuple[float, ...]:
    """Scores of a configuration at the levels that it has completed; over seeds, their mean."""
    mine = {run.seed: run for run in runs if run.purpose == "trial" and run.number == number}
    scores: list[float] = []
    whole: list[float] = []
    for level in sweep.levels:
        run = mine.get(level.seed)
        if run is None or not run.reached(level.until, sweep.config.env_budget):
            break
        score = score_at(run, level, sweep)
        if level.until is None:
            whole.append(score)
            score = fmean(whole)
        scores.append(score)
    return tuple(scores)


def outcome_of(run: TrialRun, sweep: Sweep) -> float:
    """The result of a test by the objective, as people count it: steps, seconds or a return."""
    if sweep.objective == "return":
        return -math.inf if run.is_broken or not run.evaluations else run.evaluations[-1].mean
    proof = run.solved_by
    if proof is None:
        return math.inf
    return proof.seconds if sweep.objective == "seconds" else float(proof.env_steps)


def standing_of(
    number: int, runs: Sequence[TrialRun], sweep: Sweep, *, busy: bool | None = None, failed: bool = False
) -> Standing:
    """How far a configuration has come; without `busy`, the status of its runs says whether one trains."""
    mine = [run for run in runs if (run.purpose, run.number) == ("trial", number)]
    scores = scores_of(number, mine, sweep) or ((-math.inf,) if failed else ())
    trains = any(run.status == "running" for run in mine) if busy is None else busy
    return Standing(number, scores, trains, failed or any(run.is_broken for run in mine))
