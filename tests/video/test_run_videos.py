"""What a run leaves behind: videos of its best and final policy, or one sentence, or nothing."""

import stat
from pathlib import Path

import numpy as np
import pytest
from decoding import decode
from PIL import Image

import gymsolve
from gymsolve.apps.video.automatic import usual_order
from gymsolve.runs.videos import cut_note, find_best_video, list_videos
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.view.run_page import look_over

pytestmark = pytest.mark.videos


def notes(run):
    return [event["text"] for event in run.read_events().rows if event["kind"] == "note"]


def test_a_run_leaves_videos_that_browsers_play(train):
    run = train("CartPole-v1:ppo")
    assert sorted(path.name for path in (run.path / "videos").iterdir()) == [
        "best.jpg",
        "best.json",
        "best.mp4",
        "final.jpg",
        "final.json",
        "final.mp4",
    ]
    for video in list_videos(run):
        about, pictures = decode(video.path)
        assert about["codec"] == "h264"
        assert about["pix_fmt"] == "yuv420p"
        assert about["size"] == (video.facts["width"], video.facts["height"])
        assert all(length % 2 == 0 for length in about["size"])
        assert len(pictures) == round(video.facts["fps"] * video.facts["seconds"])
        head = video.path.read_bytes()
        assert head.index(b"moov") < head.index(b"mdat"), "it cannot start before it is loaded"
    told = [event for event in run.read_events().rows if event["kind"] == "video"]
    assert [event["file"] for event in told] == ["videos/best.mp4", "videos/final.mp4"]
    assert all(event["recording_seconds"] >= 0 for event in told)
    assert told[0]["recording_seconds"] > 0


def test_the_frame_that_ends_an_episode_is_seen(train):
    _, pictures = decode(train("filmed_envs:Lamp-v0").path / "videos" / "final.mp4")
    frames = pictures[:, :400, :340]  # above the text, left of what makes the width even
    assert frames[:5].max() < 30
    assert frames[-1].min() > 225
    held = int((frames.min(axis=(1, 2, 3)) > 225).sum())
    assert held >= 5, "it flashes by"


def test_short_episodes_are_followed_by_others(train):
    run = train("filmed_envs:Lamp-v0", {"eval.every": 64})
    (facts,) = [video.facts for video in list_videos(run) if video.name == "final"]
    # Five frames and the last one, which is held for 0.8 s, at ten per second.
    assert [episode["end"] for episode in facts["episodes"]] == ["terminated"] * 4
    assert facts["complete"]
    assert facts["seconds"] == pytest.approx(4 * (5 + 8) / 10)


def test_what_is_filmed_is_the_first_episode_of_an_evaluation(train):
    changes = {"env.wrappers": [{"scale_reward": {"factor": 0.01}}], "net.normalize_obs": "running"}
    run = train("Pendulum-v1:ppo", {**changes, "video.max_seconds": 30})
    (facts,) = [video.facts for video in list_videos(run) if video.name == "best"]
    assert facts["episodes"][0]["length"] == 200
    assert facts["return"] == pytest.approx(gymsolve.evaluate(run, episodes=1, run_seeds=True).mean, rel=1e-6)


@pytest.mark.parametrize("env", ["Bandit-v0", "filmed_envs:Lamp-v0"])
def test_what_cannot_be_drawn_or_is_not_wanted_is_passed_over_silently(train, env):
    changes = {"algo.num_steps": 16} if env == "Bandit-v0" else {"video.enabled": False}
    run = train(env, changes)
    assert run.status == "finished"
    assert not (run.path / "videos").exists()
    assert not [text for text in notes(run) if "video" in text]
    assert find_best_video(run) is None


def test_the_same_policy_is_filmed_once(train):
    run = train("filmed_envs:Lamp-v0", {"eval.every": 64})
    best, final = (run.path / "videos" / f"{name}.mp4" for name in ("best", "final"))
    assert best.read_bytes() == final.read_bytes()
    assert best.samefile(final)
    shown = look_over(run)["videos"]
    assert [(film["names"], film["poster"]) for film in shown] == [(["best", "final"], True)]
    with Image.open(best.with_suffix(".jpg")) as poster:
        assert poster.size == (shown_size(run, "width"), shown_size(run, "height"))
    before = best.stat().st_mtime_ns
    gymsolve.resume(run)  # the budget is spent: nothing is trained
    assert best.stat().st_mtime_ns == before
    gymsolve.resume(run, steps=128)
    assert {video.name: video.facts["env_steps"] for video in list_videos(run)}["final"] == 128


def shown_size(run, side):
    return list_videos(run)[0].facts[side]


class Stopper(Silent):
    def started(self, run, trainer):
        self.run = run

    def record(self, record):
        self.run.request_stop()


def test_whoever_stops_a_run_does_not_wait_for_videos(train):
    run = train("filmed_envs:Lamp-v0", {"steps": 6400}, observer=Stopper())
    assert run.status == "stopped"
    assert not (run.path / "videos").exists()


def test_without_an_encoder_nothing_but_the_video_is_lost(train, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    run = train("filmed_envs:Lamp-v0")
    assert run.status == "finished"
    (text,) = [text for text in notes(run) if "video" in text]
    assert text.startswith("no video was made: /nowhere/ffmpeg: ")
    assert "pip install imageio-ffmpeg" in text
    assert list_videos(run) == []


def test_an_encoder_that_fails_leaves_its_words_and_no_file(train, monkeypatch, tmp_path):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho 'no space left on device' >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(broken))
    run = train("filmed_envs:Lamp-v0")
    assert run.status == "finished"
    (text,) = [text for text in notes(run) if "video" in text]
    assert text.endswith("the video could not be encoded: no space left on device.")
    assert list((run.path / "videos").iterdir()) == []


@pytest.mark.parametrize(
    ("env", "error"), [("Smoke-v0", "RuntimeError: no driver"), ("Leaves-v0", "SystemExit: 3")]
)
def test_an_environment_that_fails_to_draw_is_named(train, env, error):
    run = train(f"filmed_envs:{env}")
    assert run.status == "finished"
    (text,) = [text for text in notes(run) if "video" in text]
    assert f"filmed_envs:{env} cannot be drawn: {error}." in text


def test_videos_on_a_cadence_come_from_another_process(train):
    changes = {"steps": 256, "checkpoint.every": 64, "checkpoint.keep": 20, "video.every": 100}
    run = train("filmed_envs:Lamp-v0", changes)
    further = [video for video in list_videos(run) if video.name not in ("best", "final")]
    assert further, "not one checkpoint was filmed"
    for video in further:
        assert video.name == video.facts["checkpoint"]
        assert int(video.name) >= 100
        assert video.facts["return"] == 5.0
    assert not list((run.path / "videos").glob(".*"))


def test_a_video_ends_at_its_length_limit(train):
    run = train("Pendulum-v1:ppo", {"video.max_seconds": 1})
    video = find_best_video(run)
    assert video is not None
    assert video.name == "best"
    assert video.facts["seconds"] == pytest.approx(1.0, abs=0.1)
    assert video.facts["complete"] is False
    assert video.facts["episodes"][0]["end"] == "cut"
    assert cut_note(video.facts) == ", cut after 1 s (its length limit)"
    (event,) = [one for one in run.read_events().rows if one["kind"] == "video" and "best" in one["file"]]
    assert event["cut_by"] == "its length limit"


def test_slow_drawing_is_cut_after_a_quarter_of_the_training_and_told(train, monkeypatch):
    monkeypatch.setattr("gymsolve.apps.video.automatic._PATIENCE", (0.0, 0.0))
    monkeypatch.setattr("gymsolve.apps.video.automatic._SILENCE", 0.0)
    heard = []

    class Listener(Silent):
        def event(self, kind, data):
            heard.append((kind, data.get("cut_by")))

    run = train("Pendulum-v1:ppo", observer=Listener())
    assert ("filming", None) in heard
    assert ("video", "drawing took longer than 0 s") in heard
    assert all(video.facts["complete"] is False for video in list_videos(run))
    page = (run.path / "report.md").read_text()
    assert "drawing took longer than" in page


@pytest.mark.parametrize(("trained", "patience"), [(1.0, 5.0), (19.0, 5.0), (60.0, 15.0), (3600.0, 30.0)])
def test_a_video_may_take_a_quarter_of_the_time_of_training(trained, patience, monkeypatch):
    monkeypatch.setattr("gymsolve.apps.video.automatic._PATIENCE", (5.0, 30.0))
    config = plan_run("Bandit-v0").config
    assert usual_order(config, trained).patience == patience


def test_a_video_whose_caption_is_damaged_is_still_listed(train):
    run = train("filmed_envs:Lamp-v0")
    (run.path / "videos" / "best.json").write_text("{")
    best = find_best_video(run)
    assert best is not None
    assert (best.name, best.facts) == ("best", {})
    final = run.path / "videos" / "final.mp4"
    (run.path / "videos" / "best.mp4").unlink()
    found = find_best_video(run)
    assert found is not None
    assert found.path == final


def test_pictures_hold_what_was_put_in(tmp_path: Path):
    from gymsolve.apps.video.encoding import Film

    colours = [(200, 30, 30), (30, 200, 30), (30, 30, 200)]
    with Film(tmp_path / "x.mp4", 64, 48, 10.0, out_fps=30.0) as film:
        for colour in colours:
            film.add(np.full((48, 64, 3), colour, np.uint8), 2)
    about, pictures = decode(tmp_path / "x.mp4")
    assert about["fps"] == 30
    assert film.seconds == pytest.approx(0.6)
    for colour, picture in zip(colours, pictures[[2, 8, 14]], strict=True):
        assert np.abs(picture.mean(axis=(0, 1)) - colour).max() < 12
