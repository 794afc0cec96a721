"""Reports of runs, on request."""

from pathlib import Path
from typing import Any

from gymsolve.metrics.report.verdict import verdict
from gymsolve.metrics.report.write import write_report
from gymsolve.runs import find_run, split_ref

__all__ = ["report_run"]


def report_run(ref: str, runs_dir: Path | str | None = None) -> dict[str, Any]:
    """Write the report of a run, also of one that is still trained; where it is and what it says."""
    report = write_report(find_run(split_ref(ref)[0], runs_dir))
    facts = report.facts
    return {
        "run": facts.run.id,
        "markdown": str(report.markdown),
        "html": str(report.html),
        "status": facts.summary.status,
        "solved": facts.solved,
        "verdict": verdict(facts),
        "mean_reward": None if facts.best is None else facts.best["eval/mean_reward"],
        "threshold": facts.threshold,
        "env_steps": facts.env_steps,
        "seconds": facts.seconds,
        "quality": facts.quality,
        "alerts": [alert.id for alert in facts.diagnosis.roots],
        "problems": facts.problems,
    }
