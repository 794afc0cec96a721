"""`gymsolve record`: videos on demand, and one sentence when there is nothing to film."""

import json

import pytest

from conftest import decode
from gymsolve.cli import main
from gymsolve.runs import list_checkpoints
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
