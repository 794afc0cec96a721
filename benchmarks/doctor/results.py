"""Results as they come: one JSON file, rewritten after every training."""

import json
from pathlib import Path
from typing import Any

from benchmarks.doctor.cases import Case
from benchmarks.machine import describe_machine

__all__ = ["Result", "load", "make_result", "save"]

Result = dict[str, Any]


def make_result(case: Case, diagnosis: dict[str, Any], seconds: float) -> Result:
    return {
        "fault": case.fault.name,
        "env": case.env,
        "seed": case.seed,
        "half": case.half,
        "names": list(case.fault.names),
        "shows": list(case.fault.shows),
        **diagnosis,
        "seconds": round(seconds, 1),
    }


def load(path: Path) -> dict[str, Result]:
    """By the key of their case."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return {f"{one['fault']}/{one['env']}/{one['seed']}": one for one in found}


def save(path: Path, results: dict[str, Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in results.values())
    draft = path.with_suffix(".tmp")
    machine = json.dumps(describe_machine(), ensure_ascii=False)
    draft.write_text(f'{{"machine": {machine},\n "runs": [\n  {rows}\n ]}}\n', encoding="utf-8")
    draft.replace(path)
