"""The tool for the logbook, in which people and agents write what they tried."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from gymsolve.mcp.tool import DATA, Arguments, Record, Reply, Tell, Tool, refuse_given, shorten
from gymsolve.service.agent_limits import Home, require_writing
from gymsolve.service.logbook import add_entry, read_logbook

_WRITTEN = ("note", "hypothesis", "change", "result", "verdict", "runs")
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
    """Trials and their results. Read it before you start, write when you know more."""
    if given.action == "read":
        refuse_given(given, "with action=read; action=add writes", _WRITTEN)
        return _entries(home, given)
    refuse_given(given, "with action=add", ("query", "limit", "offset", "detail"))
    require_writing(home.limits)
    return add_entry(by=home.by, **given.model_dump(include=set(_WRITTEN)), runs_dir=home.runs_dir)


def _entries(home: Home, given: Logbook) -> Record:
    """Entries of people and agents, newest first."""
    logbook = read_logbook(given.query, given.offset + given.limit, home.runs_dir)
    most = _SHORT if given.detail == "concise" else _LONG
    entries: list[dict[str, Any]] = []
    for entry in logbook.entries[given.offset :]:
        parts = {name: shorten(value, most) for name, value in entry.to_json().items() if value}
        if entries and len(json.dumps([*entries, parts])) > _PAGE:
            break
        entries.append(parts)
    left = logbook.total - given.offset - len(entries)
    more = f"{left} older ones: offset={given.offset + len(entries)}." if left > 0 else "These are all."
    facts = {"entries": entries, "total": logbook.total, "problems": logbook.problems[:10]}
    return Record(facts, f"{more} {DATA}", quoted=True)


LOGBOOK = Tool("rl_logbook", Logbook, _logbook, writes=True)
