"""The answer of a diagnosis: alerts in causal order, what was not checked, and doubts about settings."""

from dataclasses import dataclass
from typing import Any

from gymsolve.answers import Answer
from gymsolve.doctor.alerts import Alert
from gymsolve.doctor.diagnosis import Diagnosis
from gymsolve.doctor.lint import lint
from gymsolve.doctor.rules.rule import Context
from gymsolve.doctor.tried import TriedRemedy, tried_remedies
from gymsolve.runs import Run
from gymsolve.runs.records import Records
from gymsolve.settings.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class ExplainedAlert(Alert):
    """An alert that follows from another one."""

    because: str
    """The id of the root it follows from."""


@dataclass(frozen=True)
class Findings(Answer):
    """The alerts of a training in causal order, and the rules that did not fire or were not checked."""

    run: str
    path: str
    log: str
    """The tool that wrote the log: `gymsolve`, or another one."""
    env_id: str | None
    settings: dict[str, Any]
    """Settings in a log of another tool, under that tool's names; empty for our own."""
    records: int
    env_steps: int
    roots: tuple[Alert, ...]
    """Causes, the most urgent one first."""
    consequences: tuple[ExplainedAlert, ...]
    not_fired: tuple[str, ...]
    not_checked: dict[str, str]
    """Ids of rules, and why they could not be checked."""
    problems: list[str]
    """Files and lines that could not be read."""
    lint: list[str]
    """Settings that rarely work."""
    tried: tuple[TriedRemedy, ...] = ()
    """Remedies that were tried on this run, with their verdicts."""


def run_findings(
    run: Run, config: TrainConfig, context: Context, diagnosis: Diagnosis, metrics: Records
) -> Findings:
    """A diagnosis of a run, with doubts about its settings and problems of its files."""
    return Findings(
        run=run.id,
        path=str(run.path),
        log="gymsolve",
        env_id=config.env.id,
        settings={},
        **facts(diagnosis, metrics.rows),
        problems=metrics.problems,
        lint=[str(doubt.without(diagnosis.decided)) for doubt in lint(config, context.spec)],
        tried=tuple(tried_remedies(run.id, run.read_events().rows).values()),
    )


def facts(diagnosis: Diagnosis, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of `Findings` that follow from a diagnosis and its records."""
    return {
        "records": len(rows),
        "env_steps": max((int(row.get("env_steps") or 0) for row in rows), default=0),
        "roots": diagnosis.roots,
        "consequences": tuple(
            ExplainedAlert(**vars(follows.alert), because=follows.because)
            for follows in diagnosis.consequences
        ),
        "not_fired": diagnosis.not_fired,
        "not_checked": dict(diagnosis.not_checked),
    }
