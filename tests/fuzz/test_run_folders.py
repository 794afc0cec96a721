"""Run folders with anything wrong in them: every command answers with a sentence, never with a traceback.

Each case has a number, from which it can be had again: `GYMSOLVE_FUZZ_FIRST=<number> GYMSOLVE_FUZZ_ROUNDS=1`.
"""

import contextlib
import io
import json
import os
import random
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from run_mutators import copy_runs, damage_file, damage_sealed, rounds

import gymsolve
from gymsolve.cli import main

FIRST = int(os.environ.get("GYMSOLVE_FUZZ_FIRST", 0))
HANGS = 120
"""Seconds after which a command counts as hanging."""
COMMANDS = {
    "list": ("runs",),
    "list as JSON": ("runs", "--json"),
    "show": ("runs", "show", "RUN"),
    "show as JSON": ("runs", "show", "RUN", "--json"),
    "compare": ("runs", "compare", "RUN", "OTHER"),
    "report": ("report", "RUN"),
    "diagnose": ("diagnose", "RUN"),
    "fix": ("fix", "RUN", "--dry-run"),
    "eval": ("eval", "RUN", "--episodes", "1"),
    "eval the last": ("eval", "@last@last", "--episodes", "1"),
    "best": ("eval", "@best", "--episodes", "1"),
    "resume": ("resume", "RUN", "--steps", "320", "--quiet"),
    "resume a checkpoint": ("resume", "RUN@128", "--steps", "320", "--quiet"),
    "stop": ("stop", "RUN"),
    "train": ("train", "Bandit-v0", "--steps", "64", "--set", "eval.episodes=1", "--quiet"),
    "train from": (
        "train",
        "CartPole-v1",
        "--from",
        "RUN",
        "--steps",
        "64",
        "--set",
        "eval.episodes=1",
        "-q",
    ),
}
SMALL = {"env.num_envs": 2, "algo.num_steps": 32, "algo.num_minibatches": 2, "solved_at": 1000.0}
SMALL |= {"eval.episodes": 1, "eval.every": 128, "checkpoint.every": 64}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small runs with all that a run may hold."""
    folder = tmp_path_factory.mktemp("made")
    for seed in (1, 2):
        run = gymsolve.train("CartPole-v1", SMALL, seed=seed, steps=256, runs_dir=folder).run
        for name in ("videos/best.json", "fixes/entropy_collapse.json", "profile/split.json"):
            (run.path / name).parent.mkdir(exist_ok=True)
            facts = {"schema_version": 1, "run": run.id, "checkpoint": "256", "env_steps": 256, "return": 9.0}
            (run.path / name).write_text(json.dumps(facts | {"seconds": 1.5, "episodes": [{"return": 9.0}]}))
        (run.path / "videos" / "best.mp4").write_bytes(b"no film")
        run.append_event("error", text="boom", bad={"what": "reward", "number": "nan", "element": [1]})
    info = run.info() | {"status": "crashed", "reason": "DivergenceError: boom"}
    (run.path / "run.json").write_text(json.dumps(info))
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def say(*words: str) -> str | None:
    """Run a command in this process; what is wrong with how it ended, or None."""
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(HANGS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except BaseException:  # noqa: BLE001 - whatever comes out is a finding
        return f"{' '.join(words)}: {traceback.format_exc()}"
    finally:
        signal.alarm(0)
    said = out.getvalue() + err.getvalue()
    if any(char in said for char in "\x1b\x07\x9b"):
        return f"{' '.join(words)}: it said {said!r}"
    if "--json" in words and not isinstance(json.loads(out.getvalue()), list | dict):
        return f"{' '.join(words)}: it said {said!r}"
    return None if code in (0, 1, 2, 130) else f"{' '.join(words)}: exit code {code}"


def try_all(cases: int, prepare: Callable[[random.Random], str], run: str, other: str) -> list[str]:
    """Prepare every case and run some commands on it; what went wrong."""
    found = []
    for number in range(FIRST, FIRST + cases):
        chance = random.Random(number)
        how = prepare(chance)
        for name in ("list", *chance.sample(list(COMMANDS), 2)):
            words = [
                {"RUN": run, "RUN@128": f"{run}@128", "OTHER": other}.get(word, word)
                for word in COMMANDS[name]
            ]
            if (wrong := say(*words)) is not None:
                found.append(f"case {number} ({how}): {wrong}")
    return found


def ids(folder: Path) -> tuple[str, str]:
    last = (folder / "@last").read_text().strip()
    return last, next(path.name for path in folder.iterdir() if path.is_dir() and path.name != last)


def test_any_file_of_a_run_may_be_damaged(made: Path, place: Path) -> None:
    run, other = ids(made)

    def prepare(chance: random.Random) -> str:
        copy_runs(made, place / "runs")
        files = sorted(path for path in (place / "runs" / run).rglob("*") if path.is_file())
        files += [place / "runs" / "index.json", place / "runs" / "@last"]
        first = chance.choice([path for path in files if path.suffix in (".json", ".jsonl")])
        path = chance.choice((first, first, chance.choice(files)))
        return f"{path.relative_to(place)}: {damage_file(path, chance)}"

    assert try_all(rounds(50), prepare, run, other) == []


def test_checkpoints_may_be_sealed_and_absurd(made: Path, place: Path) -> None:
    run, other = ids(made)

    def prepare(chance: random.Random) -> str:
        copy_runs(made, place / "runs")
        places = sorted((place / "runs" / run / "checkpoints").glob("[0-9]*"))
        chosen = places if chance.random() < 0.7 else [chance.choice(places)]
        return ", ".join(
            f"{one.name}: {damage_sealed(one, random.Random(chance.random()))}" for one in chosen
        )

    assert try_all(rounds(40), prepare, run, other) == []
