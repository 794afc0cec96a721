"""Records and JSON files: strict, atomic, and readable after a crash or a full disk."""

import json
import multiprocessing
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from gymsolve.errors import RunDamagedError
from gymsolve.runs.files import from_exact, locked, os_errors, read_json, replace_json, to_json
from gymsolve.runs.records import (
    append_record,
    append_text,
    count_records,
    iterate_records,
    last_record,
    read_records,
    read_thinned,
)


def test_records_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [{"env_steps": step, "train/loss": step / 3, "text": "ü\n\r\u2028"} for step in range(5)]
    for row in rows:
        append_record(path, row)
    assert read_records(path) == (rows, [])
    assert last_record(path) == rows[-1]


def test_no_file_means_no_records(tmp_path: Path) -> None:
    assert read_records(tmp_path / "metrics.jsonl") == ([], [])
    assert last_record(tmp_path / "metrics.jsonl") is None


def test_a_very_long_file_is_thinned_and_what_stands_out_stays(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": step, "eval/a" if step % 400 == 7 else "b": 1} for step in range(1, 1001)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert count_records(path) == 1000
    assert read_thinned(path, 1000, ()) == (rows, [])
    thinned, problems = read_thinned(path, 150, (b'"eval/a"',))
    steps = [row["step"] for row in thinned]
    assert steps == sorted({7, 407, 807, 1000, *range(7, 1001, 7)})
    assert problems == ["metrics.jsonl has 1,000 records: one in 7 was read, and those that stand out"]
    assert len(read_thinned(path, 2, (b'"b"',)).rows) == 2  # they are too many to stand out
    assert list(iterate_records(path)) == rows


@pytest.mark.parametrize("length", [1, 7, 12, 70_000, 200_000])
def test_torn_last_line_is_reported_and_gone_after_the_next_append(tmp_path: Path, length: int) -> None:
    path = tmp_path / "metrics.jsonl"
    append_record(path, {"a": 1})
    with path.open("ab") as file:
        file.write((b'{"b": "' + b"x" * 300_000)[:length])
    assert read_records(path) == ([{"a": 1}], ["metrics.jsonl:2 was cut off while being written; ignored"])
    append_record(path, {"c": 3})
    assert path.read_text() == '{"a": 1}\n{"c": 3}\n'


def test_torn_only_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"a"')
    append_record(path, {"b": 2})
    assert read_records(path) == ([{"b": 2}], [])


def test_line_that_only_lacks_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"a": 1}')
    assert read_records(path).rows == [{"a": 1}]
    append_record(path, {"b": 2})
    assert read_records(path) == ([{"a": 1}, {"b": 2}], [])


@pytest.mark.parametrize("damage", [b"\x00\x00\x00", b"\xff\xfe{", b"[1, 2]", b'{"a": ', b"", b"\r"])
def test_damaged_middle_line_costs_only_itself(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"a": 1}\n' + damage + b'\n{"c": 3}\n')
    assert read_records(path) == ([{"a": 1}, {"c": 3}], ["metrics.jsonl:2 is not valid JSON; ignored"])


def test_last_record_of_a_long_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"env_steps": {n}}}\n' for n in range(20_000)) + '{"env')
    assert last_record(path) == {"env_steps": 19_999}


def test_json_is_strict() -> None:
    assert to_json({"a": float("nan"), "b": [float("inf")], "c": np.float32(0.5)}) == (
        '{"a": null, "b": [null], "c": 0.5}'
    )
    assert to_json([np.int64(3), np.bool_(True), (1, 2), np.float64("nan")]) == "[3, true, [1, 2], null]"
    with pytest.raises(TypeError, match="must be strings"):
        to_json({1: "a"})
    with pytest.raises(TypeError, match="ndarray"):
        to_json({"a": np.zeros(2)})


def test_exact_json_gives_everything_back() -> None:
    data = {"low": float("-inf"), "high": [float("inf")], "big": 2**127 + 1, "third": 1 / 3, "none": None}
    text = to_json(data, exact=True)
    json.loads(text, parse_constant=pytest.fail)  # no NaN or Infinity in the text
    assert from_exact(json.loads(text)) == data
    assert np.isnan(from_exact(json.loads(to_json({"x": float("nan")}, exact=True)))["x"])


def test_failed_replacement_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    replace_json(path, {"a": 1})
    with pytest.raises(TypeError):
        replace_json(path, {"a": object()})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(RunDamagedError, match=r"run\.json: the file would exceed the size limit"):
            replace_json(path, {"a": "x" * 500})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read_json(path) == {"a": 1}
    assert [item.name for item in tmp_path.iterdir()] == ["run.json"]


def test_append_on_a_file_at_its_limit_leaves_no_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append_record(path, {"a": 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
    try:
        with pytest.raises(RunDamagedError, match="size limit"):
            append_record(path, {"b": "x" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == '{"a": 1}\n'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_one_sentence_with_a_fix(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    said = r"metrics\.jsonl: the disk is full\. Free some space"
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(RunDamagedError, match=said),
        os_errors(path),
    ):
        full.write(b"x")


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_only_plain_files_are_read_and_written(kind: str, tmp_path: Path) -> None:
    """A link could lead anywhere, and nobody may ever write into the other end of a pipe."""
    path, outside = tmp_path / "metrics.jsonl", tmp_path / "outside"
    if kind == "link":
        outside.write_text('{"env_steps": 1}\n')
    make = {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir}
    make.get(kind, lambda: path.symlink_to(outside))()
    for use in (
        read_json,
        read_records,
        lambda path: append_record(path, {}),
        lambda path: append_text(path, "x"),
    ):
        with pytest.raises(RunDamagedError, match=r"link|plain file|folder"):
            use(path)
    assert not outside.exists() or outside.read_text() == '{"env_steps": 1}\n'


@pytest.mark.parametrize("content", [b"", b'{"a"', b"\xff", b"[]"])
def test_damaged_json_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(RunDamagedError, match=r"run\.json: the file"):
        read_json(path)


def _append_many(path: Path, who: int) -> None:
    for number in range(100):
        append_record(path, {"who": who, "number": number, "padding": "x" * 3000})


def test_processes_appending_at_once_do_not_mix_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(path, who)) for who in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rows, problems = read_records(path)
    assert problems == []
    for who in range(3):
        assert [row["number"] for row in rows if row["who"] == who] == list(range(100))


def test_lock_held_by_another_gives_up_with_advice(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with (
        locked(path),
        pytest.raises(RunDamagedError, match="another process has held"),
        locked(path, timeout=0.05),
    ):
        pytest.fail("the lock was given twice")
    with locked(path, timeout=0.0):
        pass
