"""Evidence and remedies of alerts as people read them, on a terminal and in reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from gymsolve.text import number, setting

__all__ = ["evidence_text", "remedy_text"]

_NONE = "no setting mends this: it is in the environment or in the code"


def remedy_text(changes: Sequence[Mapping[str, Any]]) -> str:
    """What to change, as one would type it."""
    if not changes:
        return _NONE
    told = []
    for change in changes:
        if change["advice"]:
            told.append(f"{change['path']}: {change['advice']}")
        else:
            new = setting(change["new"])
            quoted = f"'{change['path']}={new}'" if " " in new else f"{change['path']}={new}"
            told.append(f"--set {quoted} (was {setting(change['old'])})")
    return "try " + ", ".join(told)


def evidence_text(metric: str, value: float, sign: str, threshold: float, note: str) -> str:
    """The number that crossed a line, and the line."""
    shown = "not finite" if value is None or value != value else f"{number(value)} {sign} {number(threshold)}"
    return f"{metric} {shown}" + (f", {note}" if note else "")
