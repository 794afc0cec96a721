"""What agents have spent and may spend; trials of a remedy are counted like everything else."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gymsolve.errors import UsageError
from gymsolve.jobs.request import setting_words
from gymsolve.jobs.start import StartedRun
from gymsolve.runs.files import locked
from gymsolve.runs.process import identity
from gymsolve.runs.run import now
from gymsolve.service.agent_limits import Home, Limits, Request, own_run, read_spent, start_within
from gymsolve.service.agent_usage import Entry, append_start

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
SICK = "20260101-000000-CartPole-v1-ppo-aaaa"


def add_run(folder, name, created, seconds, parent=None, group=None):
    shutil.copytree(KEPT, folder / name)
    ended = (datetime.fromisoformat(created) + timedelta(seconds=seconds)).isoformat()
    info = json.loads((folder / name / "run.json").read_text())
    info |= {"id": name, "created": created, "updated": ended, "parent": parent, "group": group}
    (folder / name / "run.json").write_text(json.dumps(info))


NOBODY = 4_194_305  # above the highest id that a process can have
ASKED = Request(["fix", SICK], 4000, begun=None)
OTHER = Request(["train", "other"], 10)


def starter(folder, begun, pid=NOBODY, run=SICK):
    def begin(room):
        begun.append(room.seconds)
        return StartedRun(run, str(folder / run), pid)

    return begin


def test_hours_of_trials_count_and_a_key_starts_them_once(tmp_path):
    add_run(tmp_path, SICK, "2026-01-01T00:00:00.000000+00:00", 7200)
    begun = []
    begin = starter(tmp_path, begun)
    before = now()
    trial = {"run": SICK, "checkpoint": None, "kind": "trial"}
    earlier = (datetime.fromisoformat(before) - timedelta(hours=1)).isoformat()
    add_run(tmp_path, "20260102-000000-CartPole-v1-ppo-0000", earlier, 1800, trial)  # somebody else's
    first = start_within(Limits(hours=1), begin, ASKED, key="k", runs_dir=tmp_path)
    assert (first.already_started, first.spent.hours, first.spent.steps) == (False, 0.0, 4000)
    for number in (1, 2):
        name = f"20260102-000000-CartPole-v1-ppo-000{number}"
        add_run(tmp_path, name, now(), 900, trial)
    again = start_within(Limits(hours=1), begin, ASKED, key="k", runs_dir=tmp_path)
    assert (again.already_started, len(begun)) == (True, 1)
    # A second one must not count the first one's trials again.
    start_within(Limits(hours=1), begin, ASKED, runs_dir=tmp_path)
    assert read_spent(Limits(), tmp_path).hours == 0.5
    with pytest.raises(UsageError, match=r"of the 0\.4 hours of training within 24 hours, 0\.5 are spent"):
        start_within(Limits(hours=0.4), begin, ASKED, runs_dir=tmp_path)


def test_a_key_stands_for_one_request(tmp_path):
    add_run(tmp_path, SICK, now(), 60)
    begin = starter(tmp_path, [])
    start_within(Limits(), begin, Request(["train", "A"], 10), key="k", runs_dir=tmp_path)
    with pytest.raises(UsageError, match="was used for another request"):
        start_within(Limits(), begin, Request(["train", "B"], 10), key="k", runs_dir=tmp_path)


def test_trials_that_are_being_made_are_a_run_at_work_even_before_the_first(tmp_path):
    add_run(tmp_path, SICK, now(), 60)
    limits, begun = Limits(runs=1, hours=1), []
    start_within(limits, starter(tmp_path, begun, os.getpid()), ASKED, runs_dir=tmp_path)
    assert begun == [3600]
    assert read_spent(limits, tmp_path).running == [f"trials of {SICK}"]
    with pytest.raises(UsageError, match="train already: trials of"):
        start_within(limits, starter(tmp_path, begun), OTHER, runs_dir=tmp_path)


def test_each_process_that_makes_trials_counts(tmp_path):
    """Three remedies of one run, tried at the same time, are three runs."""
    add_run(tmp_path, SICK, now(), 60)
    limits = Limits(runs=2)
    for number in range(2):
        asked = Request(["fix", SICK, str(number)], 10, begun=None)
        start_within(limits, starter(tmp_path, [], os.getpid()), asked, runs_dir=tmp_path)
    with pytest.raises(UsageError, match=r"as many runs as are allowed \(2\) train already"):
        start_within(limits, starter(tmp_path, []), OTHER, runs_dir=tmp_path)
    trial = {"run": SICK, "checkpoint": None, "kind": "trial"}
    for number in range(3):  # one of them is a person's
        name = f"20260102-000000-CartPole-v1-ppo-000{number}"
        add_run(tmp_path, name, now(), 0, trial)
        let_train(tmp_path / name)
    with pytest.raises(UsageError, match=r"as many runs as are allowed \(3\) train already"):
        start_within(Limits(runs=3), starter(tmp_path, []), OTHER, runs_dir=tmp_path)


def test_an_equal_request_without_a_key_gives_what_is_under_way(tmp_path):
    begun = []
    add_run(tmp_path, SICK, now(), 60)
    begin = starter(tmp_path, begun, os.getpid())
    first = start_within(Limits(), begin, ASKED, runs_dir=tmp_path)
    again = start_within(Limits(), begin, ASKED, runs_dir=tmp_path)
    assert (first.already_started, again.already_started, len(begun)) == (False, True, 1)
    assert not start_within(Limits(), begin, ASKED, key="once more", runs_dir=tmp_path).already_started
    name = "20260102-000000-CartPole-v1-ppo-0001"
    add_run(tmp_path, name, now(), 0)
    let_train(tmp_path / name)
    train = Request(["train", "CartPole-v1"], 10)
    begin = starter(tmp_path, begun, run=name)
    assert not start_within(Limits(runs=9), begin, train, runs_dir=tmp_path).already_started
    assert start_within(Limits(runs=9), begin, train, runs_dir=tmp_path).already_started
    info = json.loads((tmp_path / name / "run.json").read_text()) | {"status": "finished"}
    (tmp_path / name / "run.json").write_text(json.dumps(info))
    assert not start_within(Limits(runs=9), begin, train, runs_dir=tmp_path).already_started


def test_hours_that_are_spent_and_hours_that_are_kept_are_told_apart(tmp_path):
    began = (datetime.now(UTC) - timedelta(minutes=15)).isoformat()
    add_run(tmp_path, SICK, began, 0)
    let_train(tmp_path / SICK)
    append_start(tmp_path, Entry(began, None, SICK, 10, 0, 3600.0))
    spent = read_spent(Limits(), tmp_path)
    assert (spent.hours, spent.reserved_hours) == pytest.approx((0.25, 0.75), abs=0.02)
    with pytest.raises(UsageError, match=rf"0\.25 are spent and 0\.75 are kept for {SICK}"):
        start_within(Limits(hours=1), starter(tmp_path, []), OTHER, runs_dir=tmp_path)


def test_a_run_that_gets_fewer_seconds_than_it_wanted_is_told_so(tmp_path):
    begin = starter(tmp_path, begun := [])
    enough = start_within(Limits(hours=2), begin, Request(["a"], 10, seconds=60.0), runs_dir=tmp_path)
    assert (enough.seconds, enough.time_limit) == (60, None)
    fewer = start_within(Limits(hours=2), begin, Request(["b"], 10, seconds=1e5), runs_dir=tmp_path)
    assert fewer.seconds == pytest.approx(7200, abs=61)
    assert "may train for 7,200 of the 100,000 seconds that it asked for" in fewer.time_limit
    assert "2 of 2 hours are left" in fewer.time_limit
    share = start_within(Limits(runs=2, hours=2), begin, Request(["c"], 10), runs_dir=tmp_path)
    assert "may train for 3,600 seconds, its share of the 2 of 2 hours" in share.time_limit
    free = start_within(Limits(), begin, Request(["d"], 10, seconds=60.0), runs_dir=tmp_path)
    assert (free.seconds, free.time_limit) == (None, None)
    assert len(begun) == 4


def test_runs_side_by_side_do_not_spend_the_same_hours(tmp_path):
    """Each gets its share of what is left, and what a running one may still take is kept for it."""
    limits, begun = Limits(runs=2, hours=2), []
    names = [f"20260102-000000-CartPole-v1-ppo-000{number}" for number in range(3)]

    def begin(room):
        name = names[len(begun)]
        add_run(tmp_path, name, now(), 0)
        let_train(tmp_path / name)
        return starter(tmp_path, begun, run=name)(room)

    for name in names[:2]:
        start_within(limits, begin, Request(["train", name], 10), runs_dir=tmp_path)
    assert begun == pytest.approx([3600, 3600], abs=30)
    assert read_spent(limits, tmp_path).reserved_hours == pytest.approx(2.0, abs=0.02)
    with pytest.raises(UsageError, match="kept for"):
        start_within(Limits(runs=3, hours=2), starter(tmp_path, begun), Request([], 10), runs_dir=tmp_path)


def test_a_shorter_limit_of_its_own_stays(tmp_path):
    begun = []
    begin = starter(tmp_path, begun)
    start_within(Limits(hours=2), begin, Request(["train"], 10, seconds=60.0), runs_dir=tmp_path)
    start_within(Limits(hours=2), begin, Request(["train"], 10, seconds=1e9), runs_dir=tmp_path)
    assert begun == pytest.approx([60, 7200], abs=61)


def test_the_pause_before_a_resume_is_not_training(tmp_path):
    """Two sittings of ten minutes with an hour between them are twenty minutes."""
    began = (datetime.fromisoformat(now()) - timedelta(minutes=80)).isoformat()
    again = (datetime.fromisoformat(began) + timedelta(minutes=70)).isoformat()
    add_run(tmp_path, SICK, began, 80 * 60)
    for moment, trained in ((began, 0.0), (again, 600.0)):
        append_start(tmp_path, Entry(moment, None, SICK, 10, 0, None, trained))
    assert read_spent(Limits(), tmp_path).hours == pytest.approx(1 / 3, abs=0.01)


def test_a_start_does_not_wait_for_ever_for_others(tmp_path, monkeypatch):
    monkeypatch.setattr("gymsolve.service.agent_limits._OTHERS", 0.05)
    with locked(tmp_path / ".agents.lock"), pytest.raises(UsageError, match="other runs are being started"):
        start_within(Limits(), starter(tmp_path, []), ASKED, runs_dir=tmp_path)


def test_a_run_of_another_folder_is_not_ones_own(tmp_path):
    here, there = tmp_path / "runs", tmp_path / "others"
    for folder in (here, there):
        folder.mkdir()
        add_run(folder, SICK, now(), 60)
    home = Home(str(here), Limits())
    assert own_run(f"{SICK}@best", home)[1] == "best"
    with pytest.raises(UsageError, match="nothing else is touched"):
        own_run(str(there / SICK), home)


def test_seeds_of_a_group_count_as_the_runs_that_they_are(tmp_path):
    begin = starter(tmp_path, [], run="group:g-2seeds-00aa")
    asked = Request(["train"], 6000, begun=None, at_once=2)
    rooms = []

    def noting(room):
        rooms.append(room)
        return begin(room)

    begun = start_within(Limits(runs=1), noting, asked, runs_dir=tmp_path)
    assert (rooms[0].at_once, begun.already_started) == (1, False)  # one after the other
    (tmp_path / "agents.jsonl").unlink()
    add_run(tmp_path, SICK, (datetime.now(UTC) - timedelta(hours=1)).isoformat(), 1800, group="g-2seeds-00aa")
    start_within(Limits(runs=2), begin, asked, runs_dir=tmp_path)
    for number, group in enumerate(("g-2seeds-00aa", "g-2seeds-00aa", "other-2seeds-00bb")):
        add_run(tmp_path, f"20260102-000000-CartPole-v1-ppo-000{number}", now(), 900, group=group)
    spent = read_spent(Limits(), tmp_path)
    assert (spent.hours, spent.steps, spent.running) == (0.5, 6000, [])


def test_a_group_at_work_is_its_seeds_or_itself_between_them(tmp_path):
    begin = starter(tmp_path, begun := [], os.getpid(), "group:g-2seeds-00aa")
    asked = Request(["train"], 10, begun=None, at_once=2, seconds=1200.0)
    start_within(Limits(runs=2, hours=1), begin, asked, runs_dir=tmp_path)
    assert begun == [1200]
    assert read_spent(Limits(), tmp_path).running == ["group:g-2seeds-00aa"]
    names = [f"20260102-000000-CartPole-v1-ppo-000{number}" for number in range(2)]
    for name in names:
        add_run(tmp_path, name, now(), 0, group="g-2seeds-00aa")
        let_train(tmp_path / name)
    assert sorted(read_spent(Limits(), tmp_path).running) == names


def let_train(folder):
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info | {"status": "running", **identity()}))


@pytest.mark.parametrize("path", ['track=["wandb"] #', " track", "steps=9 #"])
def test_a_path_cannot_hide_another_setting(path):
    """Settings become words `PATH=VALUE`, and a value may be a comment of YAML."""
    with pytest.raises(UsageError, match="names no setting"):
        setting_words({path: 1})
