"""`gymsolve record`: videos on demand, and one sentence when there is nothing to film."""

import json
from pathlib import Path

import numpy as np
import pytest
from decoding import decode

import gymsolve
from gymsolve.cli import main
from gymsolve.errors import RunDamagedError
from gymsolve.runs import list_checkpoints
from gymsolve.runs.episodes import load_episode
from gymsolve.runs.videos import list_videos


@pytest.fixture
def run(train):
    return train("filmed_envs:Lamp-v0", {"checkpoint.every": 32, "video.enabled": False})


@pytest.fixture
def record(run, capsys):
    def call(*arguments):
        code = main(["record", *arguments, "--runs-dir", str(run.path.parent), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def test_episodes_of_a_checkpoint(record, run):
    code, facts = record(f"{run.id}@32", "--episodes", "2", "--seed", "7")
    assert code == 0
    assert [one["return"] for one in facts["episodes"]] == [5.0, 5.0]
    assert (facts["checkpoint"], facts["seed"], facts["complete"]) == ("32", 7, True)
    (video,) = list_videos(run)
    assert str(video.path) == facts["path"]
    assert video.name == "32-seed7"
    _, pictures = decode(video.path)
    assert len(pictures) == 2 * (5 + 8)  # frames 0 to 4, then the last one for 0.8 seconds at 10 fps


def test_the_data_of_an_episode_is_kept_on_request(record, run):
    _, facts = record(run.id, "--data", "--episodes", "2")
    first, second = (load_episode(Path(one["data"])) for one in facts["episodes"])
    assert first.obs["obs"].ravel().tolist() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert first.actions.tolist() == [0, 1, 2, 0, 1]
    assert first.rewards.tolist() == [1.0] * 5
    assert first.returns.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.array_equal(first.masks, np.eye(3, dtype=bool)[[0, 1, 2, 0, 1]])
    policy = gymsolve.load_policy(run)
    assert first.values[2] == pytest.approx(policy.value(np.array([0.4], np.float32)), abs=1e-6)
    assert second.facts["episode"] == 2
    assert second.facts["end"] == "terminated"
    assert second.facts["checkpoint"] == facts["checkpoint"]


def test_a_file_that_is_no_episode_is_refused(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"PK nothing")
    with pytest.raises(RunDamagedError, match="not a recorded episode"):
        load_episode(tmp_path / "x.npz")


def test_without_overlay_only_the_picture_is_there(record, run):
    _, plain = record(run.id, "--no-overlay")
    _, usual = record(run.id)
    assert usual["width"] == plain["width"]
    assert usual["height"] > plain["height"]
    assert plain["path"] != usual["path"]


def test_a_progression_shows_every_checkpoint_in_order(record, run):
    code, facts = record(run.id, "--progression")
    assert code == 0
    assert [clip["checkpoint"] for clip in facts["clips"]] == list_checkpoints(run) == ["32", "64"]
    assert [clip["return"] for clip in facts["clips"]] == [5.0, 5.0]
    _, pictures = decode(run.path / "videos" / "progression.mp4")
    assert len(pictures) == 25 + 2 * (5 + 10) + 25  # a card, clips whose last frame stays a second, a card


def test_a_video_for_publishing_is_full_hd(record, run, tmp_path):
    out = tmp_path / "mine.mp4"
    code, facts = record(run.id, "--publish", "--out", str(out))
    assert code == 0
    assert facts["path"] == str(out)
    about, pictures = decode(out)
    assert about["size"] == (1920, 1080)
    assert about["fps"] == 30
    assert len(pictures) == pytest.approx(30 * facts["seconds"], abs=3)
    assert sorted(tmp_path.glob("mine*")) == [out]
    assert list_videos(run) == []


@pytest.mark.parametrize(
    ("arguments", "where", "words"),
    [
        (["--size", "101x50"], "--size", "even"),
        (["--size", "huge"], "--size", "even"),
        (["--out", "film.avi"], "--out", ".mp4"),
        (["--out", "/nowhere/film.mp4"], "--out", "folder"),
        (["--progression", "--episodes", "3"], "--progression", "one episode"),
    ],
)
def test_wrong_requests_are_refused_before_anything_is_filmed(record, run, arguments, where, words):
    code, answer = record(run.id, *arguments)
    assert code == 2
    assert answer["error"]["where"] == where
    assert words in answer["error"]["message"]
    assert not (run.path / "videos").exists()


def test_what_cannot_be_drawn_is_said(train, capsys):
    bandit = train("Bandit-v0")
    code = main(["record", str(bandit.path)])
    assert code == 2
    assert "Bandit-v0 cannot be drawn" in capsys.readouterr().err


def test_people_are_told_what_there_is(run, capsys):
    assert main(["record", str(run.path), "--progression"]) == 0
    said = capsys.readouterr().out
    assert "32 steps: return 5" in said
    assert "progression.mp4" in said
    assert main(["runs", "show", str(run.path)]) == 0
    assert "videos/progression.mp4" in capsys.readouterr().out
