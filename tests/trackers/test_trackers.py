"""Trackers of real trainings: every place says the same, and none of them can hurt a run."""

import csv
import io
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb_files import history, of_kind, read_wandb

import gymsolve
from gymsolve.errors import ConfigError, MissingExtraError
from gymsolve.metrics.trackers.tracker import RunFacts, make_sinks
from gymsolve.runs.records import read_records
from gymsolve.runs.run import Run
from gymsolve.runs.videos import Video
from gymsolve.text import number
from gymsolve.training.observer import Silent
from gymsolve.training.tracking import new_videos

ALL = "csv,tensorboard,wandb,trackio"
FAULT = ("--set", "algo.learning_rate=0.3", "--set", "eval.episodes=5", "--set", "eval.every=1000")


def gymsolve_in(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    own = {
        "WANDB_MODE": "offline",
        "TRACKIO_DIR": str(folder / "trackio"),
        "GYMSOLVE_RUNS": str(folder / "runs"),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "gymsolve", *arguments, "--json"],
        cwd=folder,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    """CartPole with a fault, followed by every tracker, then resumed."""
    folder = tmp_path_factory.mktemp("tracked")
    first = gymsolve_in(folder, "train", "CartPole-v1:ppo", "--steps", "3000", "--track", ALL, *FAULT)
    out, err = first.communicate(timeout=280)
    assert first.returncode == 0, err
    answer = json.loads(out)  # nothing else may be on standard output
    again = gymsolve_in(folder, "resume", answer["run"], "--steps", "4000")
    again_out, again_err = again.communicate(timeout=280)
    assert again.returncode == 0, again_err
    json.loads(again_out)
    return Run(Path(answer["path"])), err, folder


def rows_of(run: Run) -> list[dict[str, Any]]:
    return run.read_metrics().rows


def rows_sent(run: Run) -> list[dict[str, Any]]:
    """With those that the resume set aside, such as the return of random actions at the end of a run.

    Trackers that only append have them, too.
    """
    aside = read_records(run.path / "metrics.discarded.jsonl").rows
    assert aside
    return sorted([*rows_of(run), *aside], key=lambda record: record["env_steps"])


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def test_csv_carries_the_values_of_the_records(tracked):
    run, _, _ = tracked
    with (run.path / "metrics.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    expected = rows_of(run)
    assert len(table) == len(expected)
    for row, record in zip(table, expected, strict=True):
        told = {name: float(value) for name, value in row.items() if value != ""}
        assert told.keys() == record.keys()
        assert all(same(told[name], record[name]) for name in record)


def test_tensorboard_carries_the_values_of_the_records(tracked):
    run, _, _ = tracked
    events = EventAccumulator(str(run.path / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    names = {name for record in rows_sent(run) for name in record} - {"env_steps"}
    assert set(events.Tags()["scalars"]) == names
    for name in names:
        told = [(point.step, point.value) for point in events.Scalars(name)]
        # TensorBoard stores scalars in single precision.
        kept = [(r["env_steps"], float(np.float32(r[name]))) for r in rows_sent(run) if name in r]
        assert [step for step, _ in told] == [step for step, _ in kept]
        assert all(same(a, b) for (_, a), (_, b) in zip(told, kept, strict=True))
    assert "alert/kl_shock" in events.Tags()["tensors"]


def test_wandb_carries_the_values_of_the_records(tracked):
    run, _, _ = tracked
    told = [row for row in history(read_wandb(run.path)) if "progress" in row]
    expected = rows_sent(run)
    assert len(told) == len(expected)
    for row, record in zip(told, expected, strict=True):
        own = {name: value for name, value in row.items() if name in record}
        assert own.keys() == record.keys()
        assert all(same(float(value), record[name]) for name, value in own.items())


def test_wandb_draws_bounds_beside_entropy_and_actions(tracked):
    told = [row for row in history(read_wandb(tracked[0].path)) if "train/entropy" in row]
    assert {(row["bounds/train/entropy_min"], row["bounds/train/entropy_max"]) for row in told} == {
        (0, math.log(2))
    }
    measured = [row for row in told if "action/mean" in row]
    assert {(row["bounds/action/mean_min"], row["bounds/action/mean_max"]) for row in measured} == {(0, 1)}
    assert not any("bounds/obs/mean_max" in row for row in told)  # a cart's speed has no bounds


def test_trackio_carries_the_values_of_the_records(tracked):
    run, _, folder = tracked
    with sqlite3.connect(folder / "trackio" / "CartPole-v1.db") as database:
        stored = database.execute("select run_name, step, metrics from metrics order by id").fetchall()
        alerts = database.execute("select count(*) from alerts").fetchone()[0]
    database.close()
    assert {name for name, _, _ in stored} == {f"ppo-{run.id}"}
    logged = [(step, json.loads(metrics)) for _, step, metrics in stored]
    told = [(step, metrics) for step, metrics in logged if "progress" in metrics]
    expected = rows_sent(run)
    assert [step for step, _ in told] == [record["env_steps"] for record in expected]
    for (_, metrics), record in zip(told, expected, strict=True):
        assert all(metrics[name] == value for name, value in record.items() if math.isfinite(value))
    assert alerts > 0
    assert any("video/best" in metrics for _, metrics in logged)


def test_console_and_checkpoints_carry_the_values_of_the_records(tracked):
    run, err, _ = tracked
    judged = [record for record in rows_of(run) if "eval/mean_reward" in record]
    log = (run.path / "log.txt").read_text()
    assert judged
    for record in judged:
        line = f"{record['env_steps']:>10,} steps  evaluation: {number(record['eval/mean_reward'])} "
        assert line in log
    assert f"evaluation: {number(judged[0]['eval/mean_reward'])} " in err
    by_step = {record["env_steps"]: record for record in judged}
    metas = [json.loads(path.read_text()) for path in run.path.glob("checkpoints/*/meta.json")]
    saved = [meta for meta in metas if meta["eval"]]
    assert saved
    for meta in saved:
        record = by_step[meta["env_steps"]]
        assert all(record[name] == value for name, value in meta["eval"].items())


def test_the_wandb_run_is_the_run(tracked):
    run, err, _ = tracked
    records = read_wandb(run.path)
    first, second = of_kind(records, "run")[0], of_kind(records, "run")[-1]
    assert (first.run_id, first.project, first.display_name) == (run.id, "CartPole-v1", f"ppo-{run.id}")
    assert second.run_id == run.id, "a resumed run goes on under its id"
    config = {item.key: json.loads(item.value_json) for item in first.config.update}
    assert config["algo"]["learning_rate"] == 0.3
    assert [ending.exit_code for ending in of_kind(records, "exit")] == [0, 0], "finished in both sittings"
    numbers = [row["_step"] for row in history(records)]
    assert numbers == sorted(set(numbers)), "W&B would drop a row whose number it has seen"
    assert err.count("wandb sync") == 1


def test_videos_reach_tensorboard_as_moving_pictures(tracked):
    run, _, _ = tracked
    events = EventAccumulator(str(run.path / "tensorboard"), size_guidance={"images": 0})
    events.Reload()
    assert {"video/best", "video/final"} <= set(events.Tags()["images"])
    films = [event for event in run.read_events().rows if event["kind"] == "video"]
    (shown, *_) = events.Images("video/final")
    assert shown.step in {film["env_steps"] for film in films}
    with Image.open(io.BytesIO(shown.encoded_image_string)) as picture:
        assert picture.format == "GIF"
        assert picture.n_frames > 1
        assert picture.size == (shown.width, shown.height)


def test_alerts_and_videos_reach_wandb_at_their_step(tracked):
    run, _, _ = tracked
    records = read_wandb(run.path)
    fired = [e for e in run.read_events().rows if e["kind"] == "alert" and e["because"] is None]
    assert [alert.title for alert in of_kind(records, "alert")] == [event["title"] for event in fired]
    films = [e for e in run.read_events().rows if e["kind"] == "video"]
    logged = [row for row in history(records) if any(name.startswith("video/") for name in row)]
    assert len(films) == len(logged) > 0
    assert sorted(e["env_steps"] for e in films) == sorted(row["env_steps"] for row in logged)


def test_ctrl_c_and_errors_close_every_tracker(tmp_path):
    going = gymsolve_in(tmp_path, "train", "CartPole-v1", "--steps", "100m", "--track", "wandb,csv", "-q")
    deadline = time.monotonic() + 240
    while not any(path.stat().st_size for path in tmp_path.glob("runs/*/metrics.csv")):
        assert time.monotonic() < deadline
        assert going.poll() is None
        time.sleep(0.1)
    going.send_signal(signal.SIGINT)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130, err
    records = read_wandb(Path(json.loads(out)["path"]))
    assert len(of_kind(records, "exit")) == 1
    assert '"stopped"' in str([item.value_json for s in of_kind(records, "summary") for item in s.update])


class Broken:
    """A tracker whose service fails at one of its calls."""

    def __init__(self, at: str, error: BaseException | None = None) -> None:
        self.at, self.calls = at, []
        self.error = error or ConnectionError("the server went away")

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name == self.at:
            raise self.error

    def open(self, facts: RunFacts, config: Any) -> str | None:
        self._called("open")
        return None

    def record(self, record: Any) -> None:
        self._called("record")

    def event(self, kind: str, data: Any) -> None:
        self._called("event")

    def video(self, path: Path, env_steps: int) -> None:
        self._called("video")

    def close(self, status: str, result: Any) -> None:
        self._called("close")


class Listening(Silent):
    def __init__(self) -> None:
        self.told: list[str] = []

    def event(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "tracker_failed":
            self.told.append(data["text"])


@pytest.mark.parametrize(
    ("at", "error"),
    [("open", None), ("record", None), ("record", SystemExit("log in")), ("close", None)],
)
def test_a_failing_tracker_is_reported_once_and_left_out(at, error, monkeypatch):
    broken, sound, observer = Broken(at, error), Broken("never"), Listening()
    made = {"wandb": broken, "csv": sound}
    monkeypatch.setattr("gymsolve.training.session.make_sinks", lambda names: made)
    outcome = gymsolve.train("Bandit-v0", steps=2000, observer=observer)
    assert outcome.status in ("finished", "solved")
    events = [e for e in outcome.run.read_events().rows if e["kind"] == "tracker_failed"]
    assert [event["tracker"] for event in events] == ["wandb"]
    assert observer.told == [events[0]["text"]]
    assert f"{type(broken.error).__name__}: {broken.error}" in observer.told[0]
    assert broken.calls.count(at) == 1
    assert broken.calls.count("close") == 1, "what had been begun is closed all the same"
    assert sound.calls[0] == "open"
    assert sound.calls[-1] == "close"
    assert sound.calls.count("record") == len(outcome.run.read_metrics().rows)


def test_an_error_in_training_closes_trackers_as_crashed(monkeypatch):
    endings: list[str] = []

    class Noting(Broken):
        def close(self, status: str, result: Any) -> None:
            endings.append(status)

    class Failing(Silent):
        def record(self, record: dict[str, Any]) -> None:
            raise ValueError("the observer broke")

    monkeypatch.setattr("gymsolve.training.session.make_sinks", lambda names: {"csv": Noting("never")})
    with pytest.raises(ValueError, match="the observer broke"):
        gymsolve.train("Bandit-v0", steps=500, observer=Failing())
    assert endings == ["crashed"]


def test_nothing_is_begun_for_a_request_that_is_refused(tmp_path):
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match="track"):
        gymsolve.train("Bandit-v0", track=["tensorbord"])
    assert set(tmp_path.rglob("*")) == before


def test_a_missing_package_is_named_before_training(tmp_path, monkeypatch):
    (tmp_path / "wandb").mkdir()  # what an earlier run of W&B left must not pass for the package
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'gymsolve\[wandb\]'"):
        make_sinks(["wandb"])


HISTOGRAMS = """
from pathlib import Path
from gymsolve.metrics.trackers.tracker import RunFacts, make_sinks

folder = Path.cwd() / "20260102-030405-Two-v0-ppo-1a2b"
folder.mkdir()
for sink in make_sinks(["wandb", "trackio"]).values():
    sink.open(RunFacts(folder.name, folder, "Two-v0:ppo", "Two-v0", "ppo", "ppo", 0, 0, 0), {})
    sink.record({"env_steps": 10, "action/share_0": 0.25, "action/share_1": 0.75})
    sink.close("finished", {"solved": False})
"""


def test_shares_of_actions_become_histograms(tmp_path):
    own = {"WANDB_MODE": "offline", "TRACKIO_DIR": str(tmp_path / "trackio")}
    subprocess.run(
        [sys.executable, "-c", HISTOGRAMS], cwd=tmp_path, env=os.environ | own, check=True, timeout=280
    )
    (row,) = history(read_wandb(tmp_path / "20260102-030405-Two-v0-ppo-1a2b"))
    assert row["action/histogram.values"] == [0.25, 0.75]
    assert row["action/histogram.bins"] == [-0.5, 0.5, 1.5]
    with sqlite3.connect(tmp_path / "trackio" / "Two-v0.db") as database:
        ((stored,),) = database.execute("select metrics from metrics order by id limit 1").fetchall()
    database.close()
    assert json.loads(stored)["action/histogram"]["values"] == [0.25, 0.75]


def test_looking_on_changes_nothing():
    def measured(**options: Any) -> list[dict[str, Any]]:
        run = gymsolve.train("Bandit-v0", steps=1000, **options).run
        timed = ("time/", "eval/seconds")
        return [
            {name: value for name, value in row.items() if not name.startswith(timed)}
            for row in run.read_metrics().rows
        ]

    assert measured(track=["csv", "tensorboard"]) == measured()


def test_a_video_filmed_again_under_its_name_is_new(tmp_path):
    old = [Video(tmp_path / "best.mp4", {"env_steps": 10}), Video(tmp_path / "10.mp4", {"env_steps": 10})]
    now = [Video(tmp_path / "best.mp4", {"env_steps": 20}), old[1]]
    assert new_videos(old, now) == [now[0]]
