"""Run folders with anything wrong in them: every command answers with a sentence, never with a traceback.

Each case has a number, from which it can be had again: `GYMSOLVE_FUZZ_FIRST=<number> GYMSOLVE_FUZZ_ROUNDS=1`.
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doors import Tools, ask_tools, open_pages
from run_mutators import copy_runs, damage_file, damage_sealed, rounds

import gymsolve
from gymsolve.cli import main
from gymsolve.envs.describe import describe_env
from gymsolve.runs.episodes import RecordedEpisode
from gymsolve.runs.groups import create_group
from gymsolve.runs.logbook import append_entry, make_entry
from gymsolve.settings.config import EnvConfig

FIRST = int(os.environ.get("GYMSOLVE_FUZZ_FIRST", 0))
COMMANDS_EACH = int(os.environ.get("GYMSOLVE_FUZZ_COMMANDS", 2))
"""Commands that are tried on a damaged folder, besides the list of runs."""
HANGS = 120
"""Seconds after which a command counts as hanging."""
EPISODE = "inspected"
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
    "fork": ("fork", "RUN", "--steps", "320", "--quiet"),
    "master": ("eval", "RUN@stage-short", "--episodes", "1"),
    "review": ("review", "RUN"),
    "inspect": ("inspect", "RUN", "--json", "--steps", "3"),
    "inspect a checkpoint": (
        "inspect",
        "RUN",
        "--checkpoint",
        "128",
        "--json",
        "--steps",
        "3",
        "--no-camera",
    ),
    "record": ("record", "RUN", "--episodes", "1", "--max-seconds", "0.1", "--data", "--json"),
    "play": ("play", "RUN@best", "--mode", "random", "--episodes", "1", "--no-browser"),
    "push": ("push", "no-such-run"),
    "demos": ("demos", "--json"),
    "one demo": ("demos", "show", "played"),
    "export": ("demos", "export", "--out", "datasets", "--json"),
    "pages": ("pages", "RUN"),
    "tools": ("tools", "RUN"),
    "logbook": ("log", "--json"),
    "logbook of a run": ("log", "--run", "RUN"),
    "write": ("log", "add", "a note"),
    "groups": ("runs", "compare", "GROUP"),
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


TASKS = {"short": {"max_episode_steps": 15}, "long": {"id": "Acrobot-v1", "max_episode_steps": 20}}
KINDS = {
    "plain": {},
    "stages": {
        "env.tasks": TASKS,
        "curriculum": {"stages": [{"name": "short", "steps": 100}, "long"], "promote_at": 12.0},
        "net.memory": {"cell": "lstm", "size": 4},
    },
    "archive": {"explore": "go_explore", "explore.bonus": "counts", "engine": "torch"},
}
"""What runs may be made of: each has files and states of its own."""


EVENTS: dict[str, dict[str, Any]] = {
    "promoted": {"stage": "short", "next": "long", "judged": "short", "by": "bound", "episodes": 9}
    | {"achieved": 14.0, "bound": 13.0, "bar": 12.0, "text": "promoted"},
    "demoted": {"stage": "long", "next": "short", "judged": "short", "by": "bound", "episodes": 9},
    "fix": {"alert": "entropy_collapse", "verdict": "helped", "certainty": "sure", "seeds_needed": 4}
    | {"changes": [{"path": "algo.ent_coef", "new": 0.02}], "children": ["a", "b"], "chance": 0.1}
    | {"returns": {"original": [1.0, 2.0], "changed": [3.0, None]}},
    "video": {"file": "videos/best.mp4", "checkpoint": "256", "return": 9.0, "complete": False}
    | {"cut_by": "its length limit", "recording_seconds": 1.0},
    "spent": {"seconds": {"start": 1.0, "video": 0.5}},
    "config_changed": {"previous": {"algo": {"gamma": 0.9}}},
    "resumed": {"changes": {"steps": 300}},
    "stopping": {"reason": "stop file", "text": "stopping"},
    "tracker_failed": {"tracker": "csv", "text": "no"},
    "env_fault": {"text": "a process died"},
    "alert": {"id": "entropy_collapse", "severity": "warn", "metric": "train/entropy", "value": 0.1}
    | {"threshold": 0.2, "step": 64, "onset": 32, "count": 2, "share": 0.5, "cause": "c", "effect": "e"},
}
"""Events that such short trainings have not, with the fields that real ones have."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs of every kind with all that a run may hold, and what lies beside them."""
    folder = tmp_path_factory.mktemp("made")
    for seed, more in enumerate(KINDS.values()):
        run = gymsolve.train("CartPole-v1", SMALL | more, seed=seed, steps=256, runs_dir=folder).run
        for name in ("videos/best.json", "fixes/entropy_collapse.json", "profile/split.json"):
            (run.path / name).parent.mkdir(exist_ok=True)
            facts = {"schema_version": 1, "run": run.id, "checkpoint": "256", "env_steps": 256, "return": 9.0}
            (run.path / name).write_text(json.dumps(facts | {"seconds": 1.5, "episodes": [{"return": 9.0}]}))
        (run.path / "videos" / "best.mp4").write_bytes(b"no film")
        played_episode(run.path / "episodes" / "played-here.npz", run.id)
        for kind, facts in EVENTS.items():
            run.append_event(kind, env_steps=100, **facts)
        run.append_event("error", text="boom", bad={"what": "reward", "number": "nan", "element": [1]})
        if not more:
            episode = gymsolve.inspect(run, steps=20).stored.path
            episode.rename(episode.with_name(EPISODE))
            shutil.copytree(run.path, folder / f"{run.id[:-1]}z")
    info = run.info() | {"status": "crashed", "reason": "DivergenceError: boom"}
    (run.path / "run.json").write_text(json.dumps(info))
    played_episode(folder / "demos" / "played.npz", None)
    append_entry(folder, make_entry(by="me", note="tried", runs=[run.id]))
    create_group(folder, name="CartPole-v1:ppo", seeds=[0, 1], words=["CartPole-v1"])
    return folder


def played_episode(path: Path, run: str | None) -> None:
    """An episode that a person is said to have played."""
    path.parent.mkdir(exist_ok=True)
    steps, spec = 5, describe_env(EnvConfig(id="CartPole-v1"), "play")
    facts = {"env_id": "CartPole-v1", "time": "2026-01-02T03:04:05+00:00", "end": "cut", "length": steps}
    facts |= {"by_person": steps, "seed": 1, "return": 5.0, "action_names": ["left", "right"], "run": run}
    RecordedEpisode(
        obs={name: np.zeros((steps + 1, *one.shape), np.float32) for name, one in spec.obs.items()},
        actions=np.zeros(steps, np.int64),
        rewards=np.ones(steps),
        returns=np.arange(1.0, steps + 1),
        values=np.zeros(steps + 1),
        masks=None,
        facts=facts | {"spec": spec.to_json()},
        who=np.array(["person"] * steps),
    ).save(path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def ask_pages(run: str) -> list[str]:
    """Every address of the server that reads."""
    with open_pages(Path("runs")) as pages:
        return pages.all_of(run, EPISODE)


def ask_agents(run: str) -> list[str]:
    """Every tool for agents that reads."""
    return ask_tools(Path("runs"), [*Tools(random.Random(0), run).reading()])


OTHER_DOORS = {"pages": ask_pages, "tools": ask_agents}


def say(*words: str) -> str | None:
    """Run a command in this process, or ask another door; what is wrong with how it ended, or None."""
    if words[0] in OTHER_DOORS:
        found = OTHER_DOORS[words[0]](words[1])
        return "\n".join(found) or None
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(HANGS)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            Path(os.devnull).open() as nothing,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr("sys.stdin", nothing)
            code = main(words)
    except BaseException:  # noqa: BLE001 - whatever comes out is a finding
        return f"{' '.join(words)}: {traceback.format_exc(limit=-8)}"
    finally:
        signal.alarm(0)
    said = out.getvalue() + err.getvalue()
    if any(char in said for char in "\x1b\x07\x9b"):
        return f"{' '.join(words)}: it said {said!r}"
    if "--json" in words and not isinstance(json.loads(out.getvalue()), list | dict):
        return f"{' '.join(words)}: it said {said!r}"
    return None if code in (0, 1, 2, 130) else f"{' '.join(words)}: exit code {code}"


def try_all(cases: int, prepare: Callable[[random.Random, str], str], made: Path) -> list[str]:
    """Prepare every case and run some commands on it; what went wrong."""
    found = []
    runs = sorted(path.name for path in made.iterdir() if (path / "run.json").is_file())
    for number in range(FIRST, FIRST + cases):
        chance = random.Random(number)
        run, other = chance.sample(runs, 2)
        how = prepare(chance, run)
        for name in ("list", *chance.sample(list(COMMANDS), COMMANDS_EACH)):
            group = next((made / "groups").glob("*.json")).stem
            known = {"RUN": run, "OTHER": other, "GROUP": f"group:{group}"}
            words = [re.sub("|".join(known), lambda at, to=known: to[at[0]], one) for one in COMMANDS[name]]
            if (wrong := say(*words)) is not None:
                found.append(f"case {number} ({how}): {wrong}")
    return found


def test_any_file_of_a_run_may_be_damaged(made: Path, place: Path) -> None:
    def prepare(chance: random.Random, run: str) -> str:
        copy_runs(made, place / "runs")
        files = sorted(path for path in (place / "runs" / run).rglob("*") if path.is_file())
        beside = ("index.json", "@last", "logbook.jsonl", "demos/played.npz")
        files += [place / "runs" / name for name in beside]
        files += (place / "runs" / "groups").glob("*.json")
        first = chance.choice([path for path in files if path.suffix in (".json", ".jsonl")])
        how = []
        for _ in range(chance.choice((1, 1, 2, 4))):
            path = chance.choice((first, chance.choice(files)))
            files.remove(path)
            how.append(f"{path.relative_to(place)}: {damage_file(path, chance)}")
            first = chance.choice(files)
        return ", ".join(how)

    found = try_all(rounds(25), prepare, made)
    assert not found, "\n\n".join(found[:20])


def test_checkpoints_may_be_sealed_and_absurd(made: Path, place: Path) -> None:
    def prepare(chance: random.Random, run: str) -> str:
        copy_runs(made, place / "runs")
        places = sorted((place / "runs" / run / "checkpoints").glob("[0-9]*"))
        chosen = places if chance.random() < 0.7 else [chance.choice(places)]
        return ", ".join(
            f"{one.name}: {damage_sealed(one, random.Random(chance.random()))}" for one in chosen
        )

    found = try_all(rounds(25), prepare, made)
    assert not found, "\n\n".join(found[:20])
