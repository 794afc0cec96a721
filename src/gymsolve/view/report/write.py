"""Both files of a run's report."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.runs.files import replace_text
from gymsolve.runs.run import Run
from gymsolve.view.report.audit import reward_audit
from gymsolve.view.report.curves import learning_curves
from gymsolve.view.report.document import Document
from gymsolve.view.report.facts import Facts, gather
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
    """The files that were written, and the facts they were made from."""

    markdown: Path
    html: Path
    facts: Facts


def write_report(run: Run, alerts: AlertTracker | None = None, scratch: Sequence[Run] = ()) -> Report:
    """Write report.md and report.html into the folder of a run, whatever state it is in.

    `alerts` has followed the run to its end; without it the rules are replayed. `scratch` are runs that
    learned a stage of its curriculum alone.
    """
    facts = gather(run, alerts, scratch)
    document = compose(facts)
    report = Report(run.path / "report.md", run.path / "report.html", facts)
    replace_text(report.markdown, render_markdown(document))
    replace_text(report.html, render_page(document))
    return report


def compose(facts: Facts) -> Document:
    """All sections of a report; empty ones are left out when it is rendered."""
    return Document(
        title=f"{facts.summary.name} · {facts.run.id}",
        badge=badge(facts),
        tone=tone(facts),
        lead=verdict(facts),
        tiles=tiles(facts),
        sections=[section(facts) for section in _SECTIONS],
    )
