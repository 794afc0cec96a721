"""Records become series; damaged files and newer ones are told in one sentence."""

import json
import math

import pytest
from stories import story

from gymsolve.doctor.history import History
from gymsolve.errors import RunDamagedError
from gymsolve.runs.run import Run


def test_series_know_their_peaks_and_where_they_were():
    history = History({"env_steps": 10 * i, "a": value} for i, value in enumerate([1.0, 5.0, 3.0, 4.0]))
    series = history.series["a"]
    assert series.values == [1.0, 5.0, 3.0, 4.0]
    assert [series.peak_at(index) for index in range(4)] == [1.0, 5.0, 5.0, 5.0]
    assert [series.low_at(index) for index in range(4)] == [1.0, 1.0, 1.0, 1.0]
    assert (series.last, series.peak, series.low, series.span) == (4.0, 5.0, 1.0, 4.0)
    assert [series.index_at(step) for step in (-1, 0, 19, 20, 99)] == [None, 0, 1, 2, 3]


def test_what_is_not_finite_is_kept_as_nan_and_named():
    history = History([{"env_steps": 1, "a": math.inf, "b": None, "c": 1.0, "d": "text"}])
    assert history.broken == ["a", "b"]
    assert math.isnan(history.series["a"].last)
    assert history.series["a"].peak == -math.inf
    assert "d" not in history.series


def test_seconds_are_looked_up_by_step():
    history = History([{"env_steps": 100, "time/elapsed": 1.0}, {"env_steps": 200, "time/elapsed": 3.0}])
    assert [history.seconds_at(step) for step in (50, 100, 150, 500)] == [None, 1.0, 1.0, 3.0]


def test_a_torn_line_is_left_out_and_reported(tmp_path):
    lines = [json.dumps(row) for row in story(count=3)]
    (tmp_path / "metrics.jsonl").write_text("\n".join([*lines, '{"env_steps": 4000, "tra']))
    rows, problems = Run(tmp_path).read_metrics_raw()
    assert len(rows) == 3
    assert problems == ["metrics.jsonl:4 was cut off while being written; ignored"]


def test_a_newer_run_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "run.json").write_text('{"schema_version": 99}')
    with pytest.raises(RunDamagedError, match=r"newer gymsolve \(schema 99.*Upgrade with"):
        Run(tmp_path).info()
