"""Pieces of the trackers that have known answers."""

import csv
from pathlib import Path

from gymsolve.metrics.action_shares import action_histograms
from gymsolve.metrics.trackers.csv import CsvSink
from gymsolve.metrics.trackers.tensorboard import TensorBoardSink
from gymsolve.metrics.trackers.tracker import RunFacts
from gymsolve.runs.run import Run


def facts(path: Path, env_steps: int = 0) -> RunFacts:
    return RunFacts(path.name, path, "CartPole-v1:ppo", "CartPole-v1", "ppo", "ppo", 0, env_steps, 0)


def table(path: Path) -> list[list[str]]:
    with (path / "metrics.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_new_columns_are_appended_and_old_ones_keep_their_place(tmp_path):
    run, sink = Run(tmp_path), CsvSink()
    sink.open(facts(tmp_path), {})
    records = [
        {"env_steps": 10, "train/loss": 0.1},
        {"env_steps": 20, "eval/mean_reward": 5.0, "progress": 0.5},
        {"env_steps": 30, "train/loss": 1 / 3},
    ]
    for record in records:
        run.append_metrics(record)
        sink.record(record)
    sink.close("finished", {})  # rows may wait for a second, but not longer than the run lasts
    assert table(tmp_path) == [
        ["env_steps", "train/loss", "progress", "eval/mean_reward"],
        ["10", "0.1", "", ""],
        ["20", "", "0.5", "5.0"],
        ["30", repr(1 / 3), "", ""],
    ]


def test_a_resumed_table_drops_what_the_run_has_set_aside(tmp_path):
    run, sink = Run(tmp_path), CsvSink()
    sink.open(facts(tmp_path), {})
    for steps in (10, 20, 30):
        record = {"env_steps": steps, "train/loss": 0.5}
        run.append_metrics(record)
        sink.record(record)
    run.rewind(10)
    CsvSink().open(facts(tmp_path, env_steps=10), {})
    assert [row[0] for row in table(tmp_path)] == ["env_steps", "10"]


def test_tensorboard_drops_it_too(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for begin, steps in ((0, (10, 20, 30)), (10, (15, 25))):
        sink = TensorBoardSink()
        sink.open(facts(tmp_path, env_steps=begin), {})
        for step in steps:
            sink.record(
                {"env_steps": step, "train/loss": 0.5, "action/share_0": 0.25, "action/share_1": 0.75}
            )
        sink.close("finished", {})
        # Names count seconds and the writers of this process; this test does neither.
        (file,) = [path for path in (tmp_path / "tensorboard").iterdir() if not path.name.endswith(".done")]
        file.rename(file.with_name(f"events.out.tfevents.{begin:03d}.done"))
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [point.step for point in events.Scalars("train/loss")] == [10, 15, 25]
    bars = events.Histograms("action/histogram")[0].histogram_value
    assert list(bars.bucket) == [0.0, 0.25, 0.75]
    assert list(bars.bucket_limit) == [-0.5, 0.5, 1.5]


def test_action_shares_are_ordered_by_choice():
    record = {"action/share_10": 0.5, "action/share_2": 0.5, "action/largest_share": 0.5}
    (histogram,) = action_histograms(record).items()
    assert histogram == (
        "action/histogram",
        ([0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0.5], [choice - 0.5 for choice in range(12)]),
    )
    assert action_histograms({"env_steps": 1}) == {}


def test_bars_of_many_choices_are_as_wide_as_the_choices_they_hold():
    record = {"action/share_0to3": 0.5, "action/share_8": 0.125, "action/share_4to7": 0.375}
    assert action_histograms(record) == {
        "action/histogram": ([0.5, 0.375, 0.125], [-0.5, 3.5, 7.5, 8.5]),
    }


def test_every_part_of_an_action_has_a_histogram():
    record = {"action/share_0_0": 0.25, "action/share_0_1": 0.75, "action/share_1_0to9": 1.0}
    assert action_histograms(record) == {
        "action/histogram_0": ([0.25, 0.75], [-0.5, 0.5, 1.5]),
        "action/histogram_1": ([1.0], [-0.5, 9.5]),
    }
