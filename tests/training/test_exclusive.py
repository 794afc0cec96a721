"""One environment per process: every verb works, and nobody builds a second one anywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exclusive_envs import Lonely
from safetensors.numpy import load_file

from gymsolve.envs.build import build_env
from gymsolve.envs.describe import describe
from gymsolve.errors import GymsolveError
from gymsolve.settings.config import EnvConfig

ID = "exclusive_envs:Lonely-v0"
SMALL = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "algo.num_minibatches": 2,
    "eval.episodes": 2,
    "eval.every": 32,
    "checkpoint.every": 32,
    "video.max_seconds": 1,
}


def gymsolve(folder: Path, *words: str, expect: int = 0, **settings: Any) -> Any:
    """Run a command in `folder`; what it prints as JSON."""
    flags = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "GYMSOLVE_RUNS": str(folder / "runs")}
    told = subprocess.run(
        [sys.executable, "-m", "gymsolve", *words, *flags, "--json"],
        cwd=folder,
        env=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == expect, told.stdout + told.stderr
    return json.loads(told.stdout)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A run of an unknown id: derived, trained, judged and filmed.

    Its rule is the stricter one, `ever`: who keeps to it never has two of them open, either.
    """
    folder = tmp_path_factory.mktemp("trained")
    return folder, gymsolve(folder, "train", ID, "--steps", "64", **SMALL)


def test_the_environment_itself_refuses_a_second_one() -> None:
    first = Lonely(rule="open")
    try:
        with pytest.raises(GymsolveError, match="another one in this process"):
            build_env(EnvConfig(id=ID, kwargs={"rule": "open"}), "train")
    finally:
        first.close()


def test_an_unknown_id_is_derived_trained_judged_and_filmed(trained: tuple[Path, Any]) -> None:
    run = trained[1]
    assert (run["status"], run["env_steps"]) == ("finished", 64)
    assert run["mean_reward"] is not None
    assert {path.name for path in Path(run["path"], "videos").glob("*.mp4")} == {"best.mp4", "final.mp4"}
    events = [json.loads(line) for line in Path(run["path"], "events.jsonl").read_text().splitlines()]
    (started,) = [event for event in events if event["kind"] == "started"]
    assert started["backend"] == "async, 2 processes"


def test_a_resume_goes_on_bit_for_bit(tmp_path: Path) -> None:
    more = {**SMALL, "video.enabled": "false"}
    whole = gymsolve(tmp_path, "train", ID, "--steps", "128", **more)
    half = gymsolve(tmp_path, "train", ID, "--steps", "64", **more)
    gymsolve(tmp_path, "resume", half["run"], "--steps", "128")
    one, other = (
        load_file(Path(run["path"], "checkpoints", "128", "policy.safetensors")) for run in (whole, half)
    )
    assert set(one) == set(other)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])
    records = [
        [
            (record["env_steps"], record.get("rollout/ep_rew_mean"), record.get("eval/mean_reward"))
            for record in map(json.loads, Path(run["path"], "metrics.jsonl").read_text().splitlines())
        ]
        for run in (whole, half)
    ]
    assert records[0][-2:] == records[1][-2:]


def test_it_is_evaluated_and_recorded(trained: tuple[Path, Any]) -> None:
    folder, run = trained
    found = gymsolve(folder, "eval", run["run"], "--episodes", "3")
    assert (found["episodes"], found["complete"]) == (3, True)
    gymsolve(folder, "record", run["run"], "--episodes", "1")
    assert len(list(Path(run["path"], "videos").glob("*.mp4"))) >= 3


def test_it_is_checked(trained: tuple[Path, Any]) -> None:
    told = gymsolve(trained[0], "check", ID, **SMALL)
    assert told["problems"] == []
    assert told["determinism"] == {
        "copies_identical": False,
        "seed_reproduces": True,
        "resumes_exactly": True,
        "strays": [],
    }
    assert set(told["steps_per_second"]) == {"async"}
    assert [one["policy"] for one in told["census"]] == ["random", "first", "repeat"]


def test_it_is_tuned(trained: tuple[Path, Any]) -> None:
    folder = trained[0]
    gymsolve(folder, "tune-speed", ID, "--seconds", "1", **SMALL)
    automatic = {**SMALL, "env.num_envs": "auto", "algo.num_steps": "auto", "video.enabled": "false"}
    run = gymsolve(folder, "train", ID, "--steps", "32", **automatic)
    assert run["status"] == "finished"


def test_it_is_judged_and_filmed_beside_training(trained: tuple[Path, Any]) -> None:
    aside = {"eval.asynchronous": "true", "video.every": 32}
    run = gymsolve(trained[0], "train", ID, "--steps", "64", **{**SMALL, **aside})
    assert (run["status"], run["mean_reward"] is not None) == ("finished", True)
    assert [path.name for path in Path(run["path"], "videos").glob("[0-9]*.mp4")]


def test_describing_it_leaves_this_process_free() -> None:
    known = describe(EnvConfig(id=ID, kwargs={"rule": "open"}), "train")
    assert known.exclusive
    assert known.spec.reward_threshold == 1000.0
    build_env(EnvConfig(id=ID, kwargs={"rule": "open"}), "train").env.close()
