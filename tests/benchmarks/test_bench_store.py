"""Results as they come: an interrupted or partial benchmark loses nothing that is still needed."""

import json

from benchmarks.store import Store, load_runs, merge


def run(tool, session, number=0, case="c"):
    return {"case": case, "tool": tool, "session": session, "round": number}


def names(runs):
    return [(r["case"], r["tool"], r["session"], r["round"]) for r in runs]


def test_every_run_is_on_disk_at_once(tmp_path):
    store = Store(tmp_path, "throughput")
    store.add({"case": "c", "tool": "gymsolve", "round": 0, "seconds": 1.0})
    on_disk = json.loads((tmp_path / "throughput.json").read_text())
    assert [r["seconds"] for r in on_disk["runs"]] == [1.0]
    assert set(on_disk["machines"]) == {store.session}
    assert on_disk["machines"][store.session]["cores"] >= 1
    store.add({"case": "c", "tool": "gymsolve", "round": 1, "seconds": 2.0})
    assert len(load_runs(tmp_path / "throughput.json")["runs"]) == 2


def test_nothing_measured_yet_is_empty(tmp_path):
    assert load_runs(tmp_path / "throughput.json") == {"machines": {}, "runs": []}


def test_a_later_session_replaces_a_peer_and_leaves_the_others():
    runs = [run("gymsolve", "1"), run("sb3", "1"), run("sbx", "1")]
    for new in (run("gymsolve", "2"), run("sb3", "2")):
        runs = merge(runs, new)
    # The first session's own run stays: sbx is compared with it.
    assert names(runs) == [
        ("c", "gymsolve", "1", 0),
        ("c", "sbx", "1", 0),
        ("c", "gymsolve", "2", 0),
        ("c", "sb3", "2", 0),
    ]


def test_own_runs_go_when_nobody_is_compared_with_them():
    runs = [run("gymsolve", "1"), run("sb3", "1")]
    for new in (run("gymsolve", "2"), run("sb3", "2")):
        runs = merge(runs, new)
    assert names(runs) == [("c", "gymsolve", "2", 0), ("c", "sb3", "2", 0)]


def test_rounds_of_one_session_add_up():
    runs = merge([run("sb3", "1", 0)], run("sb3", "1", 1))
    assert [r["round"] for r in runs] == [0, 1]


def test_other_cases_are_left_alone():
    runs = merge([run("sb3", "1", case="a")], run("sb3", "2", case="b"))
    assert {r["case"] for r in runs} == {"a", "b"}
