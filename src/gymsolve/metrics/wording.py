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
    """The changes of an alert as options of the command line; without any, its other advice."""
    if not alert["changes"]:
        return alert.get("instead") or _NONE  # events of older versions have no `instead`
    words = []
    for change in alert["changes"]:
        if change["advice"]:
            words.append(f"{change['path']}: {change['advice']}")
        else:
            new = setting(change["new"])
            quoted = f"'{change['path']}={new}'" if " " in new else f"{change['path']}={new}"
            old = _AUTOMATIC if (change["path"], change["old"]) in _CADENCES else setting(change["old"])
            words.append(f"--set {quoted} (was {old})")
    return "try " + ", ".join(words)


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """The evidence of an alert in words: the metric, its value and the threshold."""
    value, sign, note = evidence["value"], evidence["sign"], evidence["note"]
    if not sign:
        return str(note)  # an event, not a number that crossed a threshold
    relation = (
        "not finite" if value is None or value != value else _against(value, sign, evidence["threshold"])
    )
    return f"{evidence['meaning'] or evidence['metric']} {relation}" + (f", {note}" if note else "")


def event_evidence(facts: Mapping[str, Any]) -> str:
    """The evidence of an alert in an event, which calls the note a remark."""
    return evidence_text({**facts, "note": facts["remark"]})


def lasting(alert: Mapping[str, Any], follows: Iterable[Mapping[str, Any]]) -> str:
    """The steps at which an alert was active; an alert that is over may have consequences that are not."""
    first, last = alert["onset"], alert["step"]
    if alert.get("ended"):
        return f"at step {count(first)}, where the run ended"
    if alert["active"]:
        return f"since step {count(first)}"
    when = f"at step {count(first)}" if last <= first else f"steps {count(first)} to {count(last)}"
    remain = any(consequence["active"] for consequence in follows)
    return f"{when}; its consequences remain" if remain else f"{when}, over by now"


def _against(value: float, sign: str, threshold: float) -> str:
    """The value beside its threshold; an active alert may be back on the right side of it."""
    crossed = sign not in _CROSSED or _CROSSED[sign](value, threshold)
    return f"{number(value)}{'' if crossed else ', was'} {sign} {number(threshold)}"
