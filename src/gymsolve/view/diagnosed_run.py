"""A run with its settings and its diagnosis: for reports, comparisons and alerts in words."""

import math
from functools import cached_property

from gymsolve.doctor.alerts import Alert, AlertTracker
from gymsolve.doctor.diagnosis import Diagnosis, explain_run, run_context
from gymsolve.doctor.findings import Findings, run_findings
from gymsolve.doctor.history import History
from gymsolve.doctor.lint import lint
from gymsolve.doctor.quality import training_quality
from gymsolve.doctor.rules.rule import Context
from gymsolve.doctor.stored_alerts import stored_alerts
from gymsolve.recipes import flatten
from gymsolve.runs.records import Records
from gymsolve.runs.run import Run
from gymsolve.text import UNITS
from gymsolve.view.run_view import Point, Row, RunView

_BY_RULES = "These alerts come from the rules of this version: the events of the run do not tell them all."


class DiagnosedRun(RunView):
    """A run and its diagnosis. `alerts`, if given, has followed the run to its end."""

    def __init__(self, run: Run, alerts: AlertTracker | None = None) -> None:
        super().__init__(run)
        self._followed = alerts

    @cached_property
    def settings(self) -> Row:
        """Every setting by its path."""
        return flatten(self.config)

    @cached_property
    def context(self) -> Context:
        """Facts that the rules may use besides the numbers."""
        return run_context(self.run, self.config) if self._followed is None else self._followed.context

    @cached_property
    def history(self) -> History:
        """The records as one series per metric."""
        return History(self.rows) if self._followed is None else self._followed.history

    @property
    def return_threshold(self) -> float | None:
        """The mean return that verdicts and charts measure against, also where successes decide."""
        stored = (self.info.get("result") or {}).get("threshold")
        return stored if self.context.threshold is None else self.context.threshold

    @property
    def quality(self) -> float | None:
        """Area under the curve per sample: as recorded, or computed for runs from before that metric."""
        recorded = self.last("quality/area")
        if recorded is not None:
            return recorded
        return self.area_under_curve(self.return_threshold, self.env_steps, self.solved)

    def area_under_curve(self, threshold: float | None, samples: int, solved: bool) -> float | None:
        return training_quality(
            self.judged,
            threshold=threshold,
            samples=samples,
            solved=solved,
            budget=self.config.env_budget,
            success_needed=self.success_threshold,
        )

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Alerts in causal order: by the events, or by the rules of this version."""
        return explain_run(self.run, self._tracker)

    @property
    def diagnosed_now(self) -> str:
        """A sentence if the rules of this version found the alerts; empty where the events tell them."""
        return _BY_RULES if self._stored_alerts is None and self._followed is None else ""

    @cached_property
    def _stored_alerts(self) -> list[Alert] | None:
        return stored_alerts(self.events, self.history, running=self.summary.status == "running")

    @cached_property
    def _tracker(self) -> AlertTracker:
        if self._followed is not None:
            return self._followed
        if self._stored_alerts is None:
            return AlertTracker(self.context, self.rows)
        tracker = AlertTracker(self.context)
        tracker.recall(self.history, self._stored_alerts)
        return tracker

    @property
    def findings(self) -> Findings:
        """The diagnosis as `gymsolve diagnose` answers it."""
        note = [self.diagnosed_now] * bool(self.diagnosed_now)
        metrics = Records(self.rows, [*self.metrics.problems, *note])
        return run_findings(self.run, self.config, self.context, self.diagnosis, metrics)

    @cached_property
    def lint(self) -> list[str]:
        """Settings that rarely work, but for those that a remedy changes."""
        return [str(doubt.without(self.diagnosis.decided)) for doubt in lint(self.config, self.context.spec)]

    # ------------------------------------------------------------------------------- for charts

    @property
    def axis(self) -> str:
        """The label of the axis of charts."""
        return UNITS[self.config.budget_in]

    def place(self, env_steps: float) -> float:
        """The place on the axis of a record at so many environment steps."""
        return self._vec_steps.get(int(env_steps), float(env_steps))

    def last(self, name: str) -> float | None:
        """The newest finite value of a metric."""
        return next(iter(reversed(self.values(name))), None)

    def values(self, name: str) -> list[float]:
        """All finite values of a metric."""
        series = self.history.get(name)
        return [] if series is None else [value for value in series.values if math.isfinite(value)]

    def points(self, name: str) -> list[Point]:
        """A metric over the axis of the charts; empty when it was never recorded."""
        series = self.history.get(name)
        return [] if series is None else list(zip(map(self.place, series.steps), series.values, strict=True))

    @cached_property
    def _vec_steps(self) -> dict[int, float]:
        """Vector steps by environment steps, where the run is measured in them."""
        if self.config.budget_in == "env_steps":
            return {}
        counted = [(row.get("env_steps"), row.get("vec_steps")) for row in self.rows]
        return {int(env): float(vec) for env, vec in counted if env is not None and vec is not None}
