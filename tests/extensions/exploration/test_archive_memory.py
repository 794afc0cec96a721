"""Policies that remember, and episodes that begin midway: what is remembered there, and what is learned."""

import tracemalloc

import numpy as np
import pytest
import torch
from exploring_envs import archive
from test_exploring import SMALL, configure
from torch.utils._python_dispatch import TorchDispatchMode

from gymsolve.algos.batch import Batch
from gymsolve.experience.agent import Agent, Prefix
from gymsolve.extensions.archive.imitation_batch import Teacher, prepare_lesson
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.nn import state_replay as recalling
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import NetConfig
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec
from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent

SEA = SMALL | {
    "env.num_envs": 4,
    "env.kwargs": {"size": 8},
    "algo.num_steps": 20,
    "net.hidden": [8],
    "explore": "go_explore",
    "explore.archive.true_starts": 0.2,
    "steps": 50_000,
    "solved_at": 0.9,
}
MEMORIES = {
    "lstm": {"net.memory": {"cell": "lstm", "size": 6, "inputs": ["action", "reward"]}},
    "gru-shared": {"net.memory": {"cell": "gru", "size": 6, "sequence": 5}, "net.shared": True},
}


def make(settings, env="AskedSea-v0"):
    return build_trainer(configure(f"exploring_envs:{env}:ppo", SEA | settings))


def step_through(policy, prefix):
    """Memory [1, M] after a way, one step after the other."""
    agent = Agent(policy, 1)
    for t in range(len(prefix.rewards)):
        agent.choose({key: rows[t : t + 1] for key, rows in prefix.obs.items()}, None, None)
        agent.override_action(prefix.actions[t : t + 1])
        agent.hear(prefix.rewards[t : t + 1])
    return agent.memory


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("inputs", [(), ("action",), ("action", "reward")])
def test_ways_are_remembered_as_if_they_had_been_gone_step_by_step(cell, shared, inputs):
    """Of several lengths at once, an empty one among them; from the start, and in two pieces."""
    obs = {"seen": ObsSpec("image", (1, 10, 10), "uint8"), "told": ObsSpec("vector", (3,), "float32")}
    spec = EnvSpec("x", obs, ActionSpec("multi_discrete", (2,), nvec=(2, 3), start=(0, 0)))
    memory = {"cell": cell, "size": 5, "inputs": inputs}
    net = NetConfig(hidden=(4,), cnn="small", memory=memory, shared=shared)
    rng = np.random.default_rng(0)
    policy = Policy(spec, net, rng)

    def draw(length):
        seen = rng.integers(0, 256, (length, 1, 10, 10), np.uint8)
        told = rng.normal(size=(length, 3)).astype(np.float32)
        actions = np.stack([rng.integers(0, 2, length), rng.integers(0, 3, length)], axis=1)
        return Prefix({"seen": seen, "told": told}, actions, rng.normal(size=length).astype(np.float32))

    prefixes = [draw(length) for length in (3, 0, 9, 1, 3, 7)]
    found = policy.remember(prefixes)
    expected = np.concatenate([step_through(policy, prefix) for prefix in prefixes])
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=2e-6)
    cut = [Prefix({k: v[:2] for k, v in w.obs.items()}, w.actions[:2], w.rewards[:2]) for w in prefixes]
    rest = [Prefix({k: v[2:] for k, v in w.obs.items()}, w.actions[2:], w.rewards[2:]) for w in prefixes]
    np.testing.assert_allclose(policy.remember(rest, policy.remember(cut)), expected, atol=2e-6)


class Sizes(TorchDispatchMode):
    """Bytes of the largest tensor that is made."""

    largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, torch.Tensor):
                self.largest = max(self.largest, one.numel() * one.element_size())
        return made


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_ways_of_many_copies_are_remembered_in_bounded_memory(cell, monkeypatch):
    """Pictures out of a log, in stretches of 1 or 5 steps, give what all at once gives."""
    spec = EnvSpec(
        "x", {"seen": ObsSpec("image", (3, 40, 40), "uint8")}, ActionSpec("discrete", (), nvec=(2,))
    )
    memory = {"cell": cell, "size": 5, "inputs": ("action", "reward")}
    rng = np.random.default_rng(0)
    policy = Policy(spec, NetConfig(hidden=(4,), cnn="small", memory=memory), rng)
    log, prefixes = Trajectories(spec), []
    for length in (60, 0, 1, 60, 37, 60, 59, 60):
        if length:
            before = np.array([NOWHERE, *(-2 - np.arange(length - 1))])
            columns = {"actions": rng.integers(0, 2, (length, 1)), "rewards": rng.normal(size=length)}
            seen = rng.integers(0, 256, (length, 3, 40, 40), np.uint8)
            rows = log.add(before, columns | {"cells": np.zeros(length, np.uint64)}, {"seen": seen})
        prefixes.append(rows if length else np.zeros(0, np.int64))

    def remember(room):
        monkeypatch.setattr("gymsolve.nn.state_replay._ROOM", room)
        monkeypatch.setattr("gymsolve.nn.state_replay._AT_ONCE", 8)
        tracemalloc.start()
        with Sizes() as sizes:
            found = policy.remember([log.read(prefix) for prefix in prefixes])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found, peak, sizes.largest

    with Sizes():
        policy.remember([log.read(prefixes[2])])  # whatever is imported with the first one takes room, too
    whole, most, largest = remember(2**40)
    assert np.abs(whole).max() > 0.1
    pictures, encoded = sum(map(len, prefixes)) * 3 * 40 * 40, 8 * 3 * 40 * 40 * 4
    assert most > 2 * pictures
    for steps in (1, 5):
        room = steps * 7 * recalling._row_bytes(policy)
        found, peak, made = remember(room)
        np.testing.assert_array_equal(found, whole)
        assert made <= max(room, encoded)
        assert peak < room + 200_000
        assert steps > 1 or (made < largest / 2 and peak < most / 10)


@pytest.mark.parametrize("recall", [512, 3])
@pytest.mark.parametrize("case", MEMORIES)
def test_after_a_jump_the_policy_remembers_the_way_there(case, recall):
    """The way that the log tells, with the weights of now; and ratios begin at 1, row by row."""
    trainer = make(MEMORIES[case] | {"explore.archive.recall": recall, "explore.archive.leave_after": 4})
    explorer, policy, jumps, left = archive(trainer), trainer.policy, 0, 0
    for _ in range(12):
        heads = list(explorer._under_way.heads)
        rollout = collect(trainer, Silent())
        origin = explorer._notes.origin
        for t, row in np.argwhere(origin[:-1] != NOWHERE).tolist():
            if t == 0 and origin[0, row] == heads[row]:
                continue  # it goes on
            prefix = explorer.log.read(explorer.log.prefix(int(origin[t, row]))[-recall:])
            np.testing.assert_allclose(rollout.memory[t, row], step_through(policy, prefix)[0], atol=2e-6)
            assert np.abs(rollout.memory[t, row]).max() > 1e-3
            jumps, left = jumps + 1, left + (t == 0)
        batch = Batch(policy, rollout, rollout.valid)
        now = policy.evaluate(batch.whole()).log_probs.detach().numpy()
        np.testing.assert_allclose(now, rollout.log_probs[rollout.valid], atol=3e-6)
        assert learn(trainer, rollout)["train/first_ratio"] == pytest.approx(1.0, abs=1e-6)
        count(trainer, rollout, 0.0)
    assert jumps > 20
    assert left > 2
    trainer.envs.close()


@pytest.mark.parametrize("case", MEMORIES)
def test_lessons_see_every_step_with_what_is_remembered_there(case):
    """Sequences of padded minibatches against the same ways, one step after the other."""
    trainer = make(MEMORIES[case] | {"explore.archive.learn_from": "rapid", "env.max_episode_steps": 7})
    for _ in range(6):
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
    (task,), log, policy = (
        archive(trainer).tasks,
        archive(trainer).log,
        trainer.policy,
    )
    assert any(one.truncated for one in task.best.kept)
    expected, values = {}, {}
    for one in task.best.kept:
        prefix, agent = log.prefix(one.row), Agent(policy, 1)
        steps = log.read(prefix)
        for t, row in enumerate(prefix.tolist()):
            seen = {key: rows[t : t + 1] for key, rows in steps.obs.items()}
            told = policy.consider(seen, None, steps.actions[t : t + 1], agent.memory)
            expected[row], values[row] = float(told.log_probs[0]), float(told.values[0])
            agent.choose(seen, None, None)
            agent.override_action(steps.actions[t : t + 1])
            agent.hear(steps.rewards[t : t + 1])
    teacher = Teacher(log, policy, None, 0.9, 512, 3)
    lesson = prepare_lesson([task], [1.0], teacher, np.random.default_rng(0))
    assert sorted(lesson.rows.tolist()) == sorted(expected)
    met = []
    for chosen, past in lesson.minibatches(np.random.default_rng(1)):
        rows = lesson.rows[chosen]
        actions = policy.tensors({"a": log.column("actions", rows)})["a"]
        minibatch = Minibatch(policy.tensors(log.seen(rows)), actions, None, actions, rows, past)
        evaluated = policy.evaluate(minibatch)
        found = evaluated.log_probs.detach().numpy()
        np.testing.assert_allclose(found, [expected[row] for row in rows.tolist()], atol=3e-6)
        met += rows.tolist()
    assert sorted(met) == sorted(expected)
    # What a trajectory that was cut might have earned beyond is what its last step seems to be worth.
    cut = max(one for one in task.best.kept if one.truncated)
    last = log.prefix(cut.row)[-1]
    reward = float(log.column("rewards", np.array([last]))[0])
    found = float(lesson.returns[lesson.rows == last][0])
    assert found == pytest.approx(reward + 0.9 * values[int(last)], abs=1e-5)
    trainer.envs.close()


def taught(tasks, recall):
    """A trainer that has seen some of two seas, and the lesson of what it found."""
    more = {"env.kwargs": {}, "env.tasks": tasks, "explore.archive.learn_from": "rapid"}
    trainer = make(MEMORIES["lstm"] | more, "DeepSea-v0")
    for _ in range(6):
        count(trainer, collect(trainer, Silent()), 0.0)
    teacher = Teacher(archive(trainer).log, trainer.policy, None, 0.9, recall, 3)
    return trainer, prepare_lesson(archive(trainer).tasks, [1.0, 1.0], teacher, np.random.default_rng(0))


def test_a_lesson_takes_some_stretches_of_long_ways(monkeypatch):
    """Each step at most once, in sequences that are no longer than they may be, and as many of every task."""
    tasks = {"left": {"kwargs": {"size": 12, "right": 0}}, "right": {"kwargs": {"size": 4}}}
    monkeypatch.setattr("gymsolve.extensions.archive.imitation_batch._ROWS", 40)
    trainer, lesson = taught(tasks, recall=5)
    assert len(set(lesson.rows.tolist())) == len(lesson.rows)
    assert all(20 <= size < 25 for size in lesson.counts)
    sequences = lesson.recalled.sequences
    assert sequences.lengths.max() == 3
    assert sequences.lengths.sum() == len(lesson.rows)
    before = archive(trainer).log.column("before", lesson.rows)
    for begin, length in zip(sequences.begins.tolist(), sequences.lengths.tolist(), strict=True):
        inside = slice(begin + 1, begin + length)
        assert before[inside].tolist() == lesson.rows[begin : begin + length - 1].tolist()
    trainer.envs.close()


def test_a_lesson_stays_small_however_much_is_recalled(monkeypatch):
    """Ways of 12 steps that are recalled as a whole, of which a task may teach 4."""
    tasks = {"left": {"kwargs": {"size": 12, "right": 0}}, "right": {"kwargs": {"size": 12}}}
    monkeypatch.setattr("gymsolve.extensions.archive.imitation_batch._ROWS", 8)
    trainer, lesson = taught(tasks, recall=512)
    assert all(4 <= size < 8 for size in lesson.counts)
    trainer.envs.close()
