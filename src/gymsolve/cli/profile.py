"""Where the time of a profiled run went, as a table."""

from pathlib import Path
from typing import Any

from gymsolve.cli.output import heading, print_table
from gymsolve.runs.files import read_json
from gymsolve.text import number

__all__ = ["print_split", "read_split"]


def read_split(run: Path) -> dict[str, Any]:
    """What `--profile` wrote, with the path of the flame graph."""
    return read_json(run / "profile" / "split.json") | {"flame_graph": str(run / "profile" / "flame.html")}


def print_split(split: dict[str, Any]) -> None:
    """Seconds and shares by phase, then where to look closer."""
    from gymsolve.training.profile import PHASES

    heading(f"Where {number(split['seconds'])} s went")
    rows = [
        (name, number(one["seconds"]), f"{one['share']:.1%}", PHASES[name])
        for name, one in split["phases"].items()
    ]
    print_table(("phase", "seconds", "share", ""), rows, right=("seconds", "share"))
    print(f"\nflame graph   {split['flame_graph']}")
