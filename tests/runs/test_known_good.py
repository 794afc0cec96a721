"""A run that was written once and is kept: what later versions write differently, they must still read."""

import shutil
from pathlib import Path

import pytest

import gymsolve
from gymsolve.runs.loading import load_checkpoint

KEPT = Path(__file__).parent / "known_good" / "cartpole"


@pytest.fixture
def run(tmp_path):
    shutil.copytree(KEPT, tmp_path / "runs" / KEPT.name)
    return gymsolve.open_run(tmp_path / "runs" / KEPT.name)


def test_it_can_be_read(run):
    assert run.status == "solved"
    rows, problems = run.read_metrics()
    assert problems == []
    assert rows[-1]["solved"] == 1.0
    assert run.config_json()["config"]["env"]["id"] == "CartPole-v1"


def test_its_policy_still_plays_as_well_as_it_says(run):
    stored = load_checkpoint(run, "best").meta["eval"]
    again = gymsolve.evaluate(run, episodes=int(stored["eval/episodes"]))
    assert again.mean == pytest.approx(stored["eval/mean_reward"], abs=5.0)


def test_it_can_be_resumed(run):
    steps = load_checkpoint(run, "last").meta["env_steps"]
    outcome = gymsolve.resume(run, {"solved_at": 1e9}, steps=steps + 500)
    assert outcome.env_steps >= steps + 500
