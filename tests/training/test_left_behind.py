"""Processes beside a training (workers, the judge, the camera): nobody stays behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from processes import in_session, soon_gone

SMALL = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "algo.num_minibatches": 2,
    "eval.episodes": 2,
    "eval.every": 32,
    "eval.asynchronous": "true",
    "checkpoint.every": 64,
    "video.every": 64,
    "video.max_seconds": 1,
    "solved_at": 1e9,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("CartPole-v1", {"env.backend": "async", "env.workers": 2}),
    "exclusive": ("exclusive_envs:Lonely-v0", {}),
}
MOMENTS = (0, 2)
"""Videos after which a training is killed."""


def start(folder: Path, case: str, **more: Any) -> "subprocess.Popen[bytes]":
    """A training without an end, in a session of its own."""
    name, own = CASES[case]
    sets = [word for key, value in {**SMALL, **own, **more}.items() for word in ("--set", f"{key}={value}")]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "GYMSOLVE_RUNS": str(folder / "runs")}
    with (folder / "said.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "gymsolve", "train", name, "--steps", "100m", *sets, "-q"],
            cwd=folder,
            env=here,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def wait_for(folder: Path, process: "subprocess.Popen[bytes]", videos: int) -> None:
    """Until it was judged, and filmed so often; pytest's own limit ends a wait in vain."""
    while True:
        assert process.poll() is None, (folder / "said.txt").read_text()
        lines = [
            line for path in folder.glob("runs/*/*.jsonl") for line in path.read_text().splitlines()[:-1]
        ]
        rows = [json.loads(line) for line in lines]
        judged = any("eval/mean_reward" in row for row in rows)
        if judged and sum(row.get("kind") == "video" for row in rows) >= videos:
            return
        time.sleep(0.05)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("videos", MOMENTS)
def test_a_killed_training_leaves_nobody_behind(case: str, videos: int, tmp_path: Path) -> None:
    process = start(tmp_path, case)
    try:
        wait_for(tmp_path, process, videos)
        there = in_session(process.pid)
        assert len(there) >= 5  # itself, two workers, the judge, the camera
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert soon_gone(*there)
        assert not in_session(process.pid)
    finally:
        for pid in in_session(process.pid):
            os.kill(pid, signal.SIGKILL)
    assert "Traceback" not in (tmp_path / "said.txt").read_text()


@pytest.mark.parametrize(
    ("case", "number", "code"),
    [
        ("exclusive", signal.SIGTERM, 143),
        ("plain", signal.SIGTERM, 143),
        ("plain", signal.SIGINT, 130),
        ("plain", signal.SIGHUP, 129),
    ],
)
def test_a_signal_to_all_processes_ends_a_training_in_order(
    case: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    """As terminals, `timeout`, systemd and SLURM send it: the training decides, the others go with it."""
    process = start(tmp_path, case)
    try:
        wait_for(tmp_path, process, 1)
        there = in_session(process.pid)
        os.killpg(process.pid, number)
        assert process.wait() in ({code, 143} if number == signal.SIGHUP else {code})
        assert soon_gone(*there)
        (info,) = tmp_path.glob("runs/*/run.json")
        assert json.loads(info.read_text())["status"] == "stopped"
    finally:
        for pid in in_session(process.pid):
            os.kill(pid, signal.SIGKILL)
    assert "Traceback" not in (tmp_path / "said.txt").read_text()


def test_whoever_is_beside_a_training_takes_no_more_cores_from_it(tmp_path: Path) -> None:
    """The judge has processes of its own only where environments need them."""
    process = start(tmp_path, "plain", **{"video.enabled": "false"})
    try:
        wait_for(tmp_path, process, 0)
        assert {*in_session(process.pid).values()} <= {os.getpid(), process.pid}
    finally:
        for pid in in_session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait()


WAITING = """
import os, time
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Waiting(Bandit):
    metadata = {"exclusive": True}
    def __init__(self, how="well"):
        with open("waiting", "w") as file:
            file.write(str(os.getpid()))
        while not os.path.exists("go"):
            time.sleep(0.01)
        super().__init__()
        if how != "well":
            raise ValueError(how)

gym.register("Waiting-v0", entry_point=Waiting)
"""


@pytest.mark.parametrize("how", ["well", "badly"])
def test_nobody_complains_when_a_training_is_killed_while_an_environment_is_built(
    how: str, tmp_path: Path
) -> None:
    (tmp_path / "waiting_env.py").write_text(WAITING)
    with (tmp_path / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gymsolve",
                "train",
                "waiting_env:Waiting-v0",
                "--set",
                f"env.kwargs.how={how}",
            ],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    place = tmp_path / "waiting"
    while not (place.exists() and place.read_text()):
        assert process.poll() is None, (tmp_path / "said.txt").read_text()
        time.sleep(0.01)
    process.kill()
    process.wait()
    (tmp_path / "go").touch()
    assert soon_gone(int(place.read_text()))
    assert "Traceback" not in (tmp_path / "said.txt").read_text()
