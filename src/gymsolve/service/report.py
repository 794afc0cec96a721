"""Reports of runs, on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gymsolve.answers import Answer
from gymsolve.runs import Status, find_run, split_ref
from gymsolve.view.report.verdict import verdict
from gymsolve.view.report.write import write_report


@dataclass(frozen=True)
class WrittenReport(Answer):
    """The files of a report, and its main figures."""

    run: str
    markdown: str
    html: str
    status: Status
    solved: bool
    verdict: str
    mean_reward: float | None
    threshold: float | None
    env_steps: int
    seconds: float
    quality: float | None
    alerts: list[str]
    """Ids of the root causes."""
    problems: list[str]
    """Files of the run that could not be read, in sentences."""


def report_run(ref: str, runs_dir: Path | str | None = None, scratch: Sequence[str] = ()) -> WrittenReport:
    """Write the report of a run, also of one that is still trained.

    `scratch` are runs that learned a stage of its curriculum alone, for the table of forward transfer.
    """
    alone = [find_run(split_ref(other)[0], runs_dir) for other in scratch]
    report = write_report(find_run(split_ref(ref)[0], runs_dir), scratch=alone)
    view = report.view
    return WrittenReport(
        run=view.run.id,
        markdown=str(report.markdown),
        html=str(report.html),
        status=view.summary.status,
        solved=view.solved,
        verdict=verdict(view),
        mean_reward=None if view.best is None else view.best["eval/mean_reward"],
        threshold=view.return_threshold,
        env_steps=view.env_steps,
        seconds=view.seconds,
        quality=view.quality,
        alerts=[alert.id for alert in view.diagnosis.roots],
        problems=view.problems,
    )
