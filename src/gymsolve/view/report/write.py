"""Both files of a run's report."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.runs.files import replace_text
from gymsolve.runs.run import Run
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report import sections
from gymsolve.view.report.audit import reward_audit
from gymsolve.view.report.curves import learning_curves
from gymsolve.view.report.document import Document
from gymsolve.view.report.markdown import render_markdown
from gymsolve.view.report.page import render_page
from gymsolve.view.report.prompt import language_model
from gymsolve.view.report.stages import stages
from gymsolve.view.report.verdict import badge, tiles, tone, verdict


class Report(NamedTuple):
    """The files that were written, and the view they were made from."""

    markdown: Path
    html: Path
    view: DiagnosedRun


def write_report(run: Run, alerts: AlertTracker | None = None, scratch: Sequence[Run] = ()) -> Report:
    """Write report.md and report.html into the folder of a run, whatever state it is in.

    `alerts` has followed the run to its end; without it the events or the rules tell the alerts. `scratch`
    are runs that learned a stage of its curriculum alone.
    """
    view = DiagnosedRun(run, alerts)
    document = compose(view, scratch)
    report = Report(run.path / "report.md", run.path / "report.html", view)
    replace_text(report.markdown, render_markdown(document))
    replace_text(report.html, render_page(document))
    return report


def compose(view: DiagnosedRun, scratch: Sequence[Run] = ()) -> Document:
    """All sections of a report; empty ones are left out when it is rendered."""
    return Document(
        title=f"{view.summary.name} · {view.run.id}",
        badge=badge(view),
        tone=tone(view),
        lead=verdict(view),
        tiles=tiles(view),
        sections=[
            learning_curves(view),
            sections.tasks(view),
            stages(view, scratch),
            sections.archive(view),
            sections.findings(view),
            sections.logbook(view),
            sections.video(view),
            sections.evaluations(view),
            reward_audit(view),
            sections.checkpoints(view),
            sections.speed(view),
            sections.configuration(view),
            sections.reproduce(view),
            language_model(view),
            sections.problems(view),
        ],
    )
