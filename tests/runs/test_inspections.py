"""Files of inspected episodes: read while they grow, kept within bounds, refused when they are not right."""

import json

import pytest

from gymsolve.errors import RunDamagedError, UnknownRunError
from gymsolve.runs import create_run, inspections
from gymsolve.runs.inspections import (
    InspectionWriter,
    RowField,
    find_inspection,
    list_inspections,
    open_inspection,
    run_among,
)

FIELDS = [RowField("value", "f4"), RowField("action", "i8", (2,)), RowField("label", "S64")]
ROW = 4 + 16 + 64
FACTS = {
    **dict.fromkeys(("checkpoint", "policy_sha256", "env_id"), "1"),
    **dict.fromkeys(("env_steps", "seed"), 1),
    **dict.fromkeys(("deterministic", "camera"), True),
    **{name: {} for name in ("spec", "credit", "obs_names")},
    "role": "eval",
    "action_names": [],
    "frame_stack": 1,
}


@pytest.fixture
def run(tmp_path):
    config = {"env": {"id": "CartPole-v1"}, "algo": {"name": "ppo"}, "steps": 1}
    return create_run(
        tmp_path, name="CartPole-v1:ppo", config_json=config, provenance={}, command=[], seed=0, steps=1
    )


def play(run, states, *, key="key", state="whole", **facts):
    writer = InspectionWriter(run, key, FIELDS, FACTS | facts)
    for number in range(states):
        writer.add_frame(b"f" * number)
        writer.add_plane(bytes([number]))
        writer.add_rows(bytes([number]) * ROW)
    return writer.finish(state, {"length": states - 1, "end": "terminated", "return": 1.0})


def test_rows_frames_and_planes_are_read_from_anywhere(run):
    stored = open_inspection(run, play(run, 5).name)
    assert (stored.states, stored.frames, stored.row_bytes) == (5, 5, ROW)
    assert stored.read_rows(1, 3) == b"\1" * ROW + b"\2" * ROW
    assert stored.read_rows(4, 99) == b"\4" * ROW
    assert stored.read_rows(7, 9) == b""
    assert [len(one) for one in stored.read_frames(0, 99)] == [0, 1, 2, 3, 4]
    assert [stored.read_frame(state) for state in (0, 3, 8)] == [b"", b"fff", b""]
    assert stored.read_planes([4, 0, 9]) == [b"\4", b"\0", b""]


def test_an_episode_that_is_being_played_can_be_read(run):
    writer = InspectionWriter(run, "key", FIELDS, FACTS)
    assert open_inspection(run, writer.name).states == 0
    writer.add_frame(b"one")
    writer.add_rows(b"x" * ROW)
    growing = open_inspection(run, writer.name)
    assert (growing.states, growing.read_frame(0), growing.facts["state"]) == (1, b"one", "playing")
    with (writer.path / "rows.bin").open("ab") as file:
        file.write(b"torn")  # a row of which half is written
    assert growing.states == 1
    assert growing.read_rows(0, 9) == b"x" * ROW
    assert find_inspection(run, "key") is None  # not to its end
    writer.abandon()
    assert list_inspections(run) == []


def test_only_a_whole_episode_is_found_by_its_key(run):
    play(run, 3, state="stopped")
    assert find_inspection(run, "key") is None
    whole = play(run, 3)
    assert find_inspection(run, "key").name == whole.name
    (whole.path / "rows.bin").write_bytes(b"x" * ROW)  # somebody cut it
    assert find_inspection(run, "key") is None


def test_the_oldest_go_when_there_are_too_many_and_so_does_what_a_kill_left(run, monkeypatch):
    monkeypatch.setattr(inspections, "_KEPT", 3)
    dead = InspectionWriter(run, "dead", FIELDS, FACTS | {"pid": 2**22 + 1, "process_start": "gone:1"})
    names = [play(run, 2, key=f"k{number}").name for number in range(5)]
    left = [one.name for one in list_inspections(run)]
    assert left == names[:1:-1]
    assert not dead.path.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fields": []}, "fields"),
        ({"fields": [{"name": "value", "kind": "O", "shape": []}]}, "fields"),
        ({"fields": [{"name": "value", "kind": "f4", "shape": [-1]}]}, "fields"),
        ({"fields": [{"name": "value", "kind": "f8", "shape": [1 << 20, 1 << 20]}]}, "rows of that size"),
        ({"state": "great"}, "state"),
        ({"seed": "1"}, "seed"),
        ({"created": "yesterday"}, "created"),
        ({"obs_names": {"obs": [1]}}, "obs_names"),
    ],
)
def test_facts_that_cannot_be_are_refused(run, change, said):
    stored = play(run, 2)
    path = stored.path / "inspection.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RunDamagedError, match=said):
        open_inspection(run, stored.name)
    assert list_inspections(run) == []  # the others of a list are not concerned


def test_places_out_of_order_and_links_are_refused(run, tmp_path):
    stored = play(run, 3)
    (stored.path / "frames.idx").write_bytes((9).to_bytes(8, "little") + (1).to_bytes(8, "little"))
    with pytest.raises(RunDamagedError, match="not in order"):
        stored.read_frames(0, 2)
    (stored.path / "frames.idx").write_bytes((1 << 62).to_bytes(8, "little"))
    assert len(stored.read_frames(0, 1)[0]) <= 3  # no more than there is
    (stored.path / "rows.bin").unlink()
    (stored.path / "rows.bin").symlink_to("/etc/passwd")
    with pytest.raises(RunDamagedError):
        stored.read_rows(0, 1)
    (run.path / "inspections" / "linked").symlink_to(stored.path)
    for name in ("linked", "../..", "..", "", "none", ".hidden", "a/b"):
        with pytest.raises(UnknownRunError, match="no inspected episode"):
            open_inspection(run, name)


def test_an_address_leads_to_runs_of_the_folder_alone(run, tmp_path):
    assert run_among(tmp_path, run.id).id == run.id
    (tmp_path / "linked").symlink_to(run.path)
    assert run_among(tmp_path, "linked").config_json() == run.config_json()  # as the table of runs has it
    for name in (
        "..",
        ".",
        "",
        "a/../b",
        f"../{tmp_path.name}/{run.id}",
        str(run.path),
        "no\0where",
    ):
        with pytest.raises(UnknownRunError):
            run_among(tmp_path, name)
