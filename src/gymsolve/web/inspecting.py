"""What the inspector reads: runs to inspect, and rows, pictures and tables of stored episodes."""

import math

from gymsolve.apps.inspector import reading as inspections
from gymsolve.errors import UsageError
from gymsolve.web import reviewing
from gymsolve.web.route import Ask, Raw, Reply, Route

_BYTES = "application/octet-stream"
_KEPT = {"cache-control": "private, max-age=3600"}
"""Pictures of a state never change."""


def _runs(ask: Ask) -> Reply:
    return inspections.runs_to_inspect(ask.home.runs_dir)


def _run(ask: Ask) -> Reply:
    return inspections.inspectable(ask.home.runs_dir, ask.path["run"])


def _facts(ask: Ask) -> Reply:
    return inspections.episode_facts(*_place(ask))


def _rows(ask: Ask) -> Reply:
    first, last = _whole(ask, "from"), _whole(ask, "to")
    return Raw(inspections.episode_rows(*_place(ask), first, last, head="head" in ask.query), _BYTES)


def _frames(ask: Ask) -> Reply:
    found = inspections.episode_frames(*_place(ask), _whole(ask, "from"), _whole(ask, "to"))
    return Raw(found, _BYTES, _KEPT)


def _planes(ask: Ask) -> Reply:
    return Raw(inspections.episode_planes(*_place(ask), ask.query.get("numbers", "")), _BYTES, _KEPT)


def _credit(ask: Ask) -> Reply:
    return Raw(inspections.episode_credit(*_place(ask), _changes(ask)), _BYTES)


def _csv(ask: Ask) -> Reply:
    text = inspections.episode_csv(*_place(ask), _changes(ask))
    headers = {"content-disposition": f'attachment; filename="{ask.path["episode"]}.csv"'}
    return Raw(text.encode(), "text/csv; charset=utf-8", headers)


def _place(ask: Ask) -> tuple[str | None, str, str]:
    return ask.home.runs_dir, ask.path["run"], ask.path["episode"]


def _whole(ask: Ask, name: str) -> int:
    text = ask.query.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise UsageError(f"{name!r} is not the number of a state.", where=name)
    return int(text)


def _changes(ask: Ask) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in ("gamma", "gae_lambda", "reward_scale"):
        text = ask.query.get(name)
        try:
            found[name] = None if text is None else float(text)
        except ValueError as error:
            raise UsageError(f"{str(text)[:40]!r} is not a number.", where=name) from error
        if found[name] is not None and not math.isfinite(found[name] or 0.0):
            raise UsageError("it has to be finite.", where=name)
    return found


_EPISODE = "/inspect/{run}/{episode}"
ROUTES: tuple[Route, ...] = (
    *reviewing.ROUTES,
    Route("GET", "/inspect", _runs),
    Route("GET", "/inspect/{run}", _run),
    Route("GET", _EPISODE, _facts),
    Route("GET", f"{_EPISODE}/rows", _rows),
    Route("GET", f"{_EPISODE}/frames", _frames),
    Route("GET", f"{_EPISODE}/planes", _planes),
    Route("GET", f"{_EPISODE}/credit", _credit),
    Route("GET", f"{_EPISODE}/csv", _csv),
)
