"""Frames that are stored once give back the very stacks that were put in, and change nothing in learning."""

import weakref
from copy import deepcopy

import numpy as np
import pytest
import torch

from gymsolve.envs.make import make_envs
from gymsolve.experience.collect import Collector
from gymsolve.experience.credit import actor_critic_credit
from gymsolve.experience.frames import Frames
from gymsolve.experience.learning import flatten_obs
from gymsolve.experience.statistics import first_observations, observed_range
from gymsolve.experience.table import rollout_columns
from gymsolve.nn.convolutions import CompiledStack
from gymsolve.settings.config import EnvConfig, PPOConfig
from gymsolve.spec import ObsSpec
from probes import START, RandomEnvs, make_algorithm, make_policy, make_spec

STEPS, ENVS, STACK, SHAPE = 12, 3, 4, (2, 5, 6)


def stream(rng, *, ends=0.2):
    """Stacks [T, N, k·C, H, W] of environments whose episodes begin with one frame in all places."""
    frames = rng.integers(0, 256, (STEPS, ENVS, *SHAPE), dtype=np.uint8)
    stacks = np.empty((STEPS, ENVS, STACK, *SHAPE), np.uint8)
    for t in range(STEPS):
        for n in range(ENVS):
            if t == 0 or rng.random() < ends:
                stacks[t, n] = frames[t, n]
            else:
                stacks[t, n] = [*stacks[t - 1, n, 1:], frames[t, n]]
    return stacks.reshape(STEPS, ENVS, STACK * SHAPE[0], *SHAPE[1:])


class StackedEnvs(RandomEnvs):
    """Random pictures, stacked: a step gives one new frame, and now and then four."""

    def reset(self, seeds):
        self._looks = 0
        return super().reset(seeds)

    def _look(self):
        drawn = super()._look()
        self._looks += 1
        if self._looks % 2 == 1 and self._looks > 1:  # what comes in between are ends of episodes
            return drawn
        if self._looks > 1:
            goes_on = self._rng.random(self.num_envs) < 0.8
            drawn["obs"][goes_on, :-1] = self._stack[goes_on, 1:]
        self._stack = drawn["obs"]
        return drawn


def store(stacks):
    kept = Frames(*stacks.shape[:2], stacks.shape[2:], str(stacks.dtype), STACK)
    for t, row in enumerate(stacks):
        kept[t] = row
    return kept


@pytest.mark.parametrize("ends", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_stacks_come_back_as_they_were(ends, seed):
    rng = np.random.default_rng(seed)
    stacks = stream(rng, ends=ends)
    kept = store(stacks)
    np.testing.assert_array_equal(np.asarray(kept), stacks)
    rows = rng.permutation(STEPS * ENVS)[:17]
    np.testing.assert_array_equal(kept.take(rows), stacks.reshape(-1, *stacks.shape[2:])[rows])
    for t in range(STEPS):
        np.testing.assert_array_equal(kept[t], stacks[t])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_stacks_that_share_nothing_come_back_too(dtype):
    stacks = np.random.default_rng(0).integers(0, 256, (STEPS, ENVS, 8, 5, 6)).astype(dtype)
    if dtype == np.float32:
        stacks[3:5] = np.nan
    kept = store(stacks)
    np.testing.assert_array_equal(np.asarray(kept), stacks)
    assert len(kept.pool) == STEPS * ENVS * STACK


def test_every_frame_of_an_episode_is_stored_once():
    kept = store(stream(np.random.default_rng(0), ends=0.0))
    assert len(kept.pool) == ENVS * (STACK - 1) + STEPS * ENVS  # those before the first step, and the steps


def test_a_second_rollout_leaves_nothing_of_the_first():
    rng = np.random.default_rng(0)
    kept, later = store(stream(rng, ends=1.0)), stream(rng, ends=0.0)
    for t, row in enumerate(later):
        kept[t] = row
    np.testing.assert_array_equal(np.asarray(kept), later)
    assert len(kept.pool) == ENVS * (STACK - 1) + STEPS * ENVS


@pytest.mark.parametrize("next_step", [False, True])
def test_a_rollout_of_frames_says_what_a_rollout_of_arrays_says(next_step):
    spec = make_spec(obs={"obs": ObsSpec("image", (4, 36, 36), "uint8")})
    policy = make_policy(spec, cnn="small")
    plain, framed = (
        Collector(RandomEnvs(spec, next_step=next_step), policy, 12, 1, frame_stack=stack).collect(
            np.random.default_rng(0)
        )
        for stack in (1, 4)
    )
    assert isinstance(framed.obs["obs"], Frames)
    rows = np.array([3, 0, 17])
    for one, other in (
        (plain.seen(rows), framed.seen(rows)),
        (flatten_obs(plain, plain.valid), flatten_obs(framed, framed.valid)),
        (observed_range(plain)[0], observed_range(framed)[0]),
        (first_observations(plain), first_observations(framed)),
    ):
        np.testing.assert_array_equal(one["obs"], other["obs"])
    told, told_plain = (
        rollout_columns(one, actor_critic_credit(one, PPOConfig(), START)) for one in (framed, plain)
    )
    assert told.keys() == told_plain.keys()


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("cnn", ["small", "impala"])
@pytest.mark.parametrize("name", ["ppo", "a2c", "reinforce"])
def test_learning_from_frames_is_learning_from_arrays(name, cnn, batch_norm):
    spec = make_spec(obs={"obs": ObsSpec("image", (4, 36, 36), "uint8")})
    learned = []
    for stack in (1, 4):
        policy = make_policy(spec, cnn=cnn, batch_norm=batch_norm)
        rollout = Collector(StackedEnvs(spec, next_step=True), policy, 24, 1, frame_stack=stack).collect(
            np.random.default_rng(0)
        )
        if stack == 4:
            assert 96 < len(rollout.obs["obs"].pool) < 3 * 96  # of 24 × 4 steps: many frames are shared
        algorithm = make_algorithm(name, policy, learning_rate=0.01)
        metrics = algorithm.update(rollout, START, np.random.default_rng(1))
        learned.append((policy.arrays(), metrics))
    (weights, told), (other_weights, other_told) = learned
    assert told == pytest.approx(other_told, rel=1e-4, abs=1e-6, nan_ok=True)
    for key, array in weights.items():
        np.testing.assert_allclose(other_weights[key], array, rtol=1e-4, atol=1e-5, err_msg=key)


def test_repeated_frames_are_repeated_arrays():
    stacks = stream(np.random.default_rng(0))
    kept = store(stacks).repeated(30)
    np.testing.assert_array_equal(np.asarray(kept), stacks[np.arange(30) % STEPS])


def test_a_graph_that_was_walked_back_says_so():
    spec = make_spec(obs={"obs": ObsSpec("image", (4, 84, 84), "uint8")})
    policy = make_policy(spec, cnn="nature")
    if not policy.encoder.compiled:
        pytest.skip("no compiled kernels here")
    _, values = policy({"obs": torch.zeros(2, 4, 84, 84, dtype=torch.uint8)}, None)
    weights = list(policy.encoder.parameters())
    torch.autograd.grad(values.sum(), weights, retain_graph=True)
    with pytest.raises(RuntimeError, match="compute the loss again"):
        torch.autograd.grad(values.sum(), weights)


def test_real_stacks_share_their_frames():
    config = EnvConfig(id="CarRacing-v3", num_envs=1, frame_stack=3, max_episode_steps=8)
    envs = make_envs(config, "train")
    try:
        policy = make_policy(envs.spec, cnn="small")
        rollout = Collector(envs, policy, 16, 1, frame_stack=3).collect(np.random.default_rng(0))
    finally:
        envs.close()
    kept = rollout.obs["obs"]
    assert rollout.truncated.sum() == 2
    # 16 steps, two frames more for the first stack, and for that of the episode that began half-way.
    assert len(kept.pool) == 16 + 2 * 2


def test_an_update_holds_what_one_minibatch_leaves(monkeypatch):
    """Every pass forwards leaves numbers to its pass back; none is kept after that."""
    spec = make_spec(obs={"obs": ObsSpec("image", (4, 84, 84), "uint8")})
    policy = make_policy(spec, cnn="nature")
    if not policy.encoder.compiled:
        pytest.skip("no compiled kernels here")
    rooms, most, room = [], [], CompiledStack.room

    class Watched(np.ndarray):
        """An array that can be referred to weakly."""

    def watched(self, pictures):
        found = room(self, pictures)
        found = found if isinstance(found, Watched) else found.view(Watched)
        rooms.append(weakref.ref(found))
        most.append(len({id(one()) for one in rooms if one() is not None}))
        return found

    monkeypatch.setattr(CompiledStack, "room", watched)
    rollout = Collector(RandomEnvs(spec), policy, 8, 1, frame_stack=4).collect(np.random.default_rng(0))
    algorithm = make_algorithm("ppo", policy, num_minibatches=4, num_epochs=2)
    algorithm.update(rollout, START, np.random.default_rng(1))
    assert most == [1] * 8


def test_a_pass_back_gives_its_room_to_the_next_pass_only():
    spec = make_spec(obs={"obs": ObsSpec("image", (4, 84, 84), "uint8")})
    policy = make_policy(spec, cnn="nature")
    if not policy.encoder.compiled:
        pytest.skip("no compiled kernels here")
    rng = np.random.default_rng(0)
    pictures = [torch.from_numpy(rng.integers(0, 256, (3, 4, 84, 84), dtype=np.uint8)) for _ in range(3)]
    parameters = list(policy.parameters())

    def loss(x):
        params, values = policy({"obs": x}, None)
        return params.square().sum() + values.square().sum()

    def slopes(value):
        return torch.autograd.grad(value, parameters, allow_unused=True)

    alone = [deepcopy(slopes(loss(x))) for x in pictures]
    first, second = loss(pictures[0]), loss(pictures[1])
    found = [slopes(first)]
    third = loss(pictures[2])  # in the room of the first
    found += [slopes(second), slopes(third)]
    for ours, expected in zip(found, alone, strict=True):
        for one, other in zip(ours, expected, strict=True):
            assert one is other is None or torch.equal(one, other)
