"""Go-Explore: what the archive keeps, draws and forgets, against written-out references and real runs."""

import io
import sys

import numpy as np
import pytest
from exploring_envs import archive
from PIL import Image
from test_exploring import NETS, SMALL, Saved, advance, assert_same, configure

from engines import needs_kernels
from gymsolve.envs.build import build_env
from gymsolve.envs.contract import Episode
from gymsolve.envs.families import find_family
from gymsolve.errors import ConfigError
from gymsolve.extensions.archive.cells import Archive, Place
from gymsolve.extensions.archive.contact_sheet import png
from gymsolve.extensions.archive.count_sampler import CountSampler
from gymsolve.extensions.archive.frame_cells import FrameCells, shrink
from gymsolve.extensions.archive.top_trajectories import TopTrajectories, rapid_rank
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.metrics.catalog import undeclared
from gymsolve.settings.config import EnvConfig
from gymsolve.settings.exploration import ArchiveConfig
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec
from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.restore import restore_trainer

SEA = SMALL | {"env.id": "exploring_envs:DeepSea-v0", "algo.name": "ppo", "net.hidden": [8], "steps": 2000}
REMEMBERS = {"net.memory": {"cell": "lstm", "size": 4, "sequence": 4, "inputs": ["action", "reward"]}}
PICTURES = {
    "net.cnn": "small",
    "net.hidden": [8],
    "env.frame_stack": 2,
    "env.wrappers": [{"atari": {"size": 42}}, {"clip_reward": {"sign": True}}],
    "env.max_episode_steps": 20,
    "env.num_envs": 2,
    "algo.num_steps": 8,
    "threads": 1,
    "explore.archive.leave_after": 4,
    "explore.archive.levels": 64,
}
RUNS = {
    "sea": ("exploring_envs:DeepSea-v0:ppo", SEA | {"explore.archive.rollouts": False, "solved_at": 0.9}),
    "rich": (
        "exploring_envs:Rich-v0:ppo",
        SMALL | {"net.cnn": "small", "net.hidden": [8], "env.frame_stack": 2, "steps": 2000},
    ),
    "car": (
        "MountainCar-v0:ppo",
        SMALL
        | {
            "env.max_episode_steps": 20,
            "algo.normalize_rewards": True,
            "explore.archive.learn_from": "rapid",
        },
    ),
    "hash": ("Acrobot-v1:ppo", SMALL | {"env.max_episode_steps": 20, "explore.archive.leave_after": 5}),
    "grid": ("MiniGrid-DoorKey-5x5-v0", SMALL | {"env.max_episode_steps": 12}),
    "masks": (
        "Taxi-v4:ppo",
        SMALL
        | NETS
        | {"env.max_episode_steps": 10, "explore.archive.true_starts": 0.8, "explore.repeat": 0.5}
        | {"explore.bonus": "episodic", "explore.cells": "state", "algo.num_steps": 20},
    ),
    "board": ("MinAtar/Freeway-v1:ppo", SMALL | {"env.max_episode_steps": 12, "net.hidden": [8]}),
    "bonus": ("CartPole-v1:ppo", SMALL | NETS | {"explore.bonus": "counts"}),
    "numpy": ("CartPole-v1:ppo", SMALL | {"explore.archive.learn_from": "nothing", "engine": "numpy"}),
    "tasks": (
        "CartPole-v1:ppo",
        SMALL
        | NETS
        | {
            "env.tasks": {"pole": {}, "acro": {"id": "Acrobot-v1", "max_episode_steps": 20, "share": 2}},
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
            "algo.normalize_rewards": True,
            "explore.archive.learn_from": "rapid",
            "explore.archive.leave_after": 5,
            "explore.bonus": "rnd",
        },
    ),
    "stages": (
        "exploring_envs:DeepSea-v0:ppo",
        SEA
        | {
            "env.num_envs": 6,
            "env.tasks": {"near": {"kwargs": {"size": 4}}, "far": {"kwargs": {"right": 0}}},
            "curriculum.stages": [{"name": "near", "steps": 200}, "far"],
            "solved_at": 0.9,
            "explore.archive.rollouts": "found",
        },
    ),
    "drawn": (
        "exploring_envs:Rich-v0:ppo",
        SMALL
        | {
            "env.num_envs": 5,
            "env.tasks": {"choices": {}, "others": {"max_episode_steps": 9}},
            "curriculum": {"stages": ["choices", "others"], "choice": "plr", "redraw": 1},
            "solved_at": 9.0,
            "net.cnn": "small",
            "net.hidden": [8],
            "env.frame_stack": 2,
            "steps": 2000,
        },
    ),
    "memory": (
        "exploring_envs:AskedSea-v0:ppo",
        SEA | REMEMBERS | {"explore.archive.rollouts": False, "explore.archive.recall": 6},
    ),
    "memory-tasks": (
        "exploring_envs:DeepSea-v0:ppo",
        SEA
        | {
            "env.num_envs": 4,
            "env.tasks": {"left": {"kwargs": {"size": 6, "right": 0}}, "right": {"kwargs": {"size": 5}}},
            "net.memory": {"cell": "gru", "size": 4},
            "net.shared": True,
            "explore.archive.learn_from": "rapid",
            "explore.archive.leave_after": 3,
        },
    ),
    "memory-stages": (
        "exploring_envs:Rich-v0:ppo",
        SMALL
        | REMEMBERS
        | {
            "env.tasks": {"near": {"max_episode_steps": 7}, "far": {}},
            "curriculum.stages": [{"name": "near", "steps": 90}, "far"],
            "solved_at": 99.0,
            "net.cnn": "small",
            "net.hidden": [8],
            "env.frame_stack": 2,
            "steps": 2000,
        },
    ),
    "atari": ("ALE/Breakout-v5:ppo", SMALL | PICTURES),
}


def make(case):
    name, settings = RUNS[case]
    return build_trainer(configure(name, {"explore.archive.capacity": 500} | settings))


def follow(log, prefixes):
    """Rows by way: a log as a plain table."""
    return {name: log.column("rewards", log.prefix(row)).tolist() for name, row in prefixes.items()}


# ------------------------------------------------------------------------------------------ the archive


def test_cells_are_drawn_by_the_inverse_of_how_often_they_were_seen():
    seen, rng = [0, 0, 1, 2, 3, 8, 15, 16, 100, 10_000], np.random.default_rng(0)
    rarely = CountSampler()
    for cell, visits in enumerate(seen):
        rarely.add()
        rarely.see(cell, visits)
    draws = np.bincount([rarely.draw(rng) for _ in range(40_000)], minlength=len(seen))
    weights = 1 / (np.array(seen) + 1)
    np.testing.assert_allclose(draws / draws.sum(), weights / weights.sum(), atol=0.006)
    again = CountSampler()
    again.load(rarely.arrays(), {})
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert [rarely.draw(one) for _ in range(50)] == [again.draw(other) for _ in range(50)]


def make_log():
    return Trajectories(
        EnvSpec(
            "x",
            {"obs": ObsSpec("vector", (1,), "float32")},
            ActionSpec("discrete", (), nvec=(2,), start=(0,)),
        )
    )


def add(log, before):
    """A step each; its reward is its number."""
    size = len(before)
    columns = {
        "actions": np.zeros((size, 1), np.int64),
        "rewards": np.arange(size, dtype=np.float32),
        "cells": np.zeros(size, np.uint64),
    }
    return log.add(np.array(before), columns, {"obs": np.zeros((size, 1), np.float32)})


def test_ways_share_their_beginnings_and_make_room_when_nobody_needs_them():
    log = make_log()
    trunk = add(log, [NOWHERE, -2, -3])  # 0 → 1 → 2
    fork = add(log, [trunk[1], -2])
    for row in (trunk[2], fork[1]):
        log.need(int(row))
    assert follow(log, {"one": trunk[2], "other": fork[1]}) == {"one": [0, 1, 2], "other": [0, 1, 0, 1]}
    log.release(int(trunk[2]))
    assert len(log) == 4  # what the other way needs stays
    log.release(int(fork[1]))
    assert len(log) == 0
    log.drop_unneeded(add(log, [NOWHERE, -2]))
    assert len(log) == 0
    rows = [int(row) for _ in range(700) for row in add(log, [NOWHERE, -2, -3])]
    assert len(set(rows)) == len(rows) == len(log)


def test_the_best_trajectories_stay_and_the_rest_makes_room():
    log, best = make_log(), TopTrajectories(2)
    rows = add(log, [NOWHERE] * 4).tolist()
    offered = zip((1.0, 3.0, 3.0, 2.0), (5, 9, 7, 1), rows, strict=True)
    for score, length, row in offered:
        if best.wants(score, length):
            best.put(score, score, length, row, False, log)
    assert sorted((one.score, -one.shortness) for one in best.kept) == [(3.0, 7), (3.0, 9)]
    log.drop_unneeded(np.array(rows))
    assert len(log) == 2
    assert rapid_rank(2.0, np.array([1, 1, 2, 3]), np.array([1, 1, 4, 0])) == pytest.approx(2.075875)


def test_a_better_way_replaces_another_and_visits_count_half():
    log, archive = make_log(), Archive(10)
    rows = add(log, [NOWHERE] * 2).tolist()
    assert archive.put(7, Place(1.0, 5, b"", b"", rows[0]), log)
    archive.see([7, 8], [3, 1])
    assert list(archive.rarely.seen) == [3]
    assert not archive.put(7, Place(1.0, 4, b"", b"", rows[1]), log)
    assert (list(archive.rarely.seen), len(archive), len(log)) == ([1], 1, 1)
    better = Place(1.0, 5, b"", b"")
    assert [better.is_better(*other) for other in ((0.9, 1), (1.0, 6), (1.0, 5), (1.1, 9))] == [
        *(True, True, False, False)
    ]


def test_cells_that_become_one_keep_the_best_way_and_all_visits():
    log, archive = make_log(), Archive(10)
    for key, row in enumerate(add(log, [NOWHERE] * 4).tolist()):
        archive.put(key, Place(float(key % 3), 1, b"", b"", row), log)
    archive.see([0, 1, 2, 3], [1, 2, 3, 4])
    archive.cut_again(np.array([5, 5, 5, 6], np.uint64), log)
    assert (archive.keys, [one.score for one in archive.places]) == ([5, 6], [2.0, 0.0])
    assert (list(archive.rarely.seen), len(log)) == ([6, 4], 2)


def test_frames_are_averaged_over_areas():
    frames = np.arange(24, dtype=np.uint8).reshape(1, 4, 6)
    np.testing.assert_allclose(
        shrink(frames, 3, 2)[0], frames[0].reshape(2, 2, 3, 2).mean(axis=(1, 3)), rtol=1e-6
    )
    uneven = shrink(frames, 4, 4)[0]  # areas 1.5 pixels wide
    np.testing.assert_allclose(uneven[0], [1 / 3, 5 / 3, 10 / 3, 14 / 3], rtol=1e-5)


@pytest.mark.parametrize("levels", [2, 8, 256])
def test_greys_are_cut_into_as_many_levels_as_are_asked_for(levels):
    """White is the lightest of them: neither one more, nor the darkest."""
    settings = ArchiveConfig(width=1, height=1, levels=levels)
    cells = FrameCells(settings, "obs", ObsSpec("image", (1, 2, 2), "uint8"), 1)
    flat = np.repeat(np.arange(256, dtype=np.uint8), 4).reshape(256, 1, 2, 2)
    assert len(np.unique(cells._of(flat[:, 0]))) == levels


def test_a_contact_sheet_is_a_picture_that_others_can_read():
    grey = np.arange(35, dtype=np.uint8).reshape(5, 7)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(grey)))), grey)


def operations(size):
    """Bytecodes that drawing, seeing and replacing take in an archive of this size."""
    log, archive, rng = make_log(), Archive(10**6), np.random.default_rng(0)
    for key in range(size):
        archive.put(key, Place(0.0, 1, b"", b""), log)
    archive.see(range(size), (key % 50 for key in range(size)))
    counted = [0]

    def tracer(frame, event, _):
        frame.f_trace_opcodes = True
        counted[0] += event == "opcode"
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        for key in range(200):
            archive.draw(rng)
            archive.see([key], [1])
            archive.put(key, Place(1.0, 1, b"", b""), log)
            archive.put(size + key, Place(0.0, 1, b"", b""), log)
            log.release(NOWHERE)
    finally:
        sys.settrace(before)
    return counted[0]


def test_the_cost_of_a_step_does_not_grow_with_the_archive():
    small, large = operations(1000), operations(30_000)
    assert small > 1000
    assert large < 1.1 * small


# ----------------------------------------------------------------------------------------- in a training


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=needs_kernels if case == "numpy" else ()) for case in RUNS]
)
def test_an_archive_is_resumed_and_taken_back_bit_for_bit(case):
    one, other = make(case), make(case)
    metrics = advance(one, 3)
    saved = Saved(one)
    assert restore_trainer(other, saved, fresh_optimizer=False) == []
    for trainer in (one, other):
        advance(trainer, 2)
    before = Saved(one)
    assert_same(before, Saved(other))
    assert all(len(task.archive) > 1 for task in archive(one).tasks)
    assert not undeclared(metrics)
    undo = one.rollback_point()
    learn(one, collect(one, Silent()))
    undo()
    assert_same(before, Saved(one), environments=False)
    for trainer in (one, other):
        trainer.envs.close()


def test_what_a_place_says_of_itself_is_what_its_way_and_its_snapshot_say():
    trainer = make("sea")
    advance(trainer, 12)
    explorer = archive(trainer)
    assert any(place.chosen for place in explorer.tasks[0].archive.places)
    midway = 0
    for key, place in zip(explorer.tasks[0].archive.keys, explorer.tasks[0].archive.places, strict=True):
        prefix = explorer.log.prefix(place.row)
        assert len(prefix) == place.length
        assert explorer.log.column("rewards", prefix).sum() == pytest.approx(place.score, abs=1e-6)
        assert explorer.log.seen(prefix[:1])["obs"].ravel().tolist() == [0]  # it begins where episodes do
        obs, _, lost = trainer.envs.jump([0], [place.unpack()], [1])
        assert not lost
        trainer.envs.reset([1, 2, 3])  # repeat the way: it leads to the same observation
        for action in explorer.log.column("actions", prefix)[:, 0].tolist():
            step = trainer.envs.step(np.full(3, action))
        assert step.obs["obs"][0].tolist() == obs["obs"][0].tolist()
        midway += place.length > 10
        assert explorer.tasks[0].archive.find(key) is place
    assert midway
    # Nothing is kept that nobody needs.
    needed = {
        row for place in explorer.tasks[0].archive.places for row in explorer.log.prefix(place.row).tolist()
    }
    needed |= {row for one in explorer.tasks[0].best.kept for row in explorer.log.prefix(one.row).tolist()}
    needed |= {row for head in explorer._under_way.heads for row in explorer.log.prefix(head).tolist()}
    assert len(needed) == len(explorer.log)
    trainer.envs.close()


@pytest.mark.parametrize("copies", [2, 4])
def test_an_archive_goes_on_with_another_number_of_copies(copies):
    """Ways of old and new episodes still begin at a reset, and are as long as their places say."""
    one, empty, (name, settings) = make("sea"), make("sea"), RUNS["sea"]
    other = build_trainer(configure(name, settings | {"env.num_envs": copies}))
    plain = build_trainer(configure(name, settings | {"explore.archive": None}))
    advance(one, 4)
    advance(plain, 1)  # its episodes stand midway
    notes = restore_trainer(other, Saved(one), fresh_optimizer=False)
    assert not any("archive" in note for note in notes)
    assert archive(other).tasks[0].archive.keys == archive(one).tasks[0].archive.keys
    (note,) = restore_trainer(empty, Saved(plain), fresh_optimizer=False)
    assert "the archive starts empty" in note
    for trainer in (empty, other):
        advance(trainer, 4)
        log = archive(trainer).log
        for place in archive(trainer).tasks[0].archive.places:
            prefix = log.prefix(place.row)
            assert len(prefix) == place.length
            assert log.seen(prefix[:1])["obs"].ravel().tolist() == [0]
    for trainer in (one, empty, other, plain):
        trainer.envs.close()


def test_a_game_of_minatar_tells_where_it_stands_and_not_how_late_it_is():
    state, told = find_family("MinAtar/Freeway-v1").state, {}
    env = build_env(EnvConfig.model_validate({"id": "MinAtar/Freeway-v1"}), "train").env
    for seed in (1, 1, 2):
        env.reset(seed=seed)
        told.setdefault(seed, []).append(state(env))
    assert told[1][0] == told[1][1] != told[2][0]
    cars, standing = env.unwrapped.game.env, state(env)
    cars.terminate_timer -= 1
    assert state(env) == standing
    cars.cars[0][0] += 1
    assert state(env) != standing


def test_episodes_from_the_archive_never_enter_returns():
    trainer = make("sea")
    counted: list[Episode] = []
    for _ in range(8):
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        counted += rollout.episodes
    assert 0 < sum(episode.jumped for episode in counted) < len(counted)
    assert trainer.window.total == sum(not episode.jumped for episode in counted)
    assert not any(episode.jumped for episode in trainer.window.recent)
    # A true start takes all twenty steps; from the archive the length counts the steps before it.
    assert {episode.length for episode in counted} == {20}
    trainer.envs.close()


def test_an_episode_that_is_left_is_over_for_bonuses_and_scales():
    """First visits counted by hand: what an episode has visited is forgotten when it is left, too."""
    settings = {"explore.bonus": "episodic", "explore.cells": "state", "explore.scale": False} | SMALL | NETS
    settings |= {"explore.archive.leave_after": 2, "algo.num_steps": 5, "algo.normalize_rewards": True}
    trainer = build_trainer(configure("FrozenLake-v1:ppo", settings))
    visited, left = [set() for _ in range(3)], 0
    for _ in range(12):
        rollout = collect(trainer, Silent())
        for row in rollout.anew:
            visited[row], left = set(), left + 1
        for t, told in enumerate(rollout.watched[:, :, 0].tolist()):
            paid = rollout.streams["explore"].rewards[t].tolist()
            assert paid == [float(cell not in visited[row]) for row, cell in enumerate(told)]
            for row, cell in enumerate(told):
                visited[row] = set() if rollout.done[t, row] else {*visited[row], cell}
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
    assert left > 5
    trainer.extensions["scaler"].running[:] = 1.0
    archive(trainer)._under_way.away[:] = 2
    rollout = collect(trainer, Silent())
    assert rollout.anew == [0, 1, 2]
    assert not rollout.rewards.any()
    assert not trainer.extensions["scaler"].running.any()
    trainer.envs.close()


def test_without_an_archive_nothing_differs():
    policies = []
    for settings in ({}, {"explore.archive": None}):
        trainer = build_trainer(configure("CartPole-v1:ppo", SMALL | settings))
        assert "archive" not in trainer.extensions
        assert trainer.collector.starts is None
        advance(trainer, 2)
        policies.append(Saved(trainer))
        trainer.envs.close()
    assert_same(*policies)


def test_an_archive_that_nobody_starts_from_learns_what_ppo_learns():
    """All starts true, and no lessons: places are only written down."""
    settings = {"explore.archive.true_starts": 1.0, "explore.archive.learn_from": "nothing"}
    policies = []
    for given in ({}, settings):
        trainer = build_trainer(configure("CartPole-v1:ppo", SMALL | given))
        advance(trainer, 3)
        policies.append(trainer.policy.arrays())
        trainer.envs.close()
    for key, array in policies[0].items():
        np.testing.assert_array_equal(array, policies[1][key], err_msg=key)


def first_treasure(size, seed, limit):
    """Steps until the treasure of the deep sea is found, nothing being learned before."""
    settings = {
        "env.num_envs": 4,
        "env.kwargs": {"size": size},
        "algo.num_steps": 20,
        "explore": "go_explore",
        "explore.archive.true_starts": 0.1,
        "explore.archive.learn_from": "nothing",
    }
    trainer = build_trainer(configure("exploring_envs:DeepSea-v0:ppo", SEA | settings | {"seed": seed}))
    while archive(trainer).tasks[0].best.score < 0.9 and trainer.counters.env_steps < limit:
        count(trainer, collect(trainer, Silent()), 0.0)
    trainer.envs.close()
    return trainer.counters.env_steps


def test_rollouts_may_teach_once_something_was_found():
    settings = {"env.kwargs": {"size": 4}, "explore.archive.rollouts": "found", "algo.num_steps": 4}
    trainer = build_trainer(configure("exploring_envs:DeepSea-v0:ppo", SEA | settings))
    weights, updated = trainer.policy.arrays(), []
    while len(updated) < 60 and not any(updated):
        had = bool(archive(trainer).tasks[0].best.kept)
        rollout = collect(trainer, Silent())
        updated.append("train/loss" in learn(trainer, rollout))
        assert updated[-1] == had
        if not had:
            for key, array in trainer.policy.arrays().items():
                np.testing.assert_array_equal(array, weights[key], err_msg=key)
        count(trainer, rollout, 0.0)
    assert not updated[0]
    assert updated[-1]
    trainer.envs.close()


def test_the_archive_finds_the_treasure_of_the_deep_sea():
    """Random play finds it once in 2^20 or 2^30 episodes.

    Seeds 0 to 9: after 2,400 to 6,720 steps, and 13,360 to 25,760.
    """
    for size, seed, limit in ((20, 0, 11_000), (20, 1, 11_000), (30, 0, 35_000)):
        assert first_treasure(size, seed, limit) < limit


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("CartPole-v1:ppo", {"explore": "go_explor"}, "'go_explor' is no bonus; .* write explore=go_explore"),
        (
            "CartPole-v1:reinforce",
            {"explore": "go_explore"},
            "explore.archive: reinforce learns from finished",
        ),
        (
            "CartPole-v1:ppo",
            {"explore": "go_explore", "env.backend": "envpool"},
            "the envpool backend.*Use sync",
        ),
        (
            "CartPole-v1:ppo",
            {"explore": "go_explore", "engine": "numpy"},
            "self_imitation has no NumPy version",
        ),
        ("CartPole-v1:ppo", {"explore.archive.cells": "frames"}, "has no picture.*cells=auto"),
        ("CartPole-v1:ppo", {"explore.archive.cells": "bins"}, "bins need numbers with bounds.*cells=hash"),
        ("CartPole-v1:ppo", {"explore.archive.cells": "state"}, "explore.archive.cells: .*full state.*=auto"),
        ("CartPole-v1:ppo", {"explore.archive.true_starts": 1.5}, "explore.archive.true_starts"),
        (
            "CartPole-v1:ppo",
            {"explore.archive.rollouts": False, "explore.archive.learn_from": "nothing"},
            "nothing else would be learned",
        ),
        (
            "exploring_envs:Restless-v0:ppo",
            SMALL | {"explore": "go_explore"},
            "cannot be put back.*explore=rnd",
        ),
    ],
)
def test_what_no_archive_can_serve_is_refused_with_the_fix(name, settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build_trainer(configure(name, settings))
