"""Both files of a run's report."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.runs.files import replace_text
from gymsolve.runs.run import Run
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.audit import reward_audit
from gymsolve.view.report.curves import learning_curves
from gymsolve.view.report.document import Document
from gymsolve.view.report.markdown import render_markdown
from gymsolve.view.report.page import render_page
from gymsolve.view.report.prompt import language_model
from gymsolve.view.report.sections import (
    archive,
    checkpoints,
    configuration,
    evaluations,
    findings,
    logbook,
    problems,
    reproduce,
    speed,
    tasks,
    video,
)
from gymsolve.view.report.stages import stages
from gymsolve.view.report.verdict import badge, tiles, tone, verdict

_SECTIONS = (
    learning_curves,
    tasks,
    stages,
    archive,
    findings,
    logbook,
    video,
    evaluations,
    reward_audit,
    checkpoints,
    speed,
    configuration,
    reproduce,
    language_model,
    problems,
)


class Report(NamedTuple):
    """The files that were written, and the view they were made from."""

    markdown: Path
    html: Path
    view: DiagnosedRun


def write_report(run: Run, alerts: AlertTracker | None = None, scratch: Sequence[Run] = ()) -> Report:
    """Write report.md and report.html into the folder of a run, whatever state it is in.

    `alerts` has followed the run to its end; without it the rules are replayed. `scratch` are runs that
    learned a stage of its curriculum alone.
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
            tasks(view),
            stages(view, scratch),
            archive(view),
            findings(view),
            logbook(view),
            video(view),
            evaluations(view),
            reward_audit(view),
            checkpoints(view),
            speed(view),
            configuration(view),
            reproduce(view),
            language_model(view),
            problems(view),
        ],
    )
