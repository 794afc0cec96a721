"""Compares the objects of `envs/families/atari/objects.py` with those that OCAtari finds, frame by frame.

`python -m benchmarks.ocatari` makes a virtual environment for OCAtari, which needs NumPy below 2, in the
user's cache (or `--venv DIR`), lets it play both games there, and reads the same memory itself. OCAtari looks
in two ways: at memory (`ram`) and at the screen (`vision`). The result is `benchmarks/results/ocatari.json`.

Of memory both make the same, except in a few frames in which the ball is beyond the field: OCAtari still
gives a place then; the screen shows no ball. Between memory and screen there is up to a frame, so that
places differ by a few pixels. In Breakout the screen hides the ball among bricks and behind walls.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gymsolve.envs.families.atari.objects import GAMES, Place, find_bricks

__all__ = ["compare_frames", "main"]

HERE = Path(__file__).parent
_PACKAGES = ("ocatari==2.2.1", "numpy==1.26.4", "gymnasium==1.4.0", "ale-py==0.12.1")
_NAMES = {"Pong": ("Player", "Enemy", "Ball"), "Breakout": ("Player", "Ball")}
_BRICK = 8
"""Pixels that a brick is wide; OCAtari's blocks are bricks side by side."""
_NEAR = 4
"""Pixels within which two places count as the same."""
_FRAMES = 4000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ocatari", description=__doc__)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument(
        "--venv", type=Path, default=cache / "gymsolve" / "ocatari", help="where OCAtari goes"
    )
    parser.add_argument("--frames", type=int, default=_FRAMES, help="of each game and mode")
    parser.add_argument("--result", type=Path, default=HERE / "results" / "ocatari.json")
    given = parser.parse_args()
    python = _prepare(given.venv)
    told: dict[str, Any] = {"packages": list(_PACKAGES), "frames": given.frames, "near": _NEAR, "games": {}}
    with tempfile.TemporaryDirectory() as folder:
        for game in _NAMES:
            for mode in ("ram", "vision"):
                played = _play(python, game, mode, given.frames, Path(folder) / "played.json")
                told["games"][f"{game}, {mode}"] = compare_frames(game, played["memory"], played["found"])
    given.result.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told["games"], indent=1))
    return 0


def compare_frames(game: str, memory: Iterable[str], found: Iterable[list[Any]]) -> dict[str, Any]:
    """Per object: in how many frames both, one or none of us saw it, and how far apart."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in _NAMES[game]}
    bricks: Counter[str] = Counter()
    for written, objects in zip(memory, found, strict=True):
        ram = bytes.fromhex(written)
        for name, thing, ours in zip(
            _NAMES[game], GAMES[game.lower()].things, GAMES[game.lower()].find(ram), strict=True
        ):
            # OCAtari gives the part that is not hidden above the field.
            seen = None if ours is None else (ours[0], max(ours[1], thing.top))
            counts[name] += _compare(seen, [box for kind, *box in objects if kind == name])
        if game == "Breakout":
            theirs = sum(width // _BRICK for kind, _, _, width, _ in objects if kind == "Block")
            bricks["equal" if _count_bricks(ram) == theirs else "differ"] += 1
    told: dict[str, Any] = {name: dict(sorted(counter.items())) for name, counter in counts.items()}
    return told | ({"Bricks": dict(bricks)} if bricks else {})


def _compare(ours: Place | None, boxes: list[list[int]]) -> Counter[str]:
    if ours is None or not boxes:
        return Counter({"both missing" if ours is None and not boxes else _only(ours): 1})
    x, y, *_ = min(boxes, key=lambda box: abs(box[0] - ours[0]) + abs(box[1] - ours[1]))
    apart = max(abs(x - ours[0]), abs(y - ours[1]))
    place = "equal" if apart == 0 else "near" if apart <= _NEAR else "far"
    return Counter({place: 1} | ({"theirs twice": 1} if len(boxes) > 1 else {}))


def _only(ours: Place | None) -> str:
    return "only theirs" if ours is None else "only ours"


def _count_bricks(ram: bytes) -> int:
    import numpy as np

    return int(find_bricks(np.frombuffer(ram, np.uint8)).sum())


def _play(python: Path, game: str, mode: str, frames: int, target: Path) -> dict[str, Any]:
    worker = HERE / "workers" / "ocatari_worker.py"
    subprocess.run([str(python), str(worker), game, mode, str(frames), str(target)], check=True)
    played: dict[str, Any] = json.loads(target.read_text())
    return played


def _prepare(folder: Path) -> Path:
    """The interpreter of OCAtari's environment, which is made if it is not there."""
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists() or done.read_text() != " ".join(_PACKAGES):
        print(f"installing OCAtari into {folder} …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *_PACKAGES], check=True)
        done.write_text(" ".join(_PACKAGES))
    return python


if __name__ == "__main__":
    sys.exit(main())
