"""Curves from a cursor on: only what is new, extremes always kept."""

import json
import math
import random
import shutil
from pathlib import Path

import pytest

from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.runs.records import sample_records
from gymsolve.runs.run import Run
from gymsolve.view.live_series import Part, SharedCurves, follow_metrics, look_closer, name_metrics
from gymsolve.view.run_page import look_over, run_by_id, run_stamp
from gymsolve.view.runs import get_run
from gymsolve.view.thinning import Growing, extremes

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
SPACING = ((", ", ": "), (",", ":"))
RETURN, JUDGED = "rollout/ep_rew_mean", "eval/mean_reward"


@pytest.fixture
def run(place: Path) -> Run:
    shutil.copytree(KEPT, place / "runs" / "20260101-000000-CartPole-v1-ppo-aaaa")
    return Run(place / "runs" / "20260101-000000-CartPole-v1-ppo-aaaa")


def record(step: int, **more: float | None) -> str:
    return json.dumps({"env_steps": step, "time/elapsed": step / 100, RETURN: step / 10, **more}) + "\n"


def test_all_of_it_first_and_then_only_what_is_new(run: Run) -> None:
    stored = run.read_metrics().rows
    first = follow_metrics(run, [RETURN, JUDGED])
    assert first.fresh
    assert first.series[RETURN].values == [row[RETURN] for row in stored if RETURN in row]
    assert first.series[JUDGED].steps == [row["env_steps"] for row in stored if JUDGED in row]
    nothing = follow_metrics(run, [RETURN, JUDGED], first.cursor)
    assert (nothing.fresh, nothing.series, nothing.cursor) == (False, {}, first.cursor)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write(record(20_000, **{RETURN: None}) + '{"env_steps": 30000, "rollout/ep_rew')
    more = follow_metrics(run, [RETURN, JUDGED], first.cursor)
    assert (more.fresh, more.series[RETURN].steps, more.series[RETURN].values) == (False, [20_000], [None])
    with (run.path / "metrics.jsonl").open("a") as file:  # the torn line is whole now
        file.write('_mean": 3.5}\n')
    last = follow_metrics(run, [RETURN], more.cursor)
    assert (last.series[RETURN].steps, last.series[RETURN].values) == ([30_000], [3.5])
    assert last.series[RETURN].seconds == [None]  # whoever follows knows the clock of before


def test_a_file_that_was_replaced_is_told_from_its_beginning(run: Run) -> None:
    whole = follow_metrics(run, [RETURN]).cursor
    inode, _, _ = whole.partition(".")
    with (run.path / "metrics.jsonl").open("rb") as file:
        cursor = f"{inode}.{len(file.readline())}"  # the new file is longer than that, too
    assert not follow_metrics(run, [RETURN], cursor).fresh
    run.rewind(5_000)
    again = follow_metrics(run, [RETURN], cursor)
    assert again.fresh
    assert max(again.series[RETURN].steps) <= 5_000
    (run.path / "metrics.jsonl").unlink()
    assert follow_metrics(run, [RETURN], cursor).series == {}


def test_odd_lines_are_read_or_counted_as_damaged(run: Run) -> None:
    path = run.path / "metrics.jsonl"
    odd = [
        record(10_200, **{RETURN: math.inf}).replace("Infinity", "null"),
        "no JSON at all\n",
        json.dumps({RETURN: 1.0, "env_steps": 10_300, "time/elapsed": 9.0}) + "\n",
        json.dumps({"env_steps": 10_400, "time/elapsed": 9.5, RETURN: 2.0}) + "\n",
        json.dumps({"env_steps": 10_500, "vec_steps": 1, JUDGED: -3.25e-7}) + "\n",
    ]
    path.write_text(path.read_text() + "".join(odd))
    names = [one.name for one in name_metrics(run)][:30]
    parsed = follow_metrics(run, [*names, RETURN, JUDGED])
    assert parsed.problems == ["1 lines of metrics.jsonl cannot be read; ignored"]
    assert parsed.series[JUDGED].values[-1] == -3.25e-7
    assert parsed.series[JUDGED].seconds[-1] == 9.5
    rows = [
        json.dumps({"env_steps": 5, 'reward/"a", b': 0.5}, separators=separators) for separators in SPACING
    ]
    for row in rows:  # whoever else writes JSON may leave spaces out
        path.write_text(row + "\n")
        assert follow_metrics(run, ['reward/"a", b']).series['reward/"a", b'].values == [0.5]


def test_thinning_keeps_what_stands_out_and_is_the_same_every_time() -> None:
    draw = random.Random(0)
    values = [draw.gauss(0, 1) for _ in range(50_000)]
    values[12_345], values[40_001], values[7] = 99.0, -99.0, math.nan
    kept = extremes(values, 1000)
    assert kept == extremes(list(values), 1000) == sorted(set(kept))
    assert {0, 12_345, 40_001, 49_999} <= set(kept)
    assert len(kept) <= 2002
    for begin in range(0, 50_000, 50):  # brute force: each part keeps its own extremes
        part = [value for value in values[begin : begin + 50] if value == value]
        mine = [values[place] for place in kept if begin <= place < begin + 50]
        assert min(part) in mine
        assert max(part) in mine
    assert extremes([math.nan] * 5000, 10) == [*range(0, 5000, 500), 4999]
    assert extremes([1.0, 2.0], 1000) == [0, 1]


@pytest.mark.parametrize("total", [1, 2, 3, 39, 40, 41, 79, 80, 81, 1000, 12_345])
def test_a_series_that_grows_keeps_its_ends_and_what_stands_out(total: int) -> None:
    draw = random.Random(total)
    values = [draw.gauss(0, 1) for _ in range(total)]
    values[total // 3], values[total // 2], values[-2 % total] = 99.0, -99.0, math.nan
    series: Growing[int] = Growing(10)
    for place, value in enumerate(values):
        series.add(value, place)
        series.points()  # a look meanwhile changes nothing
    places = [place for _, place in series.points()]
    assert places == sorted(set(places))
    assert {0, total - 1} <= set(places)
    finite = [place for place in range(total) if math.isfinite(values[place])]
    if finite:
        assert {max(finite, key=values.__getitem__), min(finite, key=values.__getitem__)} <= set(places)
    assert len(places) == total if total < 40 else 20 <= len(places) <= 44
    assert series.total == total


def test_a_shared_copy_is_what_a_reading_of_all_of_it_gives(run: Run) -> None:
    path, shared = run.path / "metrics.jsonl", SharedCurves()
    path.write_text("")
    asked = [[RETURN], [JUDGED, "a"], [RETURN, "b"], ["nothing"], [RETURN, JUDGED, "a", "b"]]
    for number, names in enumerate(asked):
        with path.open("a") as file:
            for step in range(1700 * number, 1700 * (number + 1)):
                more = {JUDGED: step % 91} if step % 10 == 0 else {}
                file.write(record(step, a=math.sin(step), **more) + ("no JSON\n" if step == 5000 else ""))
                file.write(json.dumps({"env_steps": step, "b": -step}) + "\n")
        copy = follow_metrics(run, names, shared=shared)
        assert copy.to_json() == follow_metrics(run, names).to_json()
        assert copy.fresh
    assert copy.series[RETURN].total == 8500
    assert copy.problems == ["1 lines of metrics.jsonl cannot be read; ignored"]
    assert follow_metrics(run, [RETURN], copy.cursor, shared).series == {}
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"env_steps": 8499,', b'"env_steps": 9999,'))  # the same file, with others
    assert follow_metrics(run, [RETURN], shared=shared).series[RETURN].steps[-1] == 9999
    run.rewind(400)
    assert follow_metrics(run, [RETURN], shared=shared).series[RETURN].total == 401
    path.unlink()
    assert follow_metrics(run, [RETURN], shared=shared).series == {}


def test_a_reading_that_is_broken_off_goes_on_later(run: Run) -> None:
    path, shared = run.path / "metrics.jsonl", SharedCurves()
    path.write_text("".join(record(step) for step in range(9000)))
    looks = 0

    def leave() -> None:
        nonlocal looks
        looks += 1
        if looks == 4:
            raise UsageError("the client has left.")

    for names in ([RETURN], [RETURN, "time/elapsed"]):
        looks = 0
        with pytest.raises(UsageError, match="left"):
            follow_metrics(run, names, shared=shared, check=leave)
        again = follow_metrics(run, names, shared=shared)
        assert again.to_json() == follow_metrics(run, names).to_json()


def test_curves_of_many_runs_and_metrics_are_not_all_kept(run: Run) -> None:
    path, shared = run.path / "metrics.jsonl", SharedCurves()
    path.write_text("".join(record(step) for step in range(100)))
    for number in range(20):  # every request is right, whatever was dropped
        names = [RETURN, *(f"nothing {number} {other}" for other in range(30))]
        assert follow_metrics(run, names, shared=shared).series[RETURN].total == 100


@pytest.mark.parametrize("cursor", ["x", "1", "1.", "1.x", "-1.2", f"{'9' * 60}.1"])
def test_what_is_no_cursor_is_refused(run: Run, cursor: str) -> None:
    with pytest.raises(UsageError, match="no cursor"):
        follow_metrics(run, [RETURN], cursor)


def test_samples_have_both_ends_and_read_little(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert sample_records(path, 10) == []
    path.write_text("".join(record(step) for step in range(1000)) + '{"torn')
    steps = [row["env_steps"] for row in sample_records(path, 10)]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1], len(steps)) == (0, 999, 11)


def test_an_overview_agrees_with_the_details(run: Run) -> None:
    shown, told = look_over(run), get_run(run.id).to_json()
    for name in ("env_steps", "status", "best_reward", "threshold", "checkpoints", "command", "versions"):
        assert shown[name] == told[name], name
    decided = {setting["path"]: setting["decided_by"] for setting in shown["settings"]}
    assert decided["seed"] == told["provenance"]["seed"]
    assert len(shown["events"]) == len(told["events"])
    before = run_stamp(run)
    run.append_event("note", text="a note")
    assert run_stamp(run) != before
    assert look_over(run)["events"][0]["text"] == "a note"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../runs", "a/b", "/etc", "--help", "a\\b", "a\0b", "x" * 300, "nothing"]
)
def test_no_name_leads_out_of_the_folder(run: Run, name: str) -> None:
    with pytest.raises(UnknownRunError):
        run_by_id(name)


def test_a_link_in_place_of_metrics_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(record(1))
    (run.path / "metrics.jsonl").unlink()
    (run.path / "metrics.jsonl").symlink_to(tmp_path / "secret")
    with pytest.raises(RunDamagedError, match="link"):
        follow_metrics(run, [RETURN])


def test_a_part_has_all_of_its_records_until_they_are_too_many(run: Run) -> None:
    steps = range(0, 900_000, 100)
    (run.path / "metrics.jsonl").write_text("".join(record(step) for step in steps))
    assert len(follow_metrics(run, [RETURN]).series[RETURN].values) <= 2002
    for part in (Part("steps", 5_000, 9_999), Part("seconds", 50, 99.99)):
        near = look_closer(run, [RETURN], part).series[RETURN]
        assert near.steps == [step for step in steps if 5_000 <= step <= 9_999]
        assert near.values == [step / 10 for step in near.steps]
        assert (near.total, near.seconds[0]) == (50, 50)
    wide = look_closer(run, [RETURN], Part("steps", 100, 800_000)).series[RETURN]
    assert (wide.total, wide.steps[0], wide.steps[-1]) == (8_000, 100, 800_000)
    assert len(wide.steps) <= 2002
    assert look_closer(run, [RETURN], Part("steps", 1e9, 2e9)).series == {}
