"""What is told of a run to whoever waits for it: also of trials of a remedy, which are other runs."""

import json
import os
import shutil
from pathlib import Path

import pytest

from gymsolve.runs.process import identity
from gymsolve.runs.run import now, open_run
from gymsolve.service.agent_usage import Entry, append_start
from gymsolve.service.run_changes import look_at, wait_for

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
RUN = "20260101-000000-CartPole-v1-ppo-aaaa"
NOBODY = 4_194_305  # above the highest id that a process can have


@pytest.fixture
def run(tmp_path):
    shutil.copytree(KEPT, tmp_path / RUN)
    info = json.loads((tmp_path / RUN / "run.json").read_text())
    (tmp_path / RUN / "run.json").write_text(json.dumps(info | {"id": RUN}))
    return open_run(tmp_path / RUN)


def ask_for_trials(run, pid):
    append_start(run.path.parent, Entry(now(), None, run.id, 10, None, process=identity(pid)))


def test_one_can_wait_for_the_trials_of_a_run_that_has_ended(run):
    folder = run.path.parent
    ask_for_trials(run, os.getpid())
    glances = []
    news = wait_for(RUN, "", 0.7, "end", folder, tell=glances.append)
    assert news.status == "solved"
    assert news.trying == "a remedy is tried"
    assert glances
    run.append_event("fix", env_steps=0, alert="kl_high", verdict="helped", chance=0.3, changes=[])
    assert wait_for(RUN, news.cursor, 30, "alert", folder).alerts[0]["verdict"] == "helped"


def test_trials_that_end_without_a_verdict_say_why(run):
    ask_for_trials(run, NOBODY)
    fault = {"error": {"message": "the environment broke.", "exit_code": 1}}
    (run.path / "fix.log").write_text(f"some words\n{json.dumps(fault)}\n")
    told = look_at(RUN, "", run.path.parent)
    assert (told.trying, told.trials_failed) == (None, "the environment broke.")
    (run.path / "fix.log").unlink()
    assert "is gone" in look_at(RUN, "", run.path.parent).trials_failed
    run.append_event("fix", env_steps=0, alert="kl_high", verdict="unclear", changes=[])
    assert look_at(RUN, "", run.path.parent).trials_failed is None
