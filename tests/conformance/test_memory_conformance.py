"""Facts that every algorithm must obey with a policy that remembers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gymsolve.algos.batch import Batch
from gymsolve.experience.collect import Collector
from gymsolve.experience.sequences import cut_sequences
from gymsolve.spec import ObsSpec
from probes import (
    ALGORITHMS,
    CASES,
    START,
    RandomEnvs,
    gather,
    make_algorithm,
    make_case,
    make_policy,
    make_spec,
    same_arrays,
    vector,
)

MEMORIES = {
    "lstm": {"cell": "lstm", "size": 6, "sequence": 4},
    "gru": {"cell": "gru", "size": 6, "sequence": 4, "inputs": ["action"]},
    "told": {"cell": "lstm", "size": 6, "inputs": ["action", "reward"]},
}
every_algorithm = pytest.mark.parametrize("algo", ALGORITHMS)
every_memory = pytest.mark.parametrize("memory", MEMORIES)
every_reset = pytest.mark.parametrize("next_step", [False, True], ids=["same_step", "next_step"])
NARROW = {"hidden": (8,), "policy_gain": 1.0}


def make_remembering(kind="discrete", masked=False, memory="told", *, envs=None, **net):
    return make_case(kind, masked, envs=envs, memory=MEMORIES[memory], **net)


def episodes_of(rollout):
    """Environment, first step and end of every stretch of an episode, found by hand."""
    for n in range(rollout.num_envs):
        begin = None
        for t in range(rollout.vec_steps):
            if rollout.valid[t, n] and begin is None:
                begin = t
            if begin is not None and (not rollout.valid[t, n] or rollout.done[t, n]):
                yield n, begin, t + bool(rollout.valid[t, n])
                begin = None
        if begin is not None:
            yield n, begin, rollout.vec_steps


RATIO_CASES = [
    *((algo, "discrete", True, False) for algo in ALGORITHMS),
    *(("ppo", kind, masked, True) for kind, masked in CASES),
]


@pytest.mark.parametrize(("algo", "kind", "masked", "shared"), RATIO_CASES)
def test_the_importance_ratio_of_every_row_is_one_before_the_first_gradient_step(algo, kind, masked, shared):
    envs, policy = make_remembering(
        kind, masked, envs={"next_step": True}, shared=shared, normalize_obs="running"
    )
    algorithm = make_algorithm(algo, policy, learning_rate=0.01)
    collector, rng = Collector(envs, policy, 10, 1), np.random.default_rng(0)
    for _ in range(3):
        rollout = collector.collect(rng)
        with torch.no_grad():
            batch = Batch(policy, rollout, rollout.valid).whole()
            ratios = (policy.evaluate(batch).log_probs - batch.log_probs).exp()
        torch.testing.assert_close(ratios, torch.ones(len(ratios)), rtol=0, atol=1e-4)
        metrics = algorithm.update(rollout, START, rng)
        assert metrics["train/first_ratio"] == pytest.approx(1.0, abs=1e-4)


@every_memory
@every_reset
def test_sequences_give_what_steps_gave(memory, next_step):
    """Also in minibatches of shuffled sequences: every row once, its number with it."""
    envs, policy = make_remembering(memory=memory, envs={"next_step": next_step})
    rollout = gather(envs, policy, 20)
    batch = Batch(policy, rollout, rollout.valid)
    values, log_probs = (array[rollout.valid] for array in (rollout.values, rollout.log_probs))
    for count in (1, 3):
        seen = []
        for minibatch in batch.minibatches(count, np.random.default_rng(0)):
            with torch.no_grad():
                found = policy.evaluate(minibatch)
            np.testing.assert_allclose(found.values.numpy(), values[minibatch.index], atol=1e-5)
            np.testing.assert_allclose(found.log_probs.numpy(), log_probs[minibatch.index], atol=1e-5)
            seen += minibatch.index.tolist()
        assert sorted(seen) == list(range(rollout.env_steps))


@every_reset
@pytest.mark.parametrize("longest", [1, 3, 50])
def test_sequences_are_stretches_of_one_episode(next_step, longest):
    envs, policy = make_remembering(envs={"next_step": next_step})
    rollout = gather(envs, policy, 30)
    rollout.valid[7:9, 0] = False  # as where a fault cut an episode
    numbers = np.full(rollout.valid.shape, -1)
    numbers[rollout.valid] = np.arange(rollout.env_steps)
    wanted = set()
    for n, begin, end in episodes_of(rollout):
        for start in range(begin, end, longest):
            wanted.add(tuple(numbers[start : min(start + longest, end), n].tolist()))
    found = cut_sequences(rollout.valid, rollout.done, longest)
    pairs = zip(found.begins.tolist(), found.lengths.tolist(), strict=True)
    assert {tuple(found.rows[begin : begin + length].tolist()) for begin, length in pairs} == wanted


def test_minibatches_of_sequences_are_about_equal():
    envs, policy = make_remembering()
    rollout = gather(envs, policy, 64)
    batch = Batch(policy, rollout, rollout.valid)
    sizes = [len(one.index) for one in batch.minibatches(4, np.random.default_rng(0))]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) <= 2 * 32


@every_algorithm
def test_a_gradient_is_that_of_every_episode_walked_through_step_by_step(algo):
    """Whole rollouts as sequences; weights after one update against autograd over single steps."""
    envs, policy = make_remembering(envs={"next_step": True})
    rollout = gather(envs, policy, 12)
    options = {"normalize_advantages": "none", "max_grad_norm": 0.0, "gamma": 0.9}
    options |= {"ppo": {"num_epochs": 1, "num_minibatches": 1}, "reinforce": {"value_epochs": 1}}.get(
        algo, {}
    )
    algorithm = make_algorithm(
        algo, policy, learning_rate=1e-3, optimizer={"name": "sgd"}, ent_coef=0.01, **options
    )
    credit = algorithm.credit(rollout, START)
    log_probs, values, entropies, advantages, targets = walk(policy, rollout, credit)
    loss = -(advantages * log_probs).mean() - 0.01 * entropies.mean()
    before = [p.detach().clone() for p in policy.parameters()]
    loss = loss + 0.5 * (0.5 * (values - targets).square()).mean()
    slopes = torch.autograd.grad(loss, list(policy.parameters()))
    algorithm.update(rollout, START, np.random.default_rng(0))
    for name, old, slope, new in zip(
        dict(policy.named_parameters()), before, slopes, policy.parameters(), strict=True
    ):
        assert slope.abs().max() > 0, name
        torch.testing.assert_close(old - 1e-3 * slope, new.detach(), rtol=1e-4, atol=1e-6)


def walk(policy, rollout, credit):
    """Log-probabilities, values and entropies of all rows that are learned from, one step at a time."""
    found = []
    for n, begin, end in episodes_of(rollout):
        memory = torch.from_numpy(rollout.memory[begin, n][None])
        for t in range(begin, end):
            told = torch.from_numpy(rollout.memory[t, n][None, -policy.memory_inputs :])
            past = policy._step(torch.cat([memory[:, : -policy.memory_inputs], told], dim=1))
            obs = {"obs": torch.from_numpy(rollout.obs["obs"][t, n][None])}
            _, params, value = policy._pass(obs, None, past)
            taken = torch.from_numpy(rollout.actions[t, n][None])
            memory = torch.cat([*past.after, told], dim=1)
            if credit.rows[t, n]:
                goals = credit.advantages[t, n], credit.targets["task"][t, n]
                row = policy.head.log_prob(params, taken)[0], value[0], policy.head.entropy(params)[0]
                found.append((*row, *(torch.tensor(goal) for goal in goals)))
    return tuple(torch.stack(column) for column in zip(*found, strict=True))


@every_algorithm
@every_reset
def test_memory_of_another_episode_changes_nothing(algo, next_step):
    """Poison in all that is stored at boundaries: only the memory before a sequence is ever read."""
    envs, policy = make_remembering(memory="lstm", envs={"next_step": next_step})
    rollout = gather(envs, policy, 16)
    assert rollout.terminated.any()
    assert rollout.truncated.any()
    clean = update_after(algo, rollout, policy)
    begins = np.zeros(rollout.valid.shape, bool)
    for n, begin, end in episodes_of(rollout):
        begins[begin:end:4, n] = True
        if begin:  # every episode but the one that was under way begins with nothing
            assert not rollout.memory[begin, n].any()
    rollout.memory[~begins] = np.nan
    assert same_arrays(clean, update_after(algo, rollout, policy))
    rollout.memory[0] += 1.0
    assert not same_arrays(clean, update_after(algo, rollout, policy))


def update_after(algo, rollout, policy):
    twin = make_policy(policy.spec, **policy.config.model_dump())
    twin.load_state_dict(policy.state_dict())
    make_algorithm(algo, twin).update(rollout, START, np.random.default_rng(5))
    return twin.arrays()


@every_memory
@every_reset
def test_an_episode_is_played_alike_whatever_came_before_it(memory, next_step):
    """The same episodes with another memory before their start give the same rows."""
    envs, policy = make_remembering(memory=memory, envs={"next_step": next_step})
    rollouts = []
    for poison in (0.0, 9.0):
        collector = Collector(envs, policy, 30, 0)
        collector.begin(list(range(envs.num_envs)))
        collector.agent.memory = collector.agent.memory + np.float32(poison)
        rollouts.append(replace_arrays(collector.collect(np.random.default_rng(0))))
    one, other = rollouts
    later = np.cumsum(one.done | ~one.valid, axis=0) - (one.done | ~one.valid) > 0  # after the first end
    assert later.sum() > 40
    for name in ("values", "log_probs", "memory"):
        left, right = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(left[later], right[later])
        assert not np.array_equal(left[0], right[0])


def replace_arrays(rollout):
    named = ("values", "log_probs", "memory", "next_values", "terminated", "truncated", "valid", "rewards")
    return replace(rollout, **{name: getattr(rollout, name).copy() for name in named})


@every_memory
def test_values_look_ahead_with_the_memory_from_before_it_is_cleared_and_leave_it_alone(memory):
    envs, policy = make_remembering(memory=memory)
    collector = Collector(envs, policy, 25, 0)
    rollout = collector.collect(np.random.default_rng(0))
    assert rollout.truncated.any()
    steps = envs.steps[-25:]
    for t, step in enumerate(steps):
        obs = {key: stored[t] for key, stored in rollout.obs.items()}
        # What is remembered after step t, cells by an independent pass and inputs by their definition.
        after = policy.act(obs, None, np.random.default_rng(0), rollout.memory[t]).memory
        if policy.memory_inputs:
            after[:, -policy.memory_inputs :] = told_of(policy, rollout, t)
        if step.truncated.any():
            ahead = policy.values(step.final_obs, after)
            cut = step.truncated
            np.testing.assert_allclose(rollout.next_values[t][cut], ahead[cut], atol=1e-6)
        kept = ~step.terminated & ~step.truncated
        last = t + 1 == len(steps)
        following = collector.agent.memory if last else rollout.memory[t + 1]
        np.testing.assert_allclose(following[kept], after[kept], atol=1e-6)
        assert not following[~kept].any()


def told_of(policy, rollout, t):
    columns = []
    if "action" in policy.config.memory.inputs:
        columns.append(np.eye(5, dtype=np.float32)[rollout.actions[t, :, 0]])
    if "reward" in policy.config.memory.inputs:
        rewards = rollout.rewards[t][:, None]
        columns.append(np.sign(rewards) * np.log1p(np.abs(rewards)))
    return np.concatenate(columns, axis=1)


@every_algorithm
def test_masks_dicts_pictures_and_memory_work_together(algo):
    obs = {
        "cells": ObsSpec("discrete", (2,), "int64", (3, 4)),
        "numbers": vector(3),
        "screen": ObsSpec("image", (1, 12, 12), "uint8"),
    }
    spec = make_spec("multi_discrete", masked=True, obs=obs)
    policy = make_policy(spec, cnn="small", memory=MEMORIES["told"], discrete_obs="embedding", **NARROW)
    algorithm = make_algorithm(algo, policy)
    collector, rng = Collector(RandomEnvs(spec, next_step=True), policy, 12, 0), np.random.default_rng(0)
    before = policy.arrays()
    for _ in range(2):  # the environment asserts that no illegal action is taken
        metrics = algorithm.update(collector.collect(rng), START, rng)
        assert metrics["train/first_ratio"] == pytest.approx(1.0, abs=1e-4)
    after = policy.arrays()
    still = [name for name in before if np.array_equal(before[name], after[name])]
    assert not still
