"""An archive of several tasks, or stages: what is kept apart, what is judged, and what is learned of each."""

import numpy as np
import pytest
from exploring_envs import archive
from test_exploring import SMALL, advance, configure

from gymsolve.envs.make import make_joined
from gymsolve.errors import ConfigError
from gymsolve.extensions.archive.imitation import Imitation
from gymsolve.extensions.archive.imitation_batch import Teacher, prepare_lesson
from gymsolve.extensions.exploration.needs import training_env
from gymsolve.metrics.catalog import undeclared
from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.stages import advance_stage

SEAS = SMALL | {
    "env.num_envs": 4,
    "env.tasks": {"right": {"kwargs": {"right": 1}}, "left": {"kwargs": {"right": 0}}},
    "algo.num_steps": 20,
    "net.hidden": [8],
    "explore": "go_explore",
    "explore.archive.true_starts": 0.1,
    "steps": 50_000,
    "solved_at": 0.9,
}


def make(settings, env="DeepSea-v0"):
    return build_trainer(configure(f"exploring_envs:{env}:ppo", SEAS | settings))


@pytest.fixture(scope="module")
def dived():
    """Two seas of 12 rows that look alike, whose treasures need opposite actions, until both are found."""
    trainer = make({"env.kwargs": {"size": 12}, "explore.archive.learn_from": "nothing"})
    while min(task.score for task in archive(trainer).tasks) < 0.9 and trainer.counters.env_steps < 20_000:
        count(trainer, collect(trainer, Silent()), 0.0)
    yield trainer
    trainer.envs.close()


def test_treasures_that_contradict_each_other_are_both_found(dived):
    """Random play finds one of them once in 4,096 episodes. Seeds 0 to 9: 2,240 to 3,120 steps."""
    assert dived.counters.env_steps < 20_000
    log = archive(dived).log
    for task, action in zip(archive(dived).tasks, (1, 0), strict=True):
        prefix = log.prefix(max(task.best.kept).row)
        assert log.column("actions", prefix).ravel().tolist() == [action] * 12


def test_places_that_look_alike_are_kept_apart(dived):
    right, left = archive(dived).tasks
    both = right.archive.index.keys() & left.archive.index.keys()
    assert len(both) > 10  # the same numbers, since the same was seen
    log, mine = archive(dived).log, dived.envs.rows
    for task in (right, left):
        other = mine["left" if task is right else "right"][0]
        for place in task.archive.places:
            prefix = log.prefix(place.row)
            assert set(log.seen(prefix)["task"].tolist()) == {task.number}
            assert dived.envs.jump([other], [place.unpack()], [1])[2] == [other]
    for row, head in enumerate(archive(dived)._under_way.heads):
        numbers = set(log.seen(log.prefix(head))["task"].tolist())
        assert numbers <= {0 if row in mine["right"] else 1}


def test_what_is_restored_is_what_repeating_the_way_gives(dived):
    """Bit for bit, and so is what follows."""
    log = archive(dived).log
    for task in archive(dived).tasks:
        row = dived.envs.rows[task.name][0]
        again = make_joined(training_env(dived.config), "train", num_envs=1, task=task.name)
        for place in task.archive.places[:: max(1, len(task.archive) // 8)]:
            obs, _, lost = dived.envs.jump([row], [place.unpack()], [1])
            assert not lost
            again.reset([1])
            for action in log.column("actions", log.prefix(place.row))[:, 0].tolist():
                step = again.step(np.array([action]))
            assert {key: one[0].tolist() for key, one in step.obs.items()} == {
                key: one[row].tolist() for key, one in obs.items()
            }
            for action in (1, 0, 1):
                one, other = dived.envs.step(np.full(4, action)), again.step(np.array([action]))
                assert one.rewards[row] == other.rewards[0]
                assert one.terminated[row] == other.terminated[0]
                for key, shown in one.obs.items():
                    np.testing.assert_array_equal(shown[row], other.obs[key][0])
        again.close()


def test_cells_of_several_tasks_add_up():
    trainer = make({"env.tasks": {"right": {"kwargs": {"size": 4}}, "left": {"kwargs": {"size": 6}}}})
    metrics = advance(trainer, 4)
    assert not undeclared(metrics)
    tasks = {task.name: task for task in archive(trainer).tasks}
    sizes = {name: float(len(task.archive)) for name, task in tasks.items()}
    assert sizes["left"] > sizes["right"] > 5
    assert {name: metrics[f"archive_cells/{name}"] for name in tasks} == sizes
    assert metrics["archive/cells"] == sum(sizes.values())
    assert metrics["archive/best_score"] == np.mean([metrics[f"archive_best_score/{name}"] for name in tasks])
    trainer.envs.close()


def test_each_task_has_its_own_threshold_and_its_own_share_of_true_starts():
    bars = {"right": {"kwargs": {"right": 1}, "solved_at": -1.0}, "left": {"kwargs": {"right": 0}}}
    trainer = make({"env.kwargs": {"size": 8}, "env.tasks": bars, "explore.archive.learn_from": "nothing"})
    began = {"right": [], "left": []}
    for _ in range(30):
        rollout = collect(trainer, Silent())
        for episode in rollout.episodes:
            began[episode.task].append(not episode.jumped)
        count(trainer, rollout, 0.0)
    right, left = archive(trainer).tasks
    assert right.true_share == 1.0  # every episode is a success, so the archive is left alone
    assert 0.1 <= left.true_share < 0.4
    late = {name: np.mean(told[-40:]) for name, told in began.items()}
    assert late["right"] == 1.0
    assert late["left"] < 0.5
    trainer.envs.close()


def test_returns_and_promotion_hear_of_true_starts_alone():
    """A stage is left by true starts, be those from the archive better or worse."""
    tasks = {"near": {"kwargs": {"size": 5}}, "far": {"kwargs": {"size": 6, "right": 0}}}
    stages = {"stages": ["near", "far"], "promote_at": 0.5, "episodes": 60}
    trainer = make({"env.tasks": tasks, "curriculum": stages, "explore.archive.rollouts": False})
    heard, jumped, before = [], 0, 0
    for _ in range(200):
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        near = [episode for episode in rollout.episodes if episode.task == "near"]
        heard += [episode.raw_return for episode in near if not episode.jumped]
        jumped += sum(episode.jumped for episode in near)
        moved = advance_stage(trainer, rollout)
        if moved is not None:
            break
        achieved = trainer.stages.ladder.seen(0)
        assert achieved == (min(60, len(heard)), pytest.approx(np.mean(heard[-60:])))
        assert trainer.window.tasks["near"].total == len(heard)
        assert not len(archive(trainer).tasks[1].archive), "a stage that is not played yet has no places"
        before = len(archive(trainer).tasks[0].archive)
    assert moved is not None
    assert (moved.kind, moved.facts["episodes"]) == ("promoted", 60)
    assert moved.facts["achieved"] == pytest.approx(np.mean(heard[-60:]))
    assert jumped > 20
    # The copies of the next stage begin there, and the archive of the stage before stays.
    rows = trainer.envs.rows["far"]
    assert [archive(trainer)._under_way.heads[row] for row in rows] == [-1] * len(rows)
    assert len(archive(trainer).tasks[0].archive) >= before > 5
    advance(trainer, 2)
    far = archive(trainer).tasks[1]
    assert len(far.archive) > 3
    for place in far.archive.places:
        prefix = archive(trainer).log.prefix(place.row)
        assert set(archive(trainer).log.seen(prefix)["task"].tolist()) == {1}
        assert len(prefix) == place.length
    trainer.envs.close()


def test_a_stage_that_comes_back_finds_its_archive():
    tasks = {"near": {"kwargs": {"size": 5}}, "far": {"kwargs": {"size": 6, "right": 0}}}
    stages = {"stages": [{"name": "near", "steps": 300}, "far"], "rehearsal": 0.5, "demote_below": 0.9}
    settings = {
        "curriculum": stages | {"promote_at": 0.5, "episodes": 4},
        "explore.archive.learn_from": "nothing",
    }
    trainer = make({"env.tasks": tasks, **settings})
    told, sizes = [], []
    for _ in range(40):
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        moved = advance_stage(trainer, rollout)
        told += [moved.kind] if moved is not None else []
        sizes.append([len(task.archive) for task in archive(trainer).tasks])
    assert told[:3] == ["promoted", "demoted", "promoted"]
    assert all(np.diff(np.array(sizes), axis=0).min(axis=0) >= 0)
    explorer = archive(trainer)
    for task in explorer.tasks:  # no way leads from one stage into another
        for place in task.archive.places:
            prefix = explorer.log.prefix(place.row)
            assert len(prefix) == place.length
            assert set(explorer.log.seen(prefix)["task"].tolist()) == {task.number}
    # Whatever is kept is needed by somebody: nothing of the episodes that were left stays behind.
    ends = [place.row for task in explorer.tasks for place in task.archive.places]
    ends += [one.row for task in explorer.tasks for one in task.best.kept] + explorer._under_way.heads
    assert len({row for end in ends for row in explorer.log.prefix(end).tolist()}) == len(explorer.log)
    trainer.envs.close()


def test_full_states_ask_for_no_entries():
    """One task has the entry that counts; the other is told apart by its full state, which has none."""
    tasks = {"door": {"id": "MiniGrid-Empty-5x5-v0"}, "lake": {"id": "FrozenLake-v1"}}
    more = {"env.tasks": tasks, "net.cnn": "small", "explore.archive.cells": "state", "env.num_envs": 2}
    trainer = make(more | {"explore.entries": ["direction"]})
    advance(trainer, 2)
    assert all(len(task.archive) > 1 for task in archive(trainer).tasks)
    trainer.envs.close()


# --------------------------------------------------------------------------------------------- lessons


@pytest.fixture(scope="module")
def unequal():
    """The same sea twice, in one of which everything pays a thousand times as much, and a long one."""
    tasks = {
        "poor": {"kwargs": {"size": 4}},
        "rich": {"kwargs": {"size": 4, "pay": 1000.0}},
        "long": {"kwargs": {"size": 10}},
    }
    settings = {"env.tasks": tasks, "env.num_envs": 6, "explore.archive.rollouts": False, "solved_at": 1e9}
    trainer = make(settings | {"algo.normalize_rewards": True, "net.normalize_values": "popart"})
    while not all(task.best.kept for task in archive(trainer).tasks) and trainer.counters.env_steps < 20_000:
        count(trainer, collect(trainer, Silent()), 0.0)
    yield trainer
    trainer.envs.close()


def teach(trainer, scaler):
    explorer = archive(trainer)
    teacher, rng = Teacher(explorer.log, trainer.policy, scaler, 0.9, 1, 1), np.random.default_rng(0)
    return prepare_lesson(explorer.tasks, [1.0, 1.0, 1.0], teacher, rng), explorer.log


def test_no_task_drowns_another_in_lessons(unequal):
    lesson, log = teach(unequal, None)
    numbers = log.seen(lesson.rows)["task"]
    assert np.bincount(numbers).tolist() == list(lesson.counts)
    assert lesson.counts[0] > 2 * lesson.counts[2]
    # Every task has the same say, however many steps it has and whatever it pays.
    shares = [lesson.weights[numbers == task].sum() for task in range(3)]
    np.testing.assert_allclose(shares, lesson.weights.sum() / 3, rtol=1e-5)
    assert lesson.weights.mean() == pytest.approx(1.0)
    paid = [np.abs(lesson.returns / lesson.units)[numbers == task].max() for task in range(3)]
    assert paid == [1.0, 1.0, 1.0]
    assert lesson.units[numbers == 1][0] == pytest.approx(1000 * lesson.units[numbers == 0][0], rel=1e-5)


def test_what_a_task_teaches_does_not_depend_on_what_others_have_found(unequal):
    explorer, all_of_them = archive(unequal), teach(unequal, unequal.extensions["scaler"])[0]
    teacher = Teacher(explorer.log, unequal.policy, unequal.extensions["scaler"], 0.9, 1, 1)
    for task in explorer.tasks:
        alone = prepare_lesson([task], [1.0], teacher, np.random.default_rng(0))
        mine = np.isin(all_of_them.rows, alone.rows)
        np.testing.assert_array_equal(all_of_them.rows[mine], alone.rows)
        np.testing.assert_array_equal(all_of_them.returns[mine], alone.returns)
        np.testing.assert_array_equal(all_of_them.units[mine], alone.units)


def test_returns_of_lessons_are_scaled_as_rewards_of_their_task_are(unequal):
    """Written out: the best trajectory of each task, discounted from its end, with its own factor."""
    lesson, log = teach(unequal, unequal.extensions["scaler"])
    factors = unequal.extensions["scaler"].factors
    assert factors[0] > 10 * factors[1]
    for task in archive(unequal).tasks:
        best = max(task.best.kept)
        rows, total = log.prefix(best.row), 0.0
        for row in rows[::-1].tolist():
            reward = float(log.column("rewards", np.array([row]))[0]) * factors[task.number]
            total = np.clip(reward, -10.0, 10.0) + 0.9 * total
        assert lesson.returns[lesson.rows == rows[0]][0] == pytest.approx(total, rel=1e-5)


def test_a_pass_takes_as_many_steps_of_every_task(unequal, monkeypatch):
    monkeypatch.setattr("gymsolve.extensions.archive.imitation_batch._ROWS", 9)
    lesson, log = teach(unequal, None)
    chosen = np.concatenate([places for places, _ in lesson.minibatches(np.random.default_rng(0))])
    numbers = log.seen(lesson.rows[chosen])["task"]
    assert np.bincount(numbers).tolist() == [3, 3, 3]
    assert len(set(chosen.tolist())) == 9
    # Steps that are left out say nothing, and weigh nothing: the others are 3 of each task.
    np.testing.assert_allclose(lesson.weights[chosen], 1.0, rtol=1e-6)


def test_rollouts_teach_once_every_task_that_is_played_has_found_something(unequal):
    settings = archive(unequal).settings.model_copy(update={"rollouts": "found"})
    explorer, lessons = archive(unequal), archive(unequal).lessons
    assert isinstance(lessons, Imitation)
    lessons.settings = settings
    assert not lessons.instead
    kept, explorer.tasks[2].best.kept = explorer.tasks[2].best.kept, []
    assert lessons.instead
    assert lessons.is_due  # the others teach meanwhile
    explorer.tasks[2].best.kept, lessons.settings = kept, explorer.settings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"env.tasks": {"sea": {}, "restless": {"id": "exploring_envs:Restless-v0"}}},
            "cannot be joined",
        ),
        (
            {"env.tasks": {"right": {}, "left": {"id": "exploring_envs:Fickle-v0"}}},
            "explore.archive: left cannot be put back.*explore=rnd",
        ),
        (
            {
                "env.tasks": {"right": {}, "left": {"id": "exploring_envs:Fickle-v0"}},
                "curriculum.stages": ["right", "left"],
            },
            "explore.archive: left cannot be put back.*explore=rnd",
        ),
        (
            {"explore.archive.cells": "state"},
            "explore.archive.cells: .*full state.*cells=auto",
        ),
    ],
)
def test_tasks_that_no_archive_can_serve_are_refused_with_the_fix(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make(settings)
