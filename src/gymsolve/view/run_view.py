"""One run as everybody reads it: each fact is read or derived once, when it is first asked for.

`runs show`, the page of a run, the tools for agents, comparisons and reports render from it. A view is of one
moment; for news, make another one.
"""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gymsolve import recipes
from gymsolve.metrics.time_accounting import Spending, spent_in_all
from gymsolve.metrics.training_returns import training_unit
from gymsolve.runs.checkpoints import survey_checkpoints
from gymsolve.runs.deleted import when_deleted
from gymsolve.runs.index import list_runs
from gymsolve.runs.logbook import LogEntry, entries_about
from gymsolve.runs.records import Records
from gymsolve.runs.refs import best_reward, choose_threshold
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import find_masters
from gymsolve.runs.summary import RunSummary
from gymsolve.runs.videos import Video, choose_video, list_videos
from gymsolve.view.stages import VisitedStage, stage_visits, task_curves, tell_stages

if TYPE_CHECKING:  # the models of the settings take a moment to import, and most doors need none of them
    from gymsolve.settings.config import TrainConfig

_SEVERITIES = ("error", "warn", "info")
Row = dict[str, Any]
Point = tuple[float, float]


class RunView:
    """Everything known of a run but its diagnosis, which `DiagnosedRun` adds."""

    def __init__(self, run: Run) -> None:
        self.run = run

    # ------------------------------------------------------------------------------------- files

    @cached_property
    def summary(self) -> RunSummary:
        return self.run.summary()

    @cached_property
    def info(self) -> Row:
        """`run.json`."""
        return self.run.info()

    @cached_property
    def stored(self) -> Row:
        """`config.json`: the settings (`config`), and the layer that decided each (`provenance`)."""
        return self.run.config_json()

    @cached_property
    def training_unit(self) -> str:
        """`per point` or `per life` where training episodes are such parts of games; else empty."""
        env = self.stored["config"].get("env")
        return training_unit(env) if isinstance(env, dict) else ""

    @cached_property
    def metrics(self) -> Records:
        """Records of metrics, with null where a number was not finite, and what cannot be read."""
        return self.run.read_metrics_raw()

    @property
    def rows(self) -> list[Row]:
        return self.metrics.rows

    @cached_property
    def event_records(self) -> Records:
        return self.run.read_events()

    @property
    def events(self) -> list[Row]:
        return self.event_records.rows

    @property
    def shown_events(self) -> list[Row]:
        """Events for people: without the state of all alerts, which is there for readers such as this."""
        return [event for event in self.events if event["kind"] != "alerts"]

    def event(self, kind: str) -> Row | None:
        """The newest event of a kind."""
        return next((event for event in reversed(self.events) if event.get("kind") == kind), None)

    @cached_property
    def _surveyed(self) -> tuple[list[Row], list[str]]:
        return survey_checkpoints(self.run)

    @property
    def checkpoints(self) -> list[Row]:
        return self._surveyed[0]

    @property
    def damage(self) -> list[str]:
        """Checkpoints that cannot be read, in sentences."""
        return self._surveyed[1]

    @property
    def problems(self) -> list[str]:
        """Everything that cannot be read, in sentences."""
        return [*self.metrics.problems, *self.event_records.problems, *self.damage]

    @cached_property
    def videos(self) -> list[Video]:
        return list_videos(self.run)

    @property
    def video(self) -> Video | None:
        """The one to show."""
        return choose_video(self.videos)

    @cached_property
    def logbook(self) -> list[LogEntry]:
        """Entries about it, oldest first."""
        return entries_about(self.run.path.parent, self.run.id)

    @cached_property
    def parent_deleted(self) -> str | None:
        """The day on which the run that it began from was deleted; None where it was not."""
        parent = self.summary.parent
        return None if parent is None else when_deleted(self.run.path.parent, str(parent.get("run")))

    @cached_property
    def trials(self) -> list[RunSummary]:
        """Runs that tried something for this one, oldest first."""
        others = reversed(list_runs(self.run.path.parent))
        return [
            other for other in others if other.is_trial and (other.parent or {}).get("run") == self.run.id
        ]

    @property
    def running_trials(self) -> list[RunSummary]:
        """Trials that train now."""
        return [trial for trial in self.trials if trial.status == "running"]

    # ----------------------------------------------------------------------------------- numbers

    @cached_property
    def newest(self) -> Row:
        """The newest value of each metric; NaN where it was not finite."""
        newest: Row = {}
        for row in self.rows:
            newest |= row
        return restore_nan(newest)

    @cached_property
    def evaluations(self) -> list[Row]:
        """Records of evaluations."""
        return [row for row in self.rows if "eval/mean_reward" in row]

    @cached_property
    def judged(self) -> list[Row]:
        """Records of evaluations whose mean is finite."""
        return [row for row in self.rows if is_finite(row.get("eval/mean_reward"))]

    @property
    def env_steps(self) -> int:
        newest = max((int(row.get("env_steps") or 0) for row in self.rows), default=0)
        return max(newest, self.summary.env_steps)

    @cached_property
    def _spending(self) -> Spending:
        spending = Spending()
        for row in self.rows:
            spending.add(restore_nan(row))
        return spending

    @property
    def seconds(self) -> float:
        """Spent collecting, learning and evaluating, over all sittings."""
        return self._spending.trained

    @property
    def spent(self) -> dict[str, float]:
        """Seconds of all sittings by what they went into, starting and videos included."""
        return spent_in_all(self._spending, self.events)

    @property
    def best_reward(self) -> float | None:
        """Mean reward of the best checkpoint."""
        return best_reward(self.run)

    @cached_property
    def threshold(self) -> float | None:
        """Mean reward at which it counts as solved; None where successes decide, or nothing is known."""
        return choose_threshold(self.info, self.stored["config"], lambda: self.events)

    @property
    def success_threshold(self) -> float | None:
        """Share of successes that counts as solved; None where the return decides."""
        config: Row = self.stored["config"]
        return config.get("solved_at") if config.get("solved_by") == "success_rate" else None

    @property
    def solved(self) -> bool:
        if self.summary.status in ("running", "crashed"):  # nobody has written a verdict yet
            return any(row.get("solved") == 1.0 for row in self.judged)
        return self.summary.status == "solved"

    @property
    def best(self) -> Row | None:
        """The evaluation that counts: of the checkpoint called best, else the highest one."""
        for saved in self.checkpoints:
            if saved["best"] and saved["eval"] and is_finite(saved["eval"].get("eval/mean_reward")):
                return {"env_steps": saved["env_steps"], **saved["eval"]}
        return max(self.judged, key=lambda row: row["eval/mean_reward"], default=None)

    @cached_property
    def stages(self) -> list[VisitedStage]:
        """Stages of a curriculum in the order in which they were visited; empty without one."""
        curriculum = self.stored["config"].get("curriculum")
        if not isinstance(curriculum, dict) or not curriculum.get("stages"):
            return []
        visits = stage_visits(self.config, self.events)
        return tell_stages(visits, self.stage_curves, find_masters(self.run))

    @cached_property
    def stage_curves(self) -> dict[str, list[Point]]:
        """Results of evaluations by stage and environment steps."""
        by_success = self.config.solved_by == "success_rate"
        return task_curves(self.rows, self.config.curriculum.names, by_success=by_success)

    # ---------------------------------------------------------------------- settings and alerts

    @cached_property
    def config(self) -> "TrainConfig":
        """The settings, validated."""
        return recipes.validate(self.stored["config"], f"{self.run.id}/config.json")

    @cached_property
    def active_alerts(self) -> list[dict[str, str]]:
        """Alerts that are active by the events: id, severity and title, the gravest first."""
        active: dict[str, dict[str, str]] = {}
        for event in self.events:
            name = str(event.get("id") or "")
            if event["kind"] == "alert_cleared":
                active.pop(name, None)
            elif event["kind"] == "alert" and name:
                severity = event["severity"] if event.get("severity") in _SEVERITIES else "info"
                active[name] = {"id": name, "severity": severity, "title": str(event.get("title") or name)}
        return sorted(active.values(), key=lambda alert: _SEVERITIES.index(alert["severity"]))

    @cached_property
    def alert_causes(self) -> list[dict[str, str]]:
        """Root causes of active alerts, the gravest first; one that is over stands for its consequences."""
        fired = {
            str(event["id"]): event for event in self.events if event["kind"] == "alert" and event.get("id")
        }
        active = {alert["id"]: alert for alert in self.active_alerts}
        causes: dict[str, dict[str, str]] = {}
        for name, alert in active.items():
            root = str(fired[name].get("because") or name)
            if root in active or root not in fired:
                causes[root] = active.get(root, alert)
            else:
                title = f"{fired[root].get('title') or root}; its consequences remain"
                causes[root] = {"id": root, "severity": alert["severity"], "title": title}
        return sorted(causes.values(), key=lambda alert: _SEVERITIES.index(alert["severity"]))


def restore_nan(row: Mapping[str, Any]) -> Row:
    """A record with NaN where its file has null: the number was not finite when it was measured."""
    return {name: math.nan if value is None else value for name, value in row.items()}


def is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
