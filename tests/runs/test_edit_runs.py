"""Names, tags and the deletion of runs."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gymsolve
from gymsolve.cli import main
from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.jobs.request import RunRequest
from gymsolve.jobs.seeds import group_place, judge_seeds, resume_tasks
from gymsolve.runs import Run, find_run, list_runs
from gymsolve.runs.groups import create_group
from gymsolve.runs.labelling import rename_run, tag_run
from gymsolve.runs.zip_files import pack_run, unpack_run

MakeRun = Callable[..., Run]


def ended(run: Run) -> Run:
    run.set_status("finished", reason="steps")
    return run


def ids(base: Path, query: str) -> set[str]:
    return {run.id for run in list_runs(base, query)}


def test_a_run_is_found_by_its_name_and_keeps_its_id(make_run: MakeRun, base: Path) -> None:
    first, second = make_run(), make_run()
    gymsolve.rename_run(first.id, "  steady   walker ", runs_dir=base)
    assert find_run("Steady Walker", base).id == first.id == find_run(first.id, base).id
    assert ids(base, "steady") == {first.id}
    assert [run["label"] for run in json.loads((base / "index.json").read_text())["runs"]] == [
        "",
        "steady walker",
    ]
    with pytest.raises(UsageError, match=f"run {first.id} has the name 'steady walker'"):
        rename_run(second, "Steady walker")
    with pytest.raises(UsageError, match="has the name"):
        rename_run(second, first.id)
    rename_run(first, "other")
    rename_run(second, "steady walker")
    assert find_run("steady walker", base).id == second.id
    rename_run(second, "")
    with pytest.raises(UnknownRunError):
        find_run("steady walker", base)


@pytest.mark.parametrize("label", ["a@b", "-x", "group:1", "../x", "a" * 81, "\x1b[31m"])
def test_names_that_mean_something_else_are_refused(make_run: MakeRun, label: str) -> None:
    run = make_run()
    with pytest.raises(UsageError):
        rename_run(run, label)
    assert run.summary().label == ""


def test_tags_are_added_removed_and_searched_for(make_run: MakeRun, base: Path) -> None:
    first, second = make_run(), make_run()
    assert gymsolve.tag_run(first, "Paper", "lr=0.1", runs_dir=base) == ("Paper", "lr=0.1")
    tag_run(second, ["paperback"])
    assert ids(base, "tag:paper") == {first.id}
    assert ids(base, "paper") == {first.id, second.id}
    assert ids(base, "tag:lr=0.1 status:running") == {first.id}
    assert tag_run(first, ["paper", "new"], ["LR=0.1"]).tags == ("Paper", "new")
    for wrong in ("two words", "a,b", "", "-x", "a" * 41):
        with pytest.raises(UsageError, match="cannot be a tag"):
            tag_run(first, [wrong])
    assert first.summary().tags == ["Paper", "new"]


def test_training_does_not_lose_a_name_given_meanwhile(make_run: MakeRun) -> None:
    run = make_run()
    rename_run(run, "kept")
    run.append_metrics({"env_steps": 10, "vec_steps": 10})
    ended(run)
    assert (run.summary().label, run.summary().status) == ("kept", "finished")


@pytest.mark.parametrize("content", ["{", "[]", '{"label": 3, "tags": []}', '{"label": "x", "tags": "y"}'])
def test_a_damaged_file_of_labels_hides_no_run(make_run: MakeRun, base: Path, content: str) -> None:
    run = make_run()
    (run.path / "labels.json").write_text(content)
    (found,) = list_runs(base)
    assert (found.status, found.label, found.tags) == ("running", "", [])
    rename_run(run, "again")
    assert find_run("again", base).id == run.id


def test_names_travel_with_a_run(make_run: MakeRun, base: Path, tmp_path: Path) -> None:
    run = ended(make_run())
    rename_run(run, "traveller")
    tag_run(run, ["far"])
    pack_run(run, tmp_path / "run.zip")
    there = unpack_run(tmp_path / "run.zip", tmp_path / "elsewhere")
    assert (there.summary().label, there.summary().tags) == ("traveller", ["far"])


def test_a_deleted_run_is_gone_and_remembered(make_run: MakeRun, base: Path) -> None:
    first, second = ended(make_run()), ended(make_run())
    assert gymsolve.delete_runs(second.id, runs_dir=base) == [second.id]
    assert not second.path.exists()
    assert not list(base.glob(".deleted-*"))
    assert [run.id for run in list_runs(base)] == [first.id]
    assert [run["id"] for run in json.loads((base / "index.json").read_text())["runs"]] == [first.id]
    assert find_run("@last", base).id == first.id
    with pytest.raises(UnknownRunError, match=f"run {second.id} was deleted on 20"):
        find_run(second.id, base)


def test_a_run_that_trains_is_never_deleted(make_run: MakeRun, base: Path) -> None:
    running, over = make_run(), ended(make_run())
    for words in ([running.id], [over, running], ["env:CartPole"], [running.path]):
        with pytest.raises(UsageError, match=f"run {running.id} is training"):
            gymsolve.delete_runs(*words, runs_dir=base)
    assert running.path.exists()
    assert over.path.exists()
    assert ids(base, "") == {running.id, over.id}


def test_trials_go_with_their_run_and_forks_stay(make_run: MakeRun, base: Path) -> None:
    origin = ended(make_run())
    trial = make_run(parent={"run": origin.id, "checkpoint": None, "kind": "trial"})
    fork = ended(make_run(parent={"run": origin.id, "checkpoint": "100"}))
    with pytest.raises(UsageError, match=f"run {trial.id} is training"):
        gymsolve.delete_runs(origin, runs_dir=base)
    ended(trial)
    assert set(gymsolve.delete_runs(origin, runs_dir=base)) == {origin.id, trial.id}
    assert [run.id for run in list_runs(base)] == [fork.id]


def test_a_damaged_run_can_be_deleted_once_nothing_writes_it(make_run: MakeRun, base: Path) -> None:
    run = ended(make_run())
    (run.path / "run.json").write_text("{")
    with pytest.raises(UsageError, match="may be training"):
        gymsolve.delete_runs(run.id, runs_dir=base)
    for path in run.path.iterdir():
        os.utime(path, (1e9, 1e9))
    gymsolve.delete_runs(run.id, runs_dir=base)
    assert not run.path.exists()


def test_a_link_is_not_followed(make_run: MakeRun, base: Path, tmp_path: Path) -> None:
    run = ended(make_run())
    moved = tmp_path / "elsewhere"
    shutil.move(run.path, moved)
    run.path.symlink_to(moved)
    with pytest.raises(UsageError, match="is a link"):
        gymsolve.delete_runs(run.id, runs_dir=base)
    assert (moved / "run.json").exists()


def test_a_group_says_which_seed_was_deleted_and_does_not_train_it_again(
    make_run: MakeRun, base: Path
) -> None:
    group = create_group(base, name="CartPole-v1:ppo", seeds=[3, 4], words=["CartPole-v1"])
    run = ended(make_run(group=group.id))  # its seed is 3
    gymsolve.delete_runs(group.ref, runs_dir=base)
    assert [seed.status for seed in judge_seeds(group).runs] == ["deleted", "not begun"]
    tasks = resume_tasks(group, RunRequest("resume", group.ref), group_place(group, base))
    assert list(tasks) == ["4"]
    assert not run.path.exists()


def told(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, Any]:
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_command_line_renames_tags_and_deletes(
    make_run: MakeRun, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = ended(make_run()), ended(make_run())
    here = ("--runs-dir", base)
    answer = {"run": run.id, "label": "good one", "tags": []}
    assert told(capsys, "runs", "rename", run.id, "good one", *here) == (0, answer)
    code, answers = told(capsys, "runs", "tag", "env:CartPole", "a", "b", *here)
    assert (code, {one["run"]: one["tags"] for one in answers}) == (
        0,
        {run.id: ["a", "b"], other.id: ["a", "b"]},
    )
    assert told(capsys, "runs", "tag", "good one", "--remove", "a", *here)[1][0]["tags"] == ["b"]
    assert main(["runs", *map(str, here)]) == 0
    printed = capsys.readouterr().out
    assert "good one" in printed
    assert "a b" in printed

    code, refused = told(capsys, "runs", "delete", "good one", *here)
    assert (code, refused["error"]["hint"]) == (2, "Look with --dry-run, then add --yes.")
    code, planned = told(capsys, "runs", "delete", "good one", "--dry-run", *here)
    assert (code, planned["runs"], run.path.exists()) == (0, [run.id], True)
    assert told(capsys, "runs", "delete", "good one", "--yes", *here)[1]["runs"] == [run.id]
    assert [one.id for one in list_runs(base)] == [other.id]
    code, refused = told(capsys, "runs", "show", run.id, *here)
    assert (code, "was deleted on" in refused["error"]["message"]) == (2, True)
