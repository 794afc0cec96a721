"""Episodes that people played: in `demos/` among the runs, or in `episodes/` of the run that they played.

The files are those of `runs/episodes.py`, with a column for the actor of each step.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError, did_you_mean
from gymsolve.runs.files import make_folder, os_errors, plain_files
from gymsolve.runs.index import run_folders
from gymsolve.runs.run import Run, slug
from gymsolve.runs.summary import runs_folder

FOLDER = "demos"
_PLAYED = "played-"
"""The prefix of played episodes in the folder of a run."""

_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("env_id", "time", "end"), str),
    **dict.fromkeys(("length", "by_person", "seed"), int),
    "return": (int, float),
    "action_names": list,
    "run": (str, type(None)),
}
"""Types of the facts that a file must hold: it may come from anybody."""


@dataclass(frozen=True)
class Demo:
    """An episode that a person played."""

    path: Path
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.stem

    def to_json(self) -> dict[str, Any]:
        kept = ("env_id", "run", "time", "length", "return", "end", "by_person", "seed")
        return {"name": self.name, "path": str(self.path), **{key: self.facts.get(key) for key in kept}}


def demo_place(run: Run | None, runs_dir: Path | None, env_id: str) -> Path:
    """The path of an episode that ends now; its folder exists afterwards."""
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if run is not None:
        return make_folder(run.path / "episodes") / f"{_PLAYED}{stamp}-{os.urandom(2).hex()}.npz"
    base = runs_folder(runs_dir)
    with os_errors(base):
        base.mkdir(parents=True, exist_ok=True)
    return make_folder(base / FOLDER) / f"{stamp}-{slug(env_id)}-{os.urandom(2).hex()}.npz"


def list_demos(runs_dir: Path | str | None = None, env_id: str | None = None) -> list[Demo]:
    """All episodes that people played, of one environment if it is named, oldest first."""
    base = runs_folder(runs_dir)
    places = [(base / FOLDER, "[!.]*.npz")]
    places += [(folder / "episodes", f"{_PLAYED}*.npz") for folder in run_folders(base)]
    paths = [path for place in places for path in plain_files(*place)]
    demos = [Demo(path, _read_facts(path)) for path in paths]
    fitting = [demo for demo in demos if env_id is None or demo.facts.get("env_id") == env_id]
    return sorted(fitting, key=lambda demo: (str(demo.facts.get("time", "")), demo.name))


def find_demos(wanted: list[str], runs_dir: Path | str | None = None) -> list[Demo]:
    """The episodes of these names or environments; without any, all of them."""
    every = list_demos(runs_dir)
    if not every:
        message = f"nobody has played and recorded an episode in {runs_folder(runs_dir)} yet."
        raise UsageError(message, hint="Play with `gymsolve play ENV`, and turn on Record.")
    if not wanted:
        return every
    chosen: dict[Path, Demo] = {}
    for name in wanted:
        fitting = [demo for demo in every if name in (demo.name, demo.facts.get("env_id"))]
        fitting = fitting or [demo for demo in every if name and name in demo.name]
        if not fitting:
            names = [*(demo.name for demo in every), *(str(demo.facts.get("env_id")) for demo in every)]
            hint = did_you_mean(name, names) or "List them with: gymsolve demos"
            raise UnknownRunError(f"no recorded episode or environment is called '{name}'.", hint=hint)
        chosen |= {demo.path: demo for demo in fitting}
    return list(chosen.values())


def _read_facts(path: Path) -> dict[str, Any]:
    """The facts in a file; `end` is `damaged` where they cannot be read."""
    from gymsolve.runs.episodes import read_facts  # NumPy, which lists of other things need not

    try:
        facts = read_facts(path)
    except RunDamagedError:
        return {"end": "damaged"}
    sound = isinstance(facts, dict) and all(isinstance(facts.get(key), kind) for key, kind in _KINDS.items())
    return facts if sound else {"end": "damaged"}
