"""A run's videos: `videos/<name>.mp4`, each described by `<name>.json`, with a still picture `<name>.jpg`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import RunDamagedError
from gymsolve.runs.files import make_folder, plain_files, read_json, replace_json
from gymsolve.runs.run import Run
from gymsolve.runs.schema import VIDEO, find_fault
from gymsolve.runs.summary import SCHEMA_VERSION

_FAVOURITES = ("best", "final")


@dataclass(frozen=True)
class Video:
    """An mp4 in a run's folder."""

    path: Path
    facts: dict[str, Any]
    """The contents of the file beside it; empty where it cannot be read."""

    @property
    def name(self) -> str:
        return self.path.stem

    def to_json(self) -> dict[str, Any]:
        return {**self.facts, "name": self.name, "path": str(self.path)}


def video_place(run: Run, name: str) -> Path:
    """The path of a video of that name; its folder exists afterwards."""
    return make_folder(run.path / "videos") / f"{name}.mp4"


def episode_place(run: Run, name: str) -> Path:
    """The path of a recorded episode's data; its folder exists afterwards."""
    return make_folder(run.path / "episodes") / f"{name}.npz"


def poster_of(path: Path) -> Path | None:
    """The place of the still picture of a video, `<name>.jpg` beside it; None outside of a run."""
    in_run = path.parent.name == "videos" and (path.parent.parent / "run.json").exists()
    return path.with_suffix(".jpg") if in_run else None


def describe_video(path: Path, facts: dict[str, Any]) -> None:
    """Write the description of a finished video."""
    replace_json(path.with_suffix(".json"), {"schema_version": SCHEMA_VERSION, **facts})


def cut_note(facts: dict[str, Any]) -> str:
    """`, cut after 12 s (its length limit)`, to go behind a video's name; empty for a whole one."""
    if facts.get("complete") is not False:
        return ""
    after = f" after {facts['seconds']:.3g} s" if facts.get("seconds") is not None else " before its end"
    by = facts.get("cut_by")
    return f", cut{after} ({by})" if by else f", cut{after}"


def list_videos(run: Run) -> list[Video]:
    """All videos: best and final first, then by the steps of what they show."""
    paths = plain_files(run.path / "videos", "[!.]*.mp4")
    return sorted((Video(path, _facts(path)) for path in paths), key=_rank)


def same_films(videos: Sequence[Video]) -> list[tuple[Video, list[str]]]:
    """Each film once, with its further names: the best policy is often the final one."""
    films: list[tuple[Video, list[str]]] = []
    for video in videos:
        twin = next((names for other, names in films if _told(other) and _told(other) == _told(video)), None)
        if twin is None:
            films.append((video, []))
        else:
            twin.append(video.name)
    return films


def _told(video: Video) -> dict[str, Any]:
    """The facts of a video without the time of recording, which a copy has not taken."""
    return {name: value for name, value in video.facts.items() if name != "recording_seconds"}


def find_best_video(run: Run) -> Video | None:
    """The video of a run's best policy, else of the final one, else of the longest trained."""
    return choose_video(list_videos(run))


def choose_video(videos: Sequence[Video]) -> Video | None:
    """The best video among those of a run."""
    favourites = [video for video in videos if video.name in _FAVOURITES]
    return next(iter(favourites or videos[-1:]), None)


def _rank(video: Video) -> tuple[int, int, str]:
    steps = video.facts.get("env_steps")
    place = _FAVOURITES.index(video.name) if video.name in _FAVOURITES else len(_FAVOURITES)
    return place, steps if isinstance(steps, int) else 0, video.name


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = read_json(path.with_suffix(".json"))
    except RunDamagedError:  # show the video without its caption
        return {}
    return facts if find_fault(facts, VIDEO) is None else {}
