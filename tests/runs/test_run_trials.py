"""Trials of other runs: never `@last`, never in the way of the runs that people mean."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gymsolve.errors import UnknownRunError
from gymsolve.runs import Run, find_run, list_runs, mark_best, select_runs

MakeRun = Callable[..., Run]
Save = Callable[..., Path]


def trial_of(parent: Run) -> dict[str, object]:
    return {"run": parent.id, "checkpoint": None, "kind": "trial"}


def test_a_trial_never_becomes_last_even_without_the_pointer(make_run: MakeRun, base: Path) -> None:
    own = make_run()
    make_run(parent=trial_of(own))
    assert find_run("@last", base) == own
    (base / "@last").unlink()
    assert find_run("@last", base) == own


def test_a_trial_never_is_the_best_and_does_not_make_names_ambiguous(
    make_run: MakeRun, base: Path, save: Save
) -> None:
    own = make_run()
    trial = make_run(parent=trial_of(own))
    for run, reward in ((own, 10.0), (trial, 90.0)):
        mark_best(run, save(run, 100, eval={"eval/mean_reward": reward}).name)
    assert find_run("@best:CartPole-v1", base) == own
    assert find_run("cartpole", base) == own
    assert find_run(trial.id, base) == trial


def test_lists_leave_trials_out_unless_they_are_wanted(make_run: MakeRun, base: Path) -> None:
    own = make_run()
    trial = make_run(parent=trial_of(own))
    assert [run.id for run in list_runs(base, trials=False)] == [own.id]
    assert [run.id for run in list_runs(base)] == [trial.id, own.id]


def test_trials_of_earlier_versions_are_known_by_their_command(make_run: MakeRun, base: Path) -> None:
    own = make_run()
    old = make_run(parent={"run": own.id, "checkpoint": None}, command=["gymsolve", "fix", own.id])
    assert old.summary().is_trial
    warm = make_run(parent={"run": own.id, "checkpoint": "100"})
    assert not warm.summary().is_trial


def test_a_run_of_an_earlier_version_has_no_group(make_run: MakeRun) -> None:
    run = make_run()
    stored = json.loads((run.path / "run.json").read_text())
    del stored["group"]
    (run.path / "run.json").write_text(json.dumps(stored))
    assert (run.summary().status, run.summary().group) == ("running", None)


def test_whoever_resumes_a_trial_makes_it_a_run_like_any_other(make_run: MakeRun, base: Path) -> None:
    own = make_run()
    trial = make_run(parent=trial_of(own))
    trial.set_status("finished")
    trial.claim(command=["gymsolve", "resume", trial.id])
    assert find_run("@last", base) == trial
    assert not trial.summary().is_trial
    assert trial.info()["parent"]["run"] == own.id


def test_runs_are_selected_by_name_and_by_the_words_of_lists(make_run: MakeRun, base: Path) -> None:
    first, second = make_run(group="pole-2seeds-aaaa"), make_run(group="pole-2seeds-aaaa")
    other = make_run("LunarLander-v3:ppo")
    make_run(parent=trial_of(first))
    second.set_status("solved")
    assert select_runs([first.id, other.id], base) == [first, other]
    assert select_runs(["env:CartPole"], base) == [first, second]
    assert select_runs(["cartpole"], base) == [first, second]  # part of several ids
    assert select_runs(["env:CartPole", "status:solved"], base) == [second]
    assert select_runs([other.id, "group:2seeds-aaaa"], base) == [other, first, second]
    assert select_runs(["env:CartPole"], base, 1) == [second]
    assert len(select_runs(["env:CartPole"], base, trials=True)) == 3
    with pytest.raises(UnknownRunError, match=r"no run in .* fits 'status:crashed cartpole'"):
        select_runs(["status:crashed", "cartpole"], base)
    with pytest.raises(UnknownRunError, match="is called 'pong'"):
        select_runs([first.id, "pong"], base)
