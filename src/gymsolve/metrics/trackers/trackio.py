"""Trackio: a local database and dashboard (`trackio show`), one project per environment.

It gives runs ids of its own, so ours is in the run's name.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gymsolve.metrics.trackers.tracker import RunFacts, alert_text, histograms
from gymsolve.runs.run import slug


class TrackioSink:
    """Metrics, histograms, videos, alerts, settings and the outcome."""

    def open(self, facts: RunFacts, config: Mapping[str, Any]) -> str | None:
        with _unheard():
            import trackio

            self._trackio: Any = trackio
            self._axis, self._steps = facts.axis, facts.begins
            project = slug(facts.env_id)
            self._run = trackio.init(
                project=project,
                name=facts.label,
                group=facts.name,
                config=dict(config),
                resume="allow",
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )
        return f"Trackio: look at it with: trackio show --project {project}"

    def record(self, record: Mapping[str, Any]) -> None:
        self._steps = int(record[self._axis])
        values = dict(record)
        for name, bars in histograms(record).items():
            values[name] = self._trackio.Histogram(np_histogram=bars)
        self._run.log(values, step=self._steps)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "alert" and data["because"] is None:  # a consequence is no news of its own
            levels = self._trackio.AlertLevel
            level = {"error": levels.ERROR, "warn": levels.WARN}.get(data["severity"], levels.INFO)
            with _unheard():
                self._run.alert(data["title"], alert_text(data), level=level, step=self._steps)

    def video(self, path: Path, steps: int) -> None:
        film = self._trackio.Video(str(path), caption=f"{steps} steps")
        self._run.log({f"video/{path.stem}": film}, step=steps)

    def close(self, status: str, result: Mapping[str, Any]) -> None:
        outcome = {f"result/{name}": value for name, value in result.items() if value is not None}
        self._run.log({"status": status, **outcome}, step=self._steps)
        with _unheard():
            self._trackio.finish()  # unlike the run's own method, not once more when Python ends


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Trackio prints on standard output, which with `--json` belongs to the answer alone."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
