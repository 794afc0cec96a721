"""The tool for the logbook: what people and agents tried, and what came of it."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.answers import Answer
from gymsolve.mcp.tool import DATA, Arguments, Home, Reply, Tell, Tool, refuse_given, shorten
from gymsolve.service.agent_limits import require_writing

_SHORT, _LONG = 400, 3000
"""Characters of one part of an entry, concise and detailed."""
_PAGE = 12_000
"""Characters of entries in one answer."""


class Logbook(Arguments):
    action: Literal["read", "add"] = "read"
    query: Annotated[str, Field(description="Words, verdict:refuted, run:PART")] = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    offset: Annotated[int, Field(ge=0)] = 0
    detail: Literal["concise", "detailed"] = "concise"
    note: str = ""
    hypothesis: str = ""
    change: Annotated[str, Field(description="What was changed: algo.gamma=0.98")] = ""
    result: str = ""
    verdict: Literal["confirmed", "refuted", "open"] = "open"
    runs: Annotated[list[str], Field(max_length=50, description="Runs that it is about")] = Field(
        default_factory=list
    )


def _logbook(home: Home, given: Logbook, tell: Tell) -> Reply:
    from gymsolve.service.logbook import add_entry

    texts = ("note", "hypothesis", "change", "result", "verdict", "runs")
    if given.action == "read":
        refuse_given(given, "with action=read; action=add writes", texts)
        return _entries(home, given)
    refuse_given(given, "with action=add", ("query", "limit", "offset", "detail"))
    require_writing(home.limits)
    return add_entry(
        by=home.by,
        note=given.note,
        hypothesis=given.hypothesis,
        change=given.change,
        result=given.result,
        verdict=given.verdict,
        runs=given.runs,
        runs_dir=home.runs_dir,
    )


@dataclass(frozen=True)
class Entries(Answer):
    """Entries of the logbook, newest first: words of people and of other agents."""

    entries: list[dict[str, Any]]
    total: int
    problems: list[str]
    next: str


def _entries(home: Home, given: Logbook) -> Entries:
    from gymsolve.service.logbook import read_logbook

    found = read_logbook(given.query, given.offset + given.limit, home.runs_dir)
    most = _SHORT if given.detail == "concise" else _LONG
    shown: list[dict[str, Any]] = []
    for entry in found.entries[given.offset :]:
        told = {name: shorten(value, most) for name, value in entry.to_json().items() if value}
        if shown and len(json.dumps([*shown, told])) > _PAGE:
            break
        shown.append(told)
    left = found.total - given.offset - len(shown)
    more = f"{left} older ones: offset={given.offset + len(shown)}." if left > 0 else "These are all."
    return Entries(shown, found.total, found.problems[:10], f"{more} {DATA}")


LOGBOOK = Tool(
    "rl_logbook",
    "What was tried and what came of it. Read it before you start, write when you know more.",
    Logbook,
    _logbook,
    writes=True,
)
