"""State of exploring under other settings: what still means the same goes on, and the rest is told."""

import numpy as np
import pytest
from exploring_envs import archive
from test_exploring import BONUSES, NETS, SMALL, Saved, advance, configure
from test_exploring import make as make_bonus
from test_go_explore import RUNS

from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.restore import restore_trainer

CAR = SMALL | {"env.max_episode_steps": 40, "explore": "go_explore", "explore.bins": 10}
SEA = SMALL | {"explore": "go_explore", "net.hidden": [8], "steps": 2000, "env.kwargs": {"size": 3}}
RICH = RUNS["rich"][1] | {"explore": "go_explore"}


def take_over(name, old, new, iterations=4):
    """Trainers with both settings, the second of them in the state of the first, and what it was told."""
    one, other = (build_trainer(configure(name, settings)) for settings in (old, old | new))
    advance(one, iterations)
    notes = restore_trainer(other, Saved(one), fresh_optimizer=False)
    return one, other, notes


def close(*trainers):
    for trainer in trainers:
        trainer.envs.close()


def rows_needed(explorer):
    """Rows of the log by who should need them, counted from scratch."""
    log = explorer.log
    needed = dict.fromkeys(range(log._used), 0)
    ends = [place.row for task in explorer.tasks for place in task.archive.places]
    ends += [one.row for task in explorer.tasks for one in task.best.kept]
    ends += [head for head in explorer._under_way.heads if head >= 0]
    for row in ends:
        needed[row] += 1
    live = {row for end in ends for row in log.prefix(end).tolist()}
    for row in live:
        before = int(log.column("before", np.array([row]))[0])
        if before >= 0:
            needed[before] += 1
    return {row: needed[row] for row in live}


def assert_log_is_whole(explorer):
    needed, log = rows_needed(explorer), explorer.log
    assert len(log) == len(needed)
    assert {row: int(log.column("needed", np.array([row]))[0]) for row in needed} == needed


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("MountainCar-v0:ppo", CAR, {"explore.bins": 20}),
        ("MountainCar-v0:ppo", CAR, {"explore.archive.cells": "hash"}),
        ("MountainCar-v0:ppo", CAR | {"explore.archive.cells": "hash"}, {"explore.bits": 12}),
        ("exploring_envs:Rich-v0:ppo", RICH, {"explore.entries": ["place"]}),
        (
            "exploring_envs:Rich-v0:ppo",
            RICH | {"explore.archive.cells": "hash", "explore.entries": ["place"]},
            {"explore.entries": ["kind"]},
        ),
        ("MountainCar-v0:ppo", CAR, {"explore.repeat": 0.5}),
    ],
    ids=["bins", "kind", "bits", "entries", "hashed-entries", "repeat"],
)
def test_places_of_other_settings_are_dropped_and_the_best_trajectories_stay(name, old, new):
    one, other, notes = take_over(name, old, new)
    (was,), (task,) = archive(one).tasks, archive(other).tasks
    assert len(was.archive) > 0
    assert any(f"drops its {len(was.archive)} places" in note for note in notes), notes
    assert len(task.archive) == 0
    assert task.best.to_json() == was.best.to_json()
    assert (task.score, task.env_steps) == (was.score, was.env_steps)
    assert_log_is_whole(archive(other))
    advance(other, 3)
    assert len(task.archive) > 0
    assert_log_is_whole(archive(other))
    again = build_trainer(configure(name, old | new))
    assert restore_trainer(again, Saved(other), fresh_optimizer=False) == []
    assert archive(again).tasks[0].archive.keys == task.archive.keys
    close(one, other, again)


@pytest.mark.parametrize(
    ("given", "new"),
    [
        ({"adapt": False}, {"width": 4, "levels": 4}),
        ({"adapt": True}, {"width": 4}),
        ({"adapt": True}, {"adapt": False}),
    ],
    ids=["smaller", "smaller-adapted", "not-adapted"],
)
def test_pictures_of_places_are_cut_as_the_settings_say_now(given, new, monkeypatch):
    monkeypatch.setattr("gymsolve.extensions.archive.frame_cells._FIRST", 64)
    old = RICH | {"explore.entries": ["screen"], "explore.archive.cells": "frames"}
    old |= {"explore.archive.width": 8, "explore.archive.height": 8, "explore.archive.levels": 8}
    old |= {f"explore.archive.{name}": value for name, value in given.items()}
    wanted = {"width": 8, "height": 8, "levels": 8} | new
    changed = {f"explore.archive.{name}": value for name, value in new.items()}
    one, other, notes = take_over("exploring_envs:Rich-v0:ppo", old, changed)
    (was,), (task,) = archive(one).tasks, archive(other).tasks
    if given["adapt"]:
        assert was.cells.cut != (8, 8, 8)
    assert task.cells.cut == (wanted["width"], wanted["height"], wanted["levels"])
    assert any("cut anew" in note for note in notes), notes
    pictures = [place.picture for place in task.archive.places]
    assert task.archive.keys == task.cells.again(pictures).tolist()
    expected = {key: [] for key in task.cells.again([place.picture for place in was.archive.places]).tolist()}
    assert set(task.archive.keys) == set(expected)
    assert_log_is_whole(archive(other))
    close(one, other)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("exploring_envs:DeepSea-v0:ppo", SEA, {"env.kwargs": {"size": 3, "pay": 2.0}}),
        ("MountainCar-v0:ppo", CAR, {"env.max_episode_steps": 60}),
        ("MountainCar-v0:ppo", CAR, {"env.wrappers": [{"clip_reward": {"sign": True}}]}),
    ],
    ids=["kwargs", "time", "wrappers"],
)
def test_an_archive_of_another_environment_starts_empty(name, old, new):
    one, other, notes = take_over(name, old, new)
    assert len(archive(one).tasks[0].archive) > 0
    assert any("archive starts empty: the environment" in note for note in notes), notes
    assert len(archive(other).tasks[0].archive) == len(archive(other).tasks[0].best.kept) == 0
    advance(other, 2)
    assert_log_is_whole(archive(other))
    close(one, other)


def test_what_does_not_decide_what_a_place_is_leaves_the_archive_alone():
    new = {"explore.archive.capacity": 77, "explore.archive.true_starts": 0.5, "env.num_envs": 2}
    one, other, notes = take_over("MountainCar-v0:ppo", CAR, new | {"explore.bits": 9, "algo.gamma": 0.9})
    assert notes == []
    assert archive(other).tasks[0].archive.keys == archive(one).tasks[0].archive.keys
    close(one, other)


def test_a_checkpoint_that_does_not_say_what_made_its_places_goes_on():
    one, other = (build_trainer(configure("MountainCar-v0:ppo", CAR)) for _ in range(2))
    advance(one, 4)
    saved = Saved(one)
    state = saved.trainer_state["parts"]["archive"]
    del state["made_by"], state["ranked_by"], state["bar"]
    state["cells"] = {}
    assert restore_trainer(other, saved, fresh_optimizer=False) == []
    assert archive(other).tasks[0].archive.keys == archive(one).tasks[0].archive.keys
    close(one, other)


def test_other_trajectories_are_kept_once_others_are_the_best():
    """RAPID keeps what explored, self-imitation what paid, and both as many as the settings say."""
    old = SEA | {"explore.archive.learn_from": "rapid", "solved_at": 0.9}
    new = {"explore.archive.learn_from": "self_imitation", "explore.archive.trajectories": 6}
    one, other, notes = take_over("exploring_envs:DeepSea-v0:ppo", old, new, iterations=12)
    (was,), (task,) = archive(one).tasks, archive(other).tasks
    paid = [
        kept
        for kept in was.best.kept
        if archive(one).log.column("rewards", archive(one).log.prefix(kept.row)).max() > 0
    ]
    assert len(paid) > 6
    assert len(paid) < len(was.best.kept)
    assert [kept.rank for kept in task.best.kept] == [kept.score for kept in task.best.kept]
    assert sorted(kept.row for kept in task.best.kept) == sorted(
        kept.row for kept in sorted(paid, key=lambda kept: (kept.score, kept.shortness, kept.age))[-6:]
    )
    assert any(f"6 of {len(was.best.kept)} best trajectories stay" in note for note in notes), notes
    assert_log_is_whole(archive(other))
    close(one, other)


def test_successes_below_another_bar_are_forgotten():
    old = SEA | {"solved_at": -1.0}
    one, other, _ = take_over("exploring_envs:DeepSea-v0:ppo", old, {"solved_at": 0.9}, iterations=6)
    assert archive(one).tasks[0].true_share > 0.3
    assert archive(other).tasks[0].true_share == 0.3
    close(one, other)


@pytest.mark.parametrize(
    ("name", "settings", "bonus", "new"),
    [
        ("MountainCar-v0:ppo", SMALL | NETS, "counts", {"explore.bins": 20}),
        ("MountainCar-v0:ppo", SMALL | NETS, "counts", {"explore.cells": "exact"}),
        ("exploring_envs:Rich-v0:ppo", BONUSES["counts-hash"][1] | {"explore.entries": ["place"]}, "counts",
         {"explore.entries": ["kind"]}),
        ("exploring_envs:Rich-v0:ppo", BONUSES["rarity"][1], "rarity",
         {"explore.events": ["-lives", "score"]}),
        ("CartPole-v1:ppo", SMALL | NETS, "rnd", {"explore.features": 5}),
        ("CartPole-v1:ppo", SMALL | NETS, "icm", {"explore.hidden": [9]}),
    ],
    ids=["bins", "cells", "entries", "events", "features", "hidden"],
)  # fmt: skip
def test_a_bonus_that_was_paid_by_other_settings_starts_afresh(name, settings, bonus, new):
    one, other, blank = (make_bonus(name, settings | more, bonus) for more in ({}, new, new))
    advance(one, 2)
    notes = restore_trainer(other, Saved(one), fresh_optimizer=False)
    assert any("the bonus for exploring starts afresh" in note for note in notes), notes
    found, expected = (trainer.extensions["explore"] for trainer in (other, blank))
    assert found.state() == expected.state()
    assert found.arrays().keys() == expected.arrays().keys()
    for key, array in expected.arrays().items():
        np.testing.assert_array_equal(found.arrays()[key], array, err_msg=key)
    advance(other, 1)
    close(one, other, blank)


@pytest.mark.parametrize("bonus", ["episodic", "noveld"])
def test_other_cells_let_episodes_under_way_forget_where_they_were_and_nothing_else(bonus):
    settings = SMALL | NETS | {"explore.bins": 10}
    one, other = (
        make_bonus("MountainCar-v0:ppo", settings | more, bonus) for more in ({}, {"explore.bins": 20})
    )
    advance(one, 2)
    notes = restore_trainer(other, Saved(one), fresh_optimizer=False)
    assert any("where they have been" in note for note in notes), notes
    was, found = (trainer.extensions["explore"].arrays() for trainer in (one, other))
    assert len(was["novelty/visited"]) > 0 == len(found["novelty/visited"])
    for key in was:
        if "visited" not in key:
            np.testing.assert_array_equal(found[key], was[key], err_msg=key)
    advance(other, 1)
    close(one, other)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("HalfCheetah-v5:ppo", {"env.backend": "sync"}),
        ("MountainCar-v0:ppo", {}),
        ("MountainCar-v0:ppo", {"env.backend": "sync"}),
    ],
    ids=["mujoco", "compiled", "replayed"],
)
def test_episodes_that_go_on_do_so_by_the_time_limit_of_now(name, more):
    """A native snapshot holds what wrappers were set to: it must not bring that back."""
    old = SMALL | more | {"env.max_episode_steps": 80, "threads": 1}
    one, other, _ = take_over(name, old, {"env.max_episode_steps": 28}, iterations=1)
    lengths = []
    for _ in range(6):
        rollout = collect(other, Silent())
        learn(other, rollout)
        count(other, rollout, 0.0)
        lengths += [episode.length for episode in rollout.episodes]
    assert len(lengths) > 2
    assert max(lengths) <= 28
    close(one, other)
