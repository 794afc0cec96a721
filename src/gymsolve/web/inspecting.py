"""Answers to what the inspector asks: runs to inspect, and rows, pictures and tables of stored episodes."""

from gymsolve.apps.inspector import reading as inspections
from gymsolve.web.route import Ask, Raw, Reply

_BYTES = "application/octet-stream"
_CREDIT = ("gamma", "gae_lambda", "reward_scale")
"""Settings of credit that a request may change."""
_KEPT = {"cache-control": "private, max-age=3600"}
"""Pictures of a state never change."""


def list_runs(ask: Ask) -> Reply:
    return inspections.runs_to_inspect(ask.home.runs_dir)


def show_run(ask: Ask) -> Reply:
    return inspections.inspectable(ask.home.runs_dir, ask.path["run"])


def show_episode(ask: Ask) -> Reply:
    return inspections.episode_facts(*_place(ask))


def send_rows(ask: Ask) -> Reply:
    first, last = ask.whole("from"), ask.whole("to")
    return Raw(inspections.episode_rows(*_place(ask), first, last, head="head" in ask.query), _BYTES)


def send_frames(ask: Ask) -> Reply:
    frames = inspections.episode_frames(*_place(ask), ask.whole("from"), ask.whole("to"))
    return Raw(frames, _BYTES, _KEPT)


def send_planes(ask: Ask) -> Reply:
    return Raw(inspections.episode_planes(*_place(ask), ask.query.get("numbers", "")), _BYTES, _KEPT)


def send_credit(ask: Ask) -> Reply:
    return Raw(inspections.episode_credit(*_place(ask), _changes(ask)), _BYTES)


def send_csv(ask: Ask) -> Reply:
    text = inspections.episode_csv(*_place(ask), _changes(ask))
    headers = {"content-disposition": f'attachment; filename="{ask.path["episode"]}.csv"'}
    return Raw(text.encode(), "text/csv; charset=utf-8", headers)


def _place(ask: Ask) -> tuple[str | None, str, str]:
    return ask.home.runs_dir, ask.path["run"], ask.path["episode"]


def _changes(ask: Ask) -> dict[str, float | None]:
    return {name: ask.number(name) if name in ask.query else None for name in _CREDIT}
