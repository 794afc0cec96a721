"""Evidence, spans and remedies of alerts as people read them, on a terminal and in reports."""

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from gymsolve.text import count, number, setting

_NONE = "no setting mends this: it is in the environment or in the code"
_CADENCES = (("eval.every", 0), ("checkpoint.every", 0))
_AUTOMATIC = "0, a share of the budget"
_CROSSED = {">": operator.gt, "<": operator.lt}


def remedy_text(alert: Mapping[str, Any]) -> str:
    """What to change, as one would type it; without a change, what else to do."""
    if not alert["changes"]:
        return alert.get("instead") or _NONE  # events of before do not have the second
    told = []
    for change in alert["changes"]:
        if change["advice"]:
            told.append(f"{change['path']}: {change['advice']}")
        else:
            new = setting(change["new"])
            quoted = f"'{change['path']}={new}'" if " " in new else f"{change['path']}={new}"
            old = _AUTOMATIC if (change["path"], change["old"]) in _CADENCES else setting(change["old"])
            told.append(f"--set {quoted} (was {old})")
    return "try " + ", ".join(told)


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """What was measured, the number that crossed a line, and the line; from the evidence of an alert."""
    value, sign, note = evidence["value"], evidence["sign"], evidence["note"]
    if not sign:
        return str(note)  # something that happened, not a number that crossed a line
    shown = "not finite" if value is None or value != value else _against(value, sign, evidence["threshold"])
    return f"{evidence['meaning'] or evidence['metric']} {shown}" + (f", {note}" if note else "")


def event_evidence(facts: Mapping[str, Any]) -> str:
    """The same from an event, which calls the note a remark."""
    return evidence_text({**facts, "note": facts["remark"]})


def lasting(alert: Mapping[str, Any], follows: Iterable[Mapping[str, Any]]) -> str:
    """When an alert was measured, and whether something that follows from it still is."""
    first, last = alert["onset"], alert["step"]
    if alert.get("ended"):
        return f"at step {count(first)}, where the run ended"
    if alert["active"]:
        return f"since step {count(first)}"
    when = f"at step {count(first)}" if last <= first else f"steps {count(first)} to {count(last)}"
    remain = any(one["active"] for one in follows)
    return f"{when}; its consequences remain" if remain else f"{when}, over by now"


def _against(value: float, sign: str, threshold: float) -> str:
    """An alert goes on until its number is well back: meanwhile it may be on the right side of the line."""
    crossed = sign not in _CROSSED or _CROSSED[sign](value, threshold)
    return f"{number(value)}{'' if crossed else ', was'} {sign} {number(threshold)}"
