"""Answers to what pages ask about runs: their curves and videos, and what there is to play."""

import json
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from gymsolve.errors import UnknownRunError
from gymsolve.jobs.cancellation import require_wanted
from gymsolve.runs import Run, list_runs
from gymsolve.runs.videos import list_videos, poster_of
from gymsolve.service.recipes import ListedRecipe, list_recipes
from gymsolve.view.live_series import Part, SharedCurves, follow_metrics, look_closer, name_metrics
from gymsolve.view.run_page import look_over, run_by_id, run_stamp
from gymsolve.view.run_settings import FACTS
from gymsolve.view.runs_table import RunsTable, Shape
from gymsolve.web.route import Ask, File, Reply

_REPORT_POLICY = (
    # A report may come from anybody: the browser runs nothing in it, and loads nothing from elsewhere.
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-same-origin"
)
_MOST_ROWS = 200
_MOST_COLUMNS = 20
_MOST_PLAYABLE = 50
_OWN_RECIPES = "Recipes of your own"


def asked_run(ask: Ask) -> Run:
    """The run that the address names."""
    return run_by_id(ask.path["run"], ask.home.runs_dir)


@lru_cache(maxsize=4)
def _table(runs_dir: str | None) -> RunsTable:
    return RunsTable(runs_dir)


@lru_cache(maxsize=1)
def _curves() -> SharedCurves:
    return SharedCurves()


def show_runs(ask: Ask) -> Reply:
    """The table of runs."""
    table = _table(ask.home.runs_dir).look(
        ask.query.get("query", ""),
        sort=ask.query.get("sort", "created"),
        descending=ask.query.get("order", "down") != "up",
        offset=ask.whole("offset", 0),
        limit=min(_MOST_ROWS, ask.whole("limit", 50)),
        trials=ask.query.get("trials") == "1",
        shape=Shape(tuple(ask.lines("settings"))[:_MOST_COLUMNS], ask.query.get("group_by", "")),
        check=require_wanted,
    )
    return {**table.to_json(), **_server(ask)}


def name_settings(ask: Ask) -> Reply:
    """Facts and settings that runs can be grouped by, and that a column can show."""
    named = _table(ask.home.runs_dir).name_settings(ask.query.get("query", ""), require_wanted)
    return {"facts": list(FACTS), "settings": [setting.to_json() for setting in named]}


def show_run(ask: Ask) -> Reply:
    """One run, but for its curves."""
    run = asked_run(ask)
    metrics = [metric.to_json() for metric in name_metrics(run)]
    return {**look_over(run), "metrics": metrics, **_server(ask)}


def _server(ask: Ask) -> dict[str, Any]:
    """Rights and machine of this server: a run may be of another machine."""
    return {"read_only": ask.home.limits.read_only, "machine": platform.node()}


def follow_run(ask: Ask) -> Reply:
    """Records since a cursor, the state of the run, and a stamp of everything else."""
    run = asked_run(ask)
    summary, stamp = run.summary(), run_stamp(run)  # first: what has ended has written all of its records
    state = {"status": summary.status, "reason": summary.reason, "env_steps": summary.env_steps}
    followed = follow_metrics(run, ask.lines("names"), ask.query.get("since", ""), _curves(), require_wanted)
    return {**followed.to_json(), **state, "stamp": stamp}


def show_closer(ask: Ask) -> Reply:
    """A part of the curves in more detail."""
    axis: Literal["steps", "seconds"] = "seconds" if ask.query.get("axis") == "seconds" else "steps"
    part = Part(axis, ask.number("from"), ask.number("to"))
    return look_closer(asked_run(ask), ask.lines("names"), part, require_wanted).to_json()


def name_recipes(ask: Ask) -> Reply:
    """Names that a run can be started by."""
    recipes = list_recipes(ask.query.get("query") or None).recipes
    return {"recipes": [{"name": recipe.name, "description": recipe.description} for recipe in recipes]}


def list_playable(ask: Ask) -> Reply:
    """The environments with a recipe, with their family and picture, and the newest runs."""
    known, recipes = _environments(), dict[str, list[ListedRecipe]]()
    for recipe in list_recipes().recipes:
        recipes.setdefault(recipe.env_id, []).append(recipe)
    runs = list_runs(ask.home.runs_dir, limit=_MOST_PLAYABLE, trials=False)
    return {
        "environments": [
            {
                "id": env_id,
                "names": [recipe.name for recipe in those],
                "about": those[0].description,
                **known.get(env_id, {"family": _OWN_RECIPES, "picture": None}),
            }
            for env_id, those in recipes.items()
        ],
        "runs": [
            {
                **{name: getattr(run, name) for name in ("id", "env_id", "status", "label", "tags")},
                "picture": known.get(run.env_id, {}).get("picture"),
            }
            for run in runs
            if run.status != "damaged"
        ],
    }


@lru_cache(maxsize=1)
def _environments() -> dict[str, dict[str, str | None]]:
    """Families and pictures of environments, by id: `tools/env_pictures.py` writes this table."""
    text = Path(__file__).with_name("environments.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, str | None]] = json.loads(text)
    return table


def send_video(ask: Ask) -> Reply:
    name = ask.path["name"]
    for video in list_videos(asked_run(ask)):  # plain files of that folder, and nothing else
        if video.path.name == name:
            return File(video.path, "video/mp4")
    raise UnknownRunError(f"there is no video {name!r} (any more).")


def send_poster(ask: Ask) -> Reply:
    name = ask.path["name"]
    for video in list_videos(asked_run(ask)):
        poster = poster_of(video.path)
        if poster is not None and poster.name == name and poster.is_file() and not poster.is_symlink():
            return File(poster, "image/jpeg")
    raise UnknownRunError(f"there is no picture {name!r} (any more).")


def send_report(ask: Ask) -> Reply:
    path = asked_run(ask).path / "report.html"
    if path.is_symlink() or not path.is_file():
        raise UnknownRunError("no report was written yet.", hint="A run leaves one when it ends.")
    return File(path, "text/html", {"content-security-policy": _REPORT_POLICY})
