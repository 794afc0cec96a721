"""What agents have spent: trials of a remedy are counted like everything else."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gymsolve.errors import UsageError
from gymsolve.runs.run import now
from gymsolve.service.budget import Limits, read_spent, start_within
from gymsolve.service.start import StartedRun

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
SICK = "20260101-000000-CartPole-v1-ppo-aaaa"


def add_run(folder, name, created, seconds, parent=None, group=None):
    shutil.copytree(KEPT, folder / name)
    ended = (datetime.fromisoformat(created) + timedelta(seconds=seconds)).isoformat()
    info = json.loads((folder / name / "run.json").read_text())
    info |= {"id": name, "created": created, "updated": ended, "parent": parent, "group": group}
    (folder / name / "run.json").write_text(json.dumps(info))


def test_hours_of_trials_count_and_a_key_starts_them_once(tmp_path):
    add_run(tmp_path, SICK, "2026-01-01T00:00:00.000000+00:00", 7200)
    begun = []

    def begin(seconds):
        begun.append(seconds)
        return StartedRun(SICK, str(tmp_path / SICK), 1)

    before = now()
    trial = {"run": SICK, "checkpoint": None, "kind": "trial"}
    earlier = (datetime.fromisoformat(before) - timedelta(hours=1)).isoformat()
    add_run(tmp_path, "20260102-000000-CartPole-v1-ppo-0000", earlier, 1800, trial)  # somebody else's
    asked = {"steps": 4000, "begun": None, "key": "k", "runs_dir": tmp_path}
    first = start_within(Limits(hours=1), begin, **asked)
    assert (first.already_running, first.spent.hours, first.spent.steps) == (False, 0.0, 4000)
    for number in (1, 2):
        name = f"20260102-000000-CartPole-v1-ppo-000{number}"
        add_run(tmp_path, name, now(), 900, trial)
    again = start_within(Limits(hours=1), begin, **asked)
    assert (again.already_running, len(begun)) == (True, 1)
    asked["key"] = None
    start_within(Limits(hours=1), begin, **asked)  # a second one must not count the first one's trials again
    assert read_spent(Limits(), tmp_path).hours == 0.5
    with pytest.raises(UsageError, match=r"0\.4 hours of training within 24 hours are spent"):
        start_within(Limits(hours=0.4), begin, **asked)


def test_seeds_of_a_group_count_as_the_runs_that_they_are(tmp_path):
    def begin(seconds):
        return StartedRun("group:g-2seeds-00aa", str(tmp_path), 1)

    asked = {"steps": 6000, "begun": None, "at_once": 2, "runs_dir": tmp_path}
    with pytest.raises(UsageError, match=r"2 seeds would train at once; 1 run may\."):
        start_within(Limits(runs=1), begin, **asked)
    add_run(tmp_path, SICK, (datetime.now(UTC) - timedelta(hours=1)).isoformat(), 1800, group="g-2seeds-00aa")
    start_within(Limits(runs=2), begin, **asked)
    for number, group in enumerate(("g-2seeds-00aa", "g-2seeds-00aa", "other-2seeds-00bb")):
        add_run(tmp_path, f"20260102-000000-CartPole-v1-ppo-000{number}", now(), 900, group=group)
    spent = read_spent(Limits(), tmp_path)
    assert (spent.hours, spent.steps) == (0.5, 6000)
