"""Weights & Biases: one project per environment, the run's own id, the steps it is measured in as the axis.

Works without account and network: then the run is recorded in its own folder, to be sent later.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymsolve.metrics.trackers.tracker import RunFacts, alert_text, histograms
from gymsolve.runs.run import slug

_REACH_SECONDS = 20.0
_FINISH_SECONDS = 120.0
"""Data that W&B has not sent by then stays in the run's folder, for `wandb sync`."""


class WandbSink:
    """Metrics, histograms, videos, alerts, settings and the outcome."""

    def open(self, facts: RunFacts, config: Mapping[str, Any]) -> str | None:
        import wandb

        self._wandb: Any = wandb
        mode, why = choose_mode(wandb)
        try:
            self._run = self._init(facts, config, mode)
        except (wandb.errors.CommError, TimeoutError) as error:
            mode, why = "offline", f"W&B cannot be reached ({first_line(error)})"
            wandb.teardown()  # its service goes on trying, and would not let go of the run's id
            self._run = self._init(facts, config, mode)
        self._axis, self._steps = facts.axis, facts.begins
        self._bounds = {
            name: {f"bounds/{name}_min": low, f"bounds/{name}_max": high}
            for name, (low, high) in facts.bounds.items()
        }
        self._run.define_metric(self._axis)
        self._run.define_metric("*", step_metric=self._axis)
        # W&B drops what comes with a smaller number than it has seen: in an earlier sitting, on its server
        # or in files that have not been sent yet.
        self._number = max(self._run.step, facts.lines)
        if mode == "offline":
            return f"{why}: recorded offline; send it with: wandb sync {Path(self._run.dir).parent}"
        return f"W&B: {self._run.url}" if self._run.url else None

    def record(self, record: Mapping[str, Any]) -> None:
        self._steps = int(record[self._axis])
        values = dict(record)
        for name, bars in histograms(record).items():
            values[name] = self._wandb.Histogram(np_histogram=bars)
        for name in self._bounds.keys() & record.keys():  # level lines, to be laid over the metric's chart
            values |= self._bounds[name]
        self._log(values)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "alert" and data["because"] is None:  # a consequence is no news of its own
            levels = self._wandb.AlertLevel
            level = {"error": levels.ERROR, "warn": levels.WARN}.get(data["severity"], levels.INFO)
            self._run.alert(title=data["title"], text=alert_text(data), level=level)
        if kind in ("alert", "alert_cleared"):
            self._log({f"alert/{data['id']}": int(kind == "alert"), self._axis: self._steps})

    def video(self, path: Path, steps: int) -> None:
        film = self._wandb.Video(str(path), format="mp4", caption=f"{steps} steps")
        self._log({f"video/{path.stem}": film, self._axis: steps})

    def close(self, status: str, result: Mapping[str, Any]) -> None:
        outcome = {f"result/{name}": value for name, value in result.items()}
        self._run.summary.update({"status": status, **outcome})
        self._run.finish(exit_code=int(status == "crashed"))

    def _log(self, values: dict[str, Any]) -> None:
        self._run.log(values, step=self._number)
        self._number += 1

    def _init(self, facts: RunFacts, config: Mapping[str, Any], mode: str) -> Any:
        return self._wandb.init(
            project=project_of(facts.env_id),
            id=facts.id,
            name=facts.label,
            group=facts.name,
            tags=sorted({facts.algo, facts.variant}),
            config=dict(config),
            dir=facts.path,
            mode=mode,
            resume="allow",
            settings=self._wandb.Settings(
                silent=True,
                console="off",  # the run has its own log
                init_timeout=_REACH_SECONDS,
                finish_timeout=_FINISH_SECONDS,
            ),
        )


def project_of(env_id: str) -> str:
    """The project of an environment: W&B allows fewer characters in names than Gymnasium."""
    return slug(env_id)


def choose_mode(wandb: Any) -> tuple[str, str]:
    """W&B's mode, and the reason for it in words: the configured one, or offline without an account."""
    mode = str(wandb.setup(wandb.Settings(silent=True)).settings.mode)
    if mode != "online" or os.environ.get("WANDB_MODE") == "online":
        return mode, "W&B is set to offline"
    if wandb.login(prompt=False, verify=False):
        return "online", ""
    return "offline", "W&B has no account here (wandb login)"


def first_line(error: Exception) -> str:
    """The first line of an error: those of W&B's client are long."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
