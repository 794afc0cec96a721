"""One run as a page shows it, without its curves."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gymsolve.errors import UnknownRunError
from gymsolve.runs import Run, open_run, runs_folder
from gymsolve.runs.deleted import when_deleted
from gymsolve.runs.files import open_plain, os_errors
from gymsolve.runs.labels import LABELS_FILE
from gymsolve.runs.summary import holds_run
from gymsolve.runs.videos import Video, cut_note, poster_of, same_films
from gymsolve.text import number, printable, setting
from gymsolve.view.run_view import RunView
from gymsolve.view.runs import RunsDir

_EVENTS = 100
_TAIL = 1 << 14
_LINES = 80
_PLACED = ("time", "kind", "env_steps", "text", "title")
"""Fields of an event that have a place of their own."""
_REPORT = "report.html"
_FILES = ("run.json", "config.json", "events.jsonl", "log.txt", "stop", LABELS_FILE, _REPORT)
_FOLDERS = ("checkpoints", "checkpoints/best", "videos")


def run_by_id(name: str, runs_dir: RunsDir = None) -> Run:
    """The run with exactly this id: never a path, so that no name leads out of the folder."""
    return open_run(folder_by_id(name, runs_dir))


def folder_by_id(name: str, runs_dir: RunsDir = None) -> Path:
    """The folder of the run with exactly this id, which may be damaged."""
    folder = runs_folder(runs_dir).absolute()
    plain = name not in ("", ".", "..") and name[0] != "-" and not set(name) & {"/", "\\", "\0"}
    if not plain or len(name) > 255 or not holds_run(folder / name):
        if plain and len(name) <= 255 and (day := when_deleted(folder, name)) is not None:
            raise UnknownRunError(f"run {name} was deleted on {day}.", hint="Go back to the list of runs.")
        text = name if len(name) < 100 else f"{name[:97]}..."
        raise UnknownRunError(f"there is no run '{text}' (any more).", hint="Go back to the list of runs.")
    return folder / name


def run_stamp(run: Run) -> str:
    """A text that changes when something does that the page shows."""
    paths = [*(run.path / name for name in (*_FILES, *_FOLDERS)), run.path.parent / "logbook.jsonl"]
    return "-".join(_changed(path) for path in paths)


def look_over(run: Run) -> dict[str, Any]:
    """Everything that the page of a run shows, but its metrics, as JSON."""
    stamp, view = run_stamp(run), RunView(run)
    decided: dict[str, str] = view.stored["provenance"]
    return {
        **vars(view.summary),
        "path": str(run.path),
        "host": str(view.info["host"]),
        "best_reward": view.best_reward,
        "threshold": view.threshold,
        "parent_deleted": view.parent_deleted,
        "training_unit": view.training_unit,
        "solved": view.summary.is_solved,
        "command": view.info.get("command", []),
        "versions": view.info.get("versions", {}),
        "alerts": view.active_alerts,
        "settings": [
            {"path": path, "value": setting(value), "decided_by": decided.get(path) or "default"}
            for path, value in _leaves(view.stored["config"], decided, ())
        ],
        "checkpoints": view.checkpoints,
        "videos": [_video(*film) for film in same_films(view.videos)],
        "logbook": [vars(entry) for entry in view.logbook],
        "events": [_event(event) for event in reversed(view.shown_events[-_EVENTS:])],
        "log": _last_lines(run.path / "log.txt"),
        "report": _is_plain(run.path / _REPORT),
        "stopping": view.summary.status == "running" and run.stop_requested(),
        "stamp": stamp,
        "problems": [*view.event_records.problems, *view.damage],
    }


def _leaves(node: Any, decided: dict[str, str], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    dotted = ".".join(path)
    if isinstance(node, dict) and node and dotted not in decided:
        for key, inner in node.items():
            yield from _leaves(inner, decided, (*path, str(key)))
    elif dotted:
        yield dotted, node


def _video(video: Video, others: list[str]) -> dict[str, Any]:
    facts, poster = video.facts, poster_of(video.path)
    return {
        "name": video.name,
        "names": [video.name, *others],
        "poster": poster is not None and _is_plain(poster),
        **{name: facts.get(name) for name in ("checkpoint", "env_steps")},
        "episode_return": facts.get("return"),
        "note": cut_note(facts).removeprefix(", "),
        "stamp": _changed(video.path),  # `best` is replaced as a run gets better
    }


def _event(event: dict[str, Any]) -> dict[str, Any]:
    words = [str(event[name]) for name in ("title", "text") if event.get(name)]
    if not words and event["kind"] != "config_changed":  # whose details are the whole of the earlier settings
        words = [
            f"{name}={number(value) if isinstance(value, float) else setting(value)}"
            for name, value in event.items()
            if name not in _PLACED and value not in ("", None)
        ]
    head = {name: event.get(name) for name in ("time", "kind", "env_steps")}
    return {**head, "text": printable(" ".join(words))}


def _last_lines(path: Path) -> list[str]:
    if not _is_plain(path):
        return []
    with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - _TAIL)
        file.seek(start)
        lines = file.read(_TAIL).decode(errors="replace").splitlines()
    return [printable(line) for line in (lines[1:] if start else lines)[-_LINES:]]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _changed(path: Path) -> str:
    try:
        status = os.lstat(path)
    except OSError:
        return "0"
    return f"{status.st_mtime_ns:x}.{status.st_size:x}"
