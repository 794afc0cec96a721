"""Curricula while they train: moves, masters, resume, what is forgotten and what rehearsal keeps."""

import shutil

import numpy as np
import pytest

import gymsolve
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.stages import find_masters

WALKS = {
    "near": {"kwargs": {"length": 2}},
    "middle": {"kwargs": {"length": 3}},
    "far": {"kwargs": {"length": 6}},
}
CLIMB = {
    "env.tasks": WALKS,
    "env.num_envs": 8,
    "curriculum": {"stages": ["near", "middle", "far"], "promote_at": 0.7, "episodes": 40},
    "solved_at": 10.0,
    "steps": 3000,
    "eval.every": 1500,
    "eval.episodes": 6,
    "checkpoint.every": 512,
    "checkpoint.keep": None,
    "video.enabled": False,
    "algo.num_steps": 32,
    "algo.learning_rate": 3e-3,
    "algo.normalize_rewards": True,
}


def train(name, settings, folder):
    return gymsolve.train(f"stage_envs:{name}", {"algo.name": "ppo", **settings}, runs_dir=folder)


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    return train("Corridor-v0", CLIMB, tmp_path_factory.mktemp("climbed")).run


def moves(run):
    return [event for event in run.read_events().rows if event["kind"] in ("promoted", "demoted")]


def records(run):
    """Metrics without times."""
    rows, problems = run.read_metrics()
    assert not problems
    return [{k: v for k, v in row.items() if not k.startswith(("time/", "eval/seconds"))} for row in rows]


def test_it_climbs_and_says_so(climbed):
    told = [(one["kind"], one["stage"], one["next"]) for one in moves(climbed)]
    assert told == [("promoted", "near", "middle"), ("promoted", "middle", "far")]
    first = moves(climbed)[0]
    assert first["bound"] >= first["bar"] == 0.7
    assert first["achieved"] >= first["bound"]
    assert first["episodes"] == 40
    assert first["text"].startswith("stage near is done: return ")
    stages = [row["curriculum/stage"] for row in records(climbed) if "curriculum/stage" in row]
    assert stages == sorted(stages)
    assert stages[-1] == 3.0
    last = [row for row in records(climbed) if "curriculum/stage" in row][-1]
    assert [last[f"curriculum/share/{name}"] for name in WALKS] == [1 / 8, 1 / 8, 6 / 8]


def test_every_stage_leaves_a_master_that_can_be_named(climbed):
    masters = find_masters(climbed)
    ended = {one["stage"]: str(one["env_steps"]) for one in moves(climbed)}
    assert {name: masters[name] for name in ended} == ended
    policy = gymsolve.load_policy(f"{climbed.path}@stage-near")
    assert policy.checkpoint == ended["near"]
    with pytest.raises(gymsolve.errors.UnknownRunError, match="at the end of a stage 'nowhere'"):
        gymsolve.load_policy(f"{climbed.path}@stage-nowhere")


@pytest.mark.parametrize("which", ["before", "at", "between"])
def test_a_resume_across_a_promotion_changes_nothing(climbed, tmp_path, which):
    first, second = (one["env_steps"] for one in moves(climbed))
    copy = tmp_path / climbed.id
    names = list(map(int, list_checkpoints(climbed)))
    step = {
        "before": max(name for name in names if name < first),
        "at": first,
        "between": max(name for name in names if first < name < second),
    }[which]
    shutil.copytree(climbed.path, copy)
    resumed = gymsolve.resume(f"{copy}@{step}").run
    mine, theirs = load_checkpoint(resumed, "last"), load_checkpoint(climbed, "last")
    assert mine.meta["env_steps"] == theirs.meta["env_steps"]
    for kind in ("policy", "trainer"):
        left, right = getattr(mine, kind), getattr(theirs, kind)
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    assert mine.trainer_state["parts"]["curriculum"] == theirs.trainer_state["parts"]["curriculum"]
    for row, other in zip(records(resumed), records(climbed), strict=True):
        np.testing.assert_equal(row, other)
    assert find_masters(resumed) == find_masters(climbed)
    told = {(one["kind"], one["env_steps"]) for one in moves(resumed)}
    assert told == {(one["kind"], one["env_steps"]) for one in moves(climbed)}


LEVERS = {"left": {"kwargs": {"good": 0}}, "right": {"kwargs": {"good": 1}}}
PULL = {
    "env.tasks": LEVERS,
    "env.num_envs": 8,
    "algo.num_steps": 16,
    "algo.learning_rate": 3e-3,
    "net.hidden": [16],
    "net.tasks.input": True,
    "solved_at": 10.0,
    "steps": 8000,
    "eval.every": 2000,
    "video.enabled": False,
}


def pulled(folder, **curriculum):
    stages = [{"name": "left", "steps": 3000}, "right"]
    run = train(
        "Lever-v0", PULL | {"curriculum": {"stages": stages, "promote_at": None} | curriculum}, folder
    ).run
    return run
