"""Results of trying remedies: `fixes/<alert>.json` in the run that had the alert."""

from pathlib import Path
from typing import Any

from gymsolve.runs.files import make_folder, replace_json
from gymsolve.runs.run import Run
from gymsolve.runs.summary import SCHEMA_VERSION


def record_fix(run: Run, alert: str, facts: dict[str, Any]) -> Path:
    """Store the newest trial of an alert's remedy; the events keep a line about each."""
    path = make_folder(run.path / "fixes") / f"{alert}.json"
    replace_json(path, {"schema_version": SCHEMA_VERSION, **facts})
    return path
