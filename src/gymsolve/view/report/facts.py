"""All that the folder of a run tells, read once; sections only look at this."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.diagnosis import Diagnosis, explain_run, run_context
from gymsolve.doctor.history import History, read_rows
from gymsolve.doctor.lint import lint
from gymsolve.doctor.quality import training_quality
from gymsolve.doctor.rules.rule import Context
from gymsolve.metrics.time_accounting import spent_in_all
from gymsolve.recipes import flatten, validate
from gymsolve.runs.checkpoints import survey_checkpoints
from gymsolve.runs.run import Run
from gymsolve.runs.summary import RunSummary
from gymsolve.runs.videos import Video, find_best_video, list_videos
from gymsolve.settings.config import TrainConfig
from gymsolve.text import UNITS
from gymsolve.view.report.figures import Point


@dataclass(frozen=True)
class Facts:
    run: Run
    summary: RunSummary
    info: dict[str, Any]
    config: TrainConfig
    settings: dict[str, Any]
    """Every setting by its path."""
    provenance: dict[str, str]
    rows: list[dict[str, Any]]
    history: History
    evaluations: list[dict[str, Any]]
    """Records of evaluations whose mean is finite."""
    events: list[dict[str, Any]]
    checkpoints: list[dict[str, Any]]
    videos: list[Video]
    video: Video | None
    """The one to show."""
    context: Context
    diagnosis: Diagnosis
    lint: list[str]
    problems: list[str]
    """What could not be read, in sentences."""
    scratch: tuple[Run, ...] = ()
    """Runs that learned a stage of this one from scratch, to compare with."""

    @property
    def threshold(self) -> float | None:
        stored = (self.info.get("result") or {}).get("threshold")
        return stored if self.context.threshold is None else self.context.threshold

    @property
    def success_threshold(self) -> float | None:
        """Share of successes that counts as solved; None where the return decides."""
        return self.config.solved_at if self.config.solved_by == "success_rate" else None

    @property
    def solved(self) -> bool:
        if self.summary.status in ("running", "crashed"):  # nobody has written a verdict yet
            return any(row.get("solved") == 1.0 for row in self.evaluations)
        return self.summary.status == "solved"

    @property
    def env_steps(self) -> int:
        newest = max((int(row.get("env_steps") or 0) for row in self.rows), default=0)
        return max(newest, self.summary.env_steps)

    @property
    def seconds(self) -> float:
        """Spent collecting, learning and evaluating, over all sittings."""
        return self.history.spending.trained

    @property
    def spent(self) -> dict[str, float]:
        """Seconds of all sittings by what they went into, starting and videos included."""
        return spent_in_all(self.history.spending, self.events)

    @property
    def best(self) -> dict[str, Any] | None:
        """The evaluation that counts: of the checkpoint called best, else the highest one."""
        for one in self.checkpoints:
            if one["best"] and one["eval"] and _is_finite(one["eval"].get("eval/mean_reward")):
                return {"env_steps": one["env_steps"], **one["eval"]}
        return max(self.evaluations, key=lambda row: row["eval/mean_reward"], default=None)

    @property
    def quality(self) -> float | None:
        """As the newest evaluation's record says it; computed for runs from before there was that metric."""
        recorded = self.last("quality/area")
        return (
            recorded
            if recorded is not None
            else training_quality(
                self.evaluations,
                threshold=self.threshold,
                samples=self.env_steps,
                solved=self.solved,
                budget=self.config.env_budget,
                success_needed=self.success_threshold,
            )
        )

    def last(self, name: str) -> float | None:
        """The newest finite value of a metric."""
        series = self.history.get(name)
        values = [] if series is None else series.values
        return next((value for value in reversed(values) if math.isfinite(value)), None)

    def points(self, name: str) -> list[Point]:
        """A metric over the axis of the charts; empty when it was never recorded."""
        series = self.history.get(name)
        return [] if series is None else list(zip(map(self.place, series.steps), series.values, strict=True))

    def place(self, env_steps: float) -> float:
        """Where a record at so many environment steps is on the axis: there, or at its vector steps."""
        return self._vec_steps.get(int(env_steps), float(env_steps))

    @cached_property
    def _vec_steps(self) -> dict[int, float]:
        """Vector steps by environment steps, where the run is measured in them."""
        if self.config.budget_in == "env_steps":
            return {}
        counted = [(row.get("env_steps"), row.get("vec_steps")) for row in self.rows]
        return {int(one): float(other) for one, other in counted if one is not None and other is not None}

    @property
    def axis(self) -> str:
        """What charts say below their axis."""
        return UNITS[self.config.budget_in]

    def event(self, kind: str) -> dict[str, Any] | None:
        """The newest event of a kind."""
        return next((one for one in reversed(self.events) if one.get("kind") == kind), None)


def gather(run: Run, alerts: AlertTracker | None = None, scratch: Sequence[Run] = ()) -> Facts:
    """Read a run; what is damaged is left out and named in `problems`."""
    rows, problems = read_rows(run.path)
    events = run.read_events()
    stored = run.config_json()
    config = validate(stored["config"], f"{run.id}/config.json")
    if alerts is None:
        alerts = AlertTracker(run_context(run, config), rows)
    checkpoints, damage = survey_checkpoints(run)
    diagnosis = explain_run(run, alerts)
    return Facts(
        run=run,
        summary=run.summary(),
        info=run.info(),
        config=config,
        settings=flatten(config),
        provenance=stored["provenance"],
        rows=rows,
        history=alerts.history,
        evaluations=[row for row in rows if _is_finite(row.get("eval/mean_reward"))],
        events=events.rows,
        checkpoints=checkpoints,
        videos=list_videos(run),
        video=find_best_video(run),
        context=alerts.context,
        diagnosis=diagnosis,
        lint=[str(one.without(diagnosis.decided)) for one in lint(config, alerts.context.spec)],
        problems=[*problems, *events.problems, *damage],
        scratch=tuple(scratch),
    )


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
