"""Results as they come: one JSON file per part, rewritten after every run, so that nothing is lost.

A file holds plain runs; whatever is said about them is computed when the page is made. Runs of one
command share a session and are comparable round by round. A later session replaces what it measures
again and leaves the rest.
"""

import json
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine

__all__ = ["OURS", "Record", "Store", "load_runs", "merge"]

Record = dict[str, Any]
OURS = "gymsolve"
"""The tool that all ratios refer to; it is measured in every session."""


class Store:
    """The results of one part within one session."""

    def __init__(self, folder: Path, part: str) -> None:
        self.path = folder / f"{part}.json"
        self.session = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self.machine = describe_machine()

    def add(self, record: Record) -> None:
        """Keep one run: `case` and `tool` say what it is of."""
        held = load_runs(self.path)
        runs = merge(held["runs"], {"session": self.session, **record})
        sessions = {run["session"] for run in runs}
        machines = {name: m for name, m in held["machines"].items() if name in sessions}
        machines[self.session] = self.machine
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machines": machines, "runs": runs}, indent=1, ensure_ascii=False)
        draft = self.path.with_suffix(".tmp")
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(self.path)


def load_runs(path: Path) -> dict[str, Any]:
    """`machines` by session and the `runs`; both empty when nothing was measured yet."""
    if not path.exists():
        return {"machines": {}, "runs": []}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def merge(runs: list[Record], new: Record) -> list[Record]:
    """The runs with a new one among them; what its session measures again is dropped.

    Our own runs of an older session stay as long as a peer of that session is still compared with them.
    """

    def superseded(run: Record) -> bool:
        same = run["case"] == new["case"] and run["tool"] == new["tool"]
        return same and run["session"] != new["session"] and run["tool"] != OURS

    kept = [run for run in runs if not superseded(run)] + [new]
    needed = {(run["case"], run["session"]) for run in kept if run["tool"] != OURS}
    newest: dict[str, str] = {}
    for run in kept:
        newest[run["case"]] = max(newest.get(run["case"], ""), run["session"])
    return [
        run
        for run in kept
        if run["tool"] != OURS
        or (run["case"], run["session"]) in needed
        or run["session"] == newest[run["case"]]
    ]
