"""Policies of SAC and TD3: densities, critics in one pass, files, and what is measured of them."""

import numpy as np
import pytest
import torch
from torch import nn

from gymsolve.nn.critics import Critics
from gymsolve.registry import POLICIES, lookup
from gymsolve.settings.config import NetConfig
from gymsolve.spec import ActionSpec, EnvSpec
from probes import CONTINUOUS, make_continuous_case, make_continuous_policy, make_spec, same_arrays, vector

ONE = EnvSpec("One", {"obs": vector(1)}, ActionSpec("box", (1,), low=(-1.0,), high=(1.0,), dtype="float32"))


def squashed(mean: float, log_std: float):
    """A policy that answers every observation with the same Gaussian."""
    policy = make_continuous_policy("sac", ONE)
    with torch.no_grad():
        policy.actor_head.weight.zero_()
        policy.actor_head.bias.copy_(torch.tensor([mean, log_std]))
    return policy


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.0, -1.0), (-3.0, 0.5), (0.3, -3.0), (0.0, 2.0)])
def test_the_density_of_squashed_actions_integrates_to_one(mean, log_std):
    policy = squashed(mean, log_std)
    before = np.linspace(mean - 12 * np.exp(log_std), mean + 12 * np.exp(log_std), 40_001, dtype=np.float64)
    obs = {"obs": np.zeros((len(before), 1), np.float32)}
    told = policy.consider(obs, None, before[:, None].astype(np.float32))
    density, slope = told.log_probs.astype(np.float64), 1 / np.cosh(before) ** 2  # of tanh
    widths = np.gradient(before) * slope
    assert (np.exp(density) * widths).sum() == pytest.approx(1.0, abs=2e-3)
    if abs(log_std) < 2:  # the rule for the mean of the slope is exact for smooth functions only
        assert -(density * np.exp(density) * widths).sum() == pytest.approx(told.entropy[0], abs=0.03)


def test_densities_far_out_are_finite_and_have_finite_slopes():
    policy = squashed(0.0, 0.0)
    params = torch.tensor([[30.0, -19.0], [-80.0, 2.0], [0.0, 5.0], [0.0, -50.0]], requires_grad=True)
    actions, log_probs = policy.sample(params, torch.tensor([[3.0], [-5.0], [5.0], [0.0]]))
    (slopes,) = torch.autograd.grad(log_probs.sum() + actions.tanh().sum(), params)
    assert torch.isfinite(log_probs).all()
    assert torch.isfinite(slopes).all()


@pytest.mark.parametrize("algo", CONTINUOUS)
def test_it_acts_as_it_says(algo):
    envs, policy = make_continuous_case(algo, envs={"num_envs": 500}, quantiles=3 if algo == "tqc" else None)
    if algo == "td3":
        policy.set_noise(0.3)
    obs, _ = envs.reset([0])
    acted = policy.act(obs, None, np.random.default_rng(1))
    told = policy.consider(obs, None, acted.actions)
    np.testing.assert_allclose(acted.log_probs, told.log_probs, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(told.params, policy.greedy(obs, None))
    np.testing.assert_array_equal(told.values, policy.values(obs))
    unit = policy.spec.action.to_unit(policy.greedy(obs, None))
    expected = torch.tanh(policy.actor_head(policy.actor(policy.encoder(policy.tensors(obs))))[:, :3])
    np.testing.assert_allclose(unit, expected.detach().numpy(), atol=1e-6)
    assert abs(-acted.log_probs.mean() - told.entropy.mean()) < 0.2
    given = policy.spec.action.to_env(acted.actions)
    assert (given >= np.float32(policy.spec.action.low)).all()
    assert (given <= np.float32(policy.spec.action.high)).all()


@pytest.mark.parametrize("layer_norm", [False, True])
def test_critics_in_one_pass_are_separate_networks(layer_norm):
    """Torch's own layers with the same weights give the same values and gradients."""
    spec = make_spec("box")
    own = {"count": 3, "layer_norm": layer_norm, "hidden": [7, 5]}
    config = NetConfig.model_validate({"critics": own, "activation": "relu"})
    critics = Critics(spec, config, np.random.default_rng(0))
    draws = np.random.default_rng(1)
    features, actions = (torch.from_numpy(draws.normal(size=(20, 3)).astype(np.float32)) for _ in range(2))
    values = critics(features, actions)
    assert values.shape == (3, 20)
    for n in range(3):
        layers: list[nn.Module] = []
        for index, (weight, bias) in enumerate(zip(critics.weights, critics.biases, strict=True)):
            linear = nn.Linear(*weight.shape[1:])
            linear.weight.data, linear.bias.data = weight.data[n].T, bias.data[n, 0]
            layers.append(linear)
            if index < 2:
                layers += [nn.LayerNorm(weight.shape[2])] if layer_norm else []
                layers.append(nn.ReLU())
        alone = nn.Sequential(*layers)(torch.cat([features, actions], dim=1)).squeeze(1)
        torch.testing.assert_close(values[n], alone)
        (mine,) = torch.autograd.grad(values[n].square().sum(), critics.weights[0], retain_graph=True)
        (theirs,) = torch.autograd.grad(alone.square().sum(), layers[0].weight)
        torch.testing.assert_close(mine[n], theirs.T)
        assert not mine[[k for k in range(3) if k != n]].any()
    first = [weight[0] for weight in critics.weights]
    assert not torch.equal(first[0], critics.weights[0][1]), "critics that begin alike stay alike"


@pytest.mark.parametrize("algo", CONTINUOUS)
@pytest.mark.parametrize("net", [{}, {"normalize_obs": "running", "critics": {"layer_norm": True}}], ids=str)
def test_a_file_gives_the_same_policy(algo, net):
    envs, policy = make_continuous_case(algo, **net)
    obs, _ = envs.reset([0])
    policy.observe(obs)
    about = policy.metadata()
    again = lookup(POLICIES, about["kind"], "").from_arrays(policy.arrays(), about)
    assert same_arrays(again.arrays(), policy.arrays())
    np.testing.assert_array_equal(again.greedy(obs, None), policy.greedy(obs, None))
    np.testing.assert_array_equal(again.values(obs), policy.values(obs))
    assert again.spec == policy.spec


def test_pictures_are_learned_by_the_critics_alone():
    pictures = {"obs": make_spec().obs["obs"], "eye": vector(2)}
    spec = make_spec("box", obs=pictures)
    policy = make_continuous_policy("sac", spec)
    owners = dict(
        zip([name for name, _ in policy.named_parameters()], policy.parameter_groups(), strict=True)
    )
    assert {owner for name, owner in owners.items() if name.startswith("critics.")} == {"value"}
    assert {owner for name, owner in owners.items() if name.startswith("actor")} == {"policy"}


def test_hidden_layers_of_every_critic_are_measured():
    envs, policy = make_continuous_case("sac", hidden=(8, 6))
    obs, _ = envs.reset([0])
    layers = policy.hidden(obs)
    assert list(layers) == ["critics.0.0", "critics.1.0", "critics.0.1", "critics.1.1", "actor.1", "actor.3"]
    assert [layer.shape for layer in layers.values()] == [(4, 8), (4, 8), (4, 6), (4, 6), (4, 8), (4, 6)]
