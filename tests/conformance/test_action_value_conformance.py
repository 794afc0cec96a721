"""Facts that every algorithm of action values must obey, with or without an actor beside them."""

import numpy as np
import pytest
import torch

import late_resets
from gymsolve.envs.make import make_envs
from gymsolve.experience.collect import Collector
from gymsolve.nn.q_policy import QPolicy
from gymsolve.settings.config import EnvConfig, NetConfig
from probes import (
    ACTION_VALUES,
    CONTINUOUS,
    START,
    ConstantEnvs,
    ProbeEnvs,
    gather,
    make_algorithm,
    make_continuous_case,
    make_q_case,
    same_arrays,
    train,
)

every_algorithm = pytest.mark.parametrize("algo", [*ACTION_VALUES, *CONTINUOUS])
every_case = pytest.mark.parametrize(
    ("algo", "masked"),
    [(algo, masked) for algo in ACTION_VALUES for masked in (False, True)] + [(a, False) for a in CONTINUOUS],
)
REPLAYED = {"learning_starts": 0, "buffer_size": 10_000, "batch_size": 32, "n_step": 3, "target_every": 3}
EAGER = {
    "pqn": {"num_minibatches": 2},
    "dqn": REPLAYED,
    **dict.fromkeys(CONTINUOUS, REPLAYED | {"policy_every": 2, "tau": 0.1}),
}


def make_case(algo, masked=False, **more):
    """Environments that do anything, and a policy with an opinion."""
    if algo in CONTINUOUS:
        more.pop("batch_norm", None)
        return make_continuous_case(algo, **more)
    return make_q_case(masked, **more)


def update_after(algo, rollout, policy, **options):
    """Parameters after one update, without changing `policy`."""
    twin = type(policy)(policy.spec, policy.config, None)
    twin.load_state_dict(policy.state_dict())
    algorithm = make_algorithm(algo, twin, **EAGER[algo], **options)
    metrics = algorithm.update(rollout, START, np.random.default_rng(5))
    return twin.arrays(), metrics


@every_algorithm
def test_a_perfect_critic_of_an_endless_task_that_is_only_cut_learns_nothing(algo):
    gamma = 0.9
    _, policy = make_case(algo)
    weight, bias = (
        (policy.critics.weights[-1], policy.critics.biases[-1])
        if algo in CONTINUOUS
        else (policy.q_head.weight, policy.q_head.bias)
    )
    with torch.no_grad():
        weight.zero_()
        bias.fill_(1 / (1 - gamma))
    soft = {"ent_coef": 0.0} if algo in ("sac", "tqc") else {}
    for terminates in (False, True):
        envs = ConstantEnvs(policy.spec, length=7, terminates=terminates)
        rollout = gather(envs, policy, 20, keeps_ends=True)
        assert rollout.done.sum() > 4
        _, metrics = update_after(algo, rollout, policy, learning_rate=0.0, gamma=gamma, **soft)
        # The value is 1 + γ + γ² + … = 1/(1−γ) everywhere, however early the recording stops.
        if terminates:
            assert metrics["train/td_error"] > 0.1
        else:
            assert metrics["train/td_error"] < 1e-5


@every_case
def test_rows_spent_on_resets_are_never_learned_from(algo, masked):
    envs, policy = make_case(algo, masked, envs={"next_step": True}, normalize_obs="running", batch_norm=True)
    rollout = gather(envs, policy, 16, keeps_ends=True)
    assert (~rollout.valid).sum() > 5
    assert_garbage_changes_nothing(algo, rollout, policy)


@pytest.mark.parametrize("algo", ACTION_VALUES)
def test_reset_rows_of_a_vector_class_are_never_learned_from(algo):
    envs = make_envs(EnvConfig(id=late_resets.ID, num_envs=4), "train")
    policy = QPolicy(envs.spec, NetConfig(hidden=(8,)), np.random.default_rng(0))
    rollout = gather(envs, policy, 100, keeps_ends=True)
    envs.close()
    assert (~rollout.valid).sum() > 5
    assert_garbage_changes_nothing(algo, rollout, policy)


def assert_garbage_changes_nothing(algo, rollout, policy):
    """Put garbage wherever no transition happened, and after every termination."""
    clean, told = update_after(algo, rollout, policy)
    bad = ~rollout.valid
    rollout.obs["obs"][bad] = np.nan
    rollout.rewards[bad], rollout.values[bad], rollout.next_values[bad] = 1e6, -1e6, 1e6
    rollout.actions[bad] = 0
    rollout.next_values[rollout.terminated] = 1e6
    for t, last in rollout.final_obs.items():
        last["obs"][rollout.terminated[t]] = 1e6
    poisoned, told_too = update_after(algo, rollout, policy)
    assert same_arrays(clean, poisoned)
    np.testing.assert_equal(told, told_too)


@every_algorithm
@pytest.mark.parametrize("next_step", [False, True], ids=["same_step", "next_step"])
def test_nothing_is_learned_across_a_reset(algo, next_step):
    """Rows before an end are learned from alike, whatever the next episode brings."""
    envs, policy = make_case(algo, envs={"next_step": next_step, "ends": 0.0, "cuts": 0.0})
    rollout = gather(envs, policy, 12, keeps_ends=True)
    last = {"obs": rollout.obs["obs"][6].copy()}
    for kind in ("terminated", "truncated"):
        rollout.terminated[:] = rollout.truncated[:] = False
        for step in (5, 11):
            vars_of = {"terminated": rollout.terminated, "truncated": rollout.truncated}
            vars_of[kind][step] = True
            rollout.final_obs[step] = last
        rollout.valid[6:] = False  # so that only the rows before the end count
        updates = []
        for garbage in (0.0, 50.0):
            rollout.rewards[6:] = rollout.values[6:] = rollout.next_values[6:] = garbage
            rollout.obs["obs"][6:] = garbage
            updates.append(update_after(algo, rollout, policy)[0])
        assert same_arrays(*updates)


@every_algorithm
def test_a_cut_counts_on_from_the_true_last_observation(algo):
    """What follows a time limit is worth what the last observation is worth, and not the next first one."""
    envs, policy = make_case(algo, envs={"ends": 0.0, "cuts": 0.3})
    rollout = gather(envs, policy, 12, keeps_ends=True)
    before, _ = update_after(algo, rollout, policy)
    for step, last in rollout.final_obs.items():
        last["obs"][rollout.truncated[step]] += 3.0
        rollout.next_values[step] = policy.values(last)
    after, _ = update_after(algo, rollout, policy)
    assert not same_arrays(before, after)


@every_case
def test_the_same_seed_gives_the_same_parameters_and_another_seed_others(algo, masked):
    def result(seed):
        envs, policy = make_case(algo, masked, normalize_obs="running")
        metrics = train(make_algorithm(algo, policy, **EAGER[algo]), envs, updates=3, num_steps=12, seed=seed)
        return policy.arrays(), metrics

    (one, told), (same, told_too), (other, _) = result(1), result(1), result(2)
    assert same_arrays(one, same)
    np.testing.assert_equal(told, told_too)
    assert not same_arrays(one, other)
    assert all(np.isfinite(array).all() for array in one.values())


@every_algorithm
def test_an_iteration_that_is_taken_back_leaves_nothing(algo):
    envs, policy = make_case(algo, algo in ACTION_VALUES, normalize_obs="running")
    algorithm = make_algorithm(algo, policy, **EAGER[algo])
    collector, rng = Collector(envs, policy, 8, 0), np.random.default_rng(0)
    collector.keeps_ends = algorithm.keeps_ends
    algorithm.update(collector.collect(rng), START, rng)

    def everything():
        parts = {"policy": policy, "learner": algorithm, **algorithm.optimizers, **algorithm.parts}
        return {
            f"{owner}/{name}": array for owner, part in parts.items() for name, array in part.arrays().items()
        }, [part.state() for part in (algorithm, *algorithm.parts.values())]

    arrays, states = everything()
    undo = [
        part.rollback_point()
        for part in (policy, algorithm, *algorithm.optimizers.values(), *algorithm.parts.values())
    ]
    algorithm.update(collector.collect(rng), START, rng)
    assert not same_arrays(everything()[0], arrays)
    for put_back in undo:
        put_back()
    again, told = everything()
    assert same_arrays(again, arrays)
    assert told == states


ANSWERS = {
    # By probe: observation → values of both actions that are right, with γ = 0.5.
    "acted": {0.0: (-1.0, 1.0)},
    "matched": {1.0: (-1.0, 1.0), -1.0: (1.0, -1.0)},
    "delayed": {0.0: (0.5, 0.5), 1.0: (1.0, 1.0)},
}


@pytest.mark.parametrize("algo", ACTION_VALUES)
@pytest.mark.parametrize("probe", ANSWERS)
def test_known_action_values_are_learned(algo, probe):
    envs = ProbeEnvs(probe, "discrete")
    policy = QPolicy(envs.spec, NetConfig(hidden=(32,)), np.random.default_rng(0))
    options = {"gamma": 0.5, "epsilon": 0.5, "learning_rate": 1e-2}
    more = {"pqn": {"num_epochs": 4, "num_minibatches": 2}, "dqn": {"learning_starts": 0, "target_every": 20}}
    algorithm = make_algorithm(algo, policy, **options, **more[algo])
    train(algorithm, envs, updates=80, num_steps=8)
    for state, expected in ANSWERS[probe].items():
        values = policy(policy.tensors({"obs": np.array([[state]], np.float32)}), None)[0]
        np.testing.assert_allclose(values.detach().numpy(), expected, atol=0.15)
