"""Facts that every on-policy algorithm must obey, for every algorithm and every action space."""

import math

import numpy as np
import pytest
import torch

import late_resets
from gymsolve.envs.make import make_envs
from gymsolve.experience.collect import Collector
from gymsolve.settings.config import EnvConfig
from gymsolve.training.evaluation.episodes import Limits, play_episodes
from probes import (
    ALGORITHMS,
    CASE_IDS,
    CASES,
    START,
    ConstantEnvs,
    RandomEnvs,
    evaluate_steps,
    gather,
    make_algorithm,
    make_case,
    make_policy,
    make_spec,
    same_arrays,
    train,
)

every_algorithm = pytest.mark.parametrize("algo", ALGORITHMS)
every_case = pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)
every_reset = pytest.mark.parametrize("next_step", [False, True], ids=["same_step", "next_step"])
NETS = {
    "plain": {},
    "shared": {"shared": True},
    "normalized": {"normalize_obs": "running", "normalize_values": "popart"},
    "batch_norm": {"batch_norm": True, "normalize_obs": "running"},
    "layer_norm": {"layer_norm": True, "normalize_values": "running"},
}


# ------------------------------------------------------------------------------ what is learned from


@every_algorithm
@every_case
@pytest.mark.parametrize("net", NETS)
def test_the_importance_ratio_is_one_before_the_first_gradient_step(algo, kind, masked, net):
    """Of every row, in every update: what is learned from is what was done, by the policy that did it."""
    envs, policy = make_case(kind, masked, envs={"next_step": True}, **NETS[net])
    algorithm = make_algorithm(algo, policy, learning_rate=0.01)
    collector, rng = Collector(envs, policy, 10, 1), np.random.default_rng(0)
    before = policy.arrays()
    for _ in range(3):
        rollout = collector.collect(rng)
        flat = {"obs": torch.from_numpy(rollout.obs["obs"].reshape(-1, 3))}
        masks = None if rollout.masks is None else torch.from_numpy(rollout.masks.reshape(40, -1))
        policy.gradient_mode(True)
        with torch.no_grad():
            taken = torch.from_numpy(rollout.actions.reshape(40, -1))
            log_probs = evaluate_steps(policy, flat, taken, masks).log_probs
        ratios = (log_probs - torch.from_numpy(rollout.log_probs.reshape(-1))).exp()
        torch.testing.assert_close(ratios, torch.ones(40), rtol=0, atol=1e-4)
        metrics = algorithm.update(rollout, START, rng)
        assert metrics["train/first_ratio"] == pytest.approx(1.0, abs=1e-4)
    assert not same_arrays(policy.arrays(), before)


@every_algorithm
def test_a_perfect_critic_of_an_endless_task_that_is_only_cut_learns_nothing(algo):
    gamma, spec = 0.9, make_spec()
    policy = make_policy(spec, shared=False)
    with torch.no_grad():
        policy.value_head.weight.zero_()
        policy.value_head.bias.fill_(1 / (1 - gamma))
    options = {"gamma": gamma, "normalize_advantages": "none", "max_grad_norm": 0.0, "vf_coef": 0.5}
    for terminates in (False, True):
        rollout = gather(ConstantEnvs(spec, length=7, terminates=terminates), policy, 20)
        assert rollout.done.sum() > 4
        algorithm = make_algorithm(algo, policy, learning_rate=0.0, **options)
        metrics = algorithm.update(rollout, START, np.random.default_rng(0))
        # The value is 1 + γ + γ² + … = 1/(1−γ) everywhere, however early the recording stops.
        if terminates:
            assert metrics["train/value_loss"] > 1.0
        else:
            assert metrics["train/value_loss"] < 1e-10
            assert metrics["train/grad_norm"] < 1e-5
            assert abs(metrics["train/policy_loss"]) < 1e-5


def update_after(algo, rollout, policy, **options):
    """Parameters after one update, without changing `policy`."""
    twin = make_policy(policy.spec, **policy.config.model_dump())
    twin.load_state_dict(policy.state_dict())
    algorithm = make_algorithm(algo, twin, **options)
    metrics = algorithm.update(rollout, START, np.random.default_rng(5))
    return twin.arrays(), metrics


@every_algorithm
@every_case
def test_rows_spent_on_resets_are_never_learned_from(algo, kind, masked):
    net = {"normalize_obs": "running", "normalize_values": "popart", "batch_norm": True}
    envs, policy = make_case(kind, masked, envs={"next_step": True}, **net)
    rollout = gather(envs, policy, 16)
    assert (~rollout.valid).sum() > 5
    clean, told = update_after(algo, rollout, policy)
    poison(rollout)
    poisoned, told_too = update_after(algo, rollout, policy)
    assert same_arrays(clean, poisoned)
    np.testing.assert_equal(told, told_too)  # NaN equals NaN here


@every_algorithm
def test_reset_rows_of_a_vector_class_are_never_learned_from(algo):
    envs = make_envs(EnvConfig(id=late_resets.ID, num_envs=4), "train")
    policy = make_policy(envs.spec, normalize_obs="running")
    rollout = gather(envs, policy, 100)
    envs.close()
    assert (~rollout.valid).sum() > 5
    clean, _ = update_after(algo, rollout, policy)
    poison(rollout)
    poisoned, _ = update_after(algo, rollout, policy)
    assert same_arrays(clean, poisoned)


def poison(rollout):
    """Garbage wherever no transition happened."""
    bad = ~rollout.valid
    rollout.obs["obs"][bad] = np.nan
    rollout.log_probs[bad] = np.nan
    rollout.rewards[bad] = 1e6
    rollout.values[bad] = -1e6
    rollout.next_values[bad] = 1e6
    rollout.actions[bad] = 0
    # The row before leads to the terminal observation, whose value no one needs.
    rollout.next_values[rollout.terminated] = 1e6


@every_algorithm
@every_reset
def test_nothing_is_learned_across_a_reset(algo, next_step):
    """Rows before an end are learned from alike, whatever the next episode brings."""
    envs, policy = make_case("discrete", envs={"next_step": next_step, "ends": 0.0, "cuts": 0.0})
    rollout = gather(envs, policy, 12)
    for kind in ("terminated", "truncated"):
        rollout.terminated[:] = rollout.truncated[:] = False
        getattr(rollout, kind)[5] = True
        getattr(rollout, kind)[11] = True
        rollout.valid[6:] = False  # so that only the rows before the end count
        found = []
        for garbage in (0.0, 50.0):
            rollout.rewards[6:] = rollout.values[6:] = rollout.next_values[6:] = garbage
            found.append(update_after(algo, rollout, policy)[0])
        assert same_arrays(*found)


# ------------------------------------------------------------------------- REINFORCE and cut episodes


@pytest.mark.parametrize("baseline", ["none", "mean", "value"])
@pytest.mark.parametrize("returns", ["reward_to_go", "episode"])
def test_reinforce_never_treats_a_cut_episode_as_finished(baseline, returns):
    options = {"baseline": baseline, "returns": returns, "normalize_advantages": "none"}
    envs, policy = make_case("discrete", envs={"ends": 0.0, "cuts": 0.0})
    rollout = gather(envs, policy, 10)
    arrays, metrics = update_after("reinforce", rollout, policy, **options)
    assert metrics["train/unfinished_share"] == 1.0
    assert same_arrays(arrays, policy.arrays())

    rollout.terminated[6, :2] = True  # two of four environments end once, in the middle
    arrays, metrics = update_after("reinforce", rollout, policy, **options)
    assert metrics["train/unfinished_share"] == pytest.approx(1 - 14 / 40)
    open_steps = np.ones((10, 4), bool)
    open_steps[:7, :2] = False
    rollout.rewards[open_steps] = 1e3
    rollout.values[open_steps] = rollout.next_values[open_steps] = -1e3
    again, _ = update_after("reinforce", rollout, policy, **options)
    assert same_arrays(arrays, again)
    rollout.rewards[6, 0] += 1.0
    other, _ = update_after("reinforce", rollout, policy, **options)
    assert not same_arrays(arrays, other)


def test_reinforces_running_mean_survives_a_restart():
    envs, policy = make_case("discrete")
    algorithm = make_algorithm("reinforce", policy, baseline="mean")
    train(algorithm, envs, updates=3, num_steps=20)
    twin = make_algorithm("reinforce", policy, baseline="mean")
    twin.load({}, algorithm.state())
    assert twin.mean_return == algorithm.mean_return is not None


# --------------------------------------------------------------------------------- the policy's side


@every_case
def test_the_normaliser_is_frozen_in_evaluation(kind, masked):
    envs, policy = make_case(
        kind, masked, normalize_obs="running", normalize_values="popart", batch_norm=True
    )
    train(make_algorithm("ppo", policy), envs, updates=2, num_steps=8)
    before = policy.arrays()
    for rng in (None, np.random.default_rng(0)):
        result = play_episodes(policy, envs, seeds=[1, 2, 3, 4], rng=rng, limits=Limits(20, 10_000, 600.0))
        assert result.complete
    assert same_arrays(policy.arrays(), before)
    assert not any(module.training for module in policy.modules())


@every_case
def test_evaluation_plays_the_policy_that_training_holds(kind, masked):
    """Greedy actions are the likeliest under the very distribution that training samples from."""
    envs, policy = make_case(kind, masked, normalize_obs="running")
    train(make_algorithm("a2c", policy), envs, updates=3, num_steps=8)
    obs, masks = envs.reset([1, 2, 3, 4])
    best = torch.from_numpy(policy.greedy(obs, masks))
    tensors, legal = policy.tensors(obs), None if masks is None else torch.from_numpy(masks)
    with torch.no_grad():
        params, _ = policy(tensors, legal)
        at_best = policy.head.log_prob(params, best)
        for seed in range(50):
            drawn = policy.head.sample(
                params, torch.from_numpy(policy.head.noise(np.random.default_rng(seed), 4))
            )
            if kind == "squashed":  # the mode is that of the Gaussian before tanh, whose image is the median
                gap = policy.head.log_prob(params, drawn) + _log_slope(drawn) - at_best - _log_slope(best)
            else:
                gap = policy.head.log_prob(params, drawn) - at_best
            assert (gap <= 1e-5).all()


def _log_slope(u):
    return torch.log1p(-torch.tanh(u.double()).square()).sum(dim=-1).float()


@every_case
@pytest.mark.parametrize("net", NETS)
def test_the_first_policy_is_uniform(kind, masked, net):
    spec = make_spec(kind, masked=masked)
    policy = make_policy(spec, hidden=(64, 64), squash=kind == "squashed", **NETS[net])
    obs, masks = RandomEnvs(spec, num_envs=50).reset([0])
    with torch.no_grad():
        legal = None if masks is None else torch.from_numpy(masks)
        params, _ = policy(policy.tensors(obs), legal)
        entropy = policy.head.entropy(params)
    if spec.action.kind == "box":
        assert params.abs().max() < 0.05
        assert (policy.head.log_std.exp() == 1.0).all()
        return
    probabilities = params.exp().numpy()
    start = 0
    expected_entropy = np.zeros(50)
    for part, choices in enumerate(spec.action.nvec):
        allowed = np.ones((50, choices), bool) if masks is None else masks[:, start : start + choices]
        start += choices
        expected = allowed / allowed.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(probabilities[:, part, :choices], expected, atol=0.02)
        expected_entropy += np.log(allowed.sum(axis=1))
    np.testing.assert_allclose(entropy.numpy(), expected_entropy, atol=2e-3)


@pytest.mark.parametrize("choices", [2, 5, 18])
def test_the_actions_of_the_first_policy_have_the_mean_and_spread_of_a_uniform_one(choices):
    spec = make_spec()
    action = type(spec.action)("discrete", (), nvec=(choices,), start=(0,))
    spec = type(spec)("Uniform", spec.obs, action)
    policy = make_policy(spec, hidden=(64, 64))
    obs, _ = RandomEnvs(spec, num_envs=40_000).reset([0])
    actions = policy.act(obs, None, np.random.default_rng(0))[0]
    spread = math.sqrt((choices**2 - 1) / 12)
    assert actions.mean() == pytest.approx((choices - 1) / 2, abs=6 * spread / 200)
    assert actions.std() == pytest.approx(spread, rel=0.02)


# -------------------------------------------------------------------------------------- repeatability


@every_algorithm
@every_case
def test_the_same_seed_gives_the_same_parameters_and_another_seed_others(algo, kind, masked):
    def result(seed):
        envs, policy = make_case(kind, masked, normalize_obs="running", dropout=0.0)
        metrics = train(make_algorithm(algo, policy), envs, updates=3, num_steps=12, seed=seed)
        return policy.arrays(), metrics

    (one, told), (same, told_too), (other, _) = result(1), result(1), result(2)
    assert same_arrays(one, same)
    np.testing.assert_equal(told, told_too)
    assert not same_arrays(one, other)
    assert all(np.isfinite(array).all() for array in one.values())
