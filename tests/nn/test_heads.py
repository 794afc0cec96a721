"""Action heads against torch.distributions and numerical integration."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical

from gymsolve.errors import ConfigError
from gymsolve.nn.heads import CategoricalHead, GaussianHead
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec
from probes import ACTIONS, CASE_IDS, CASES, legal, make_case, make_policy, make_spec, unbounded

RAGGED = (2, 5, 3)


def ragged_head(gain: float = 2.0) -> CategoricalHead:
    return CategoricalHead(6, RAGGED, gain, np.random.default_rng(0))


def random_masks(rows: int, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    parts = []
    for choices in RAGGED:
        part = rng.random((rows, choices)) < 0.5
        part[np.arange(rows), rng.integers(0, choices, rows)] = True
        parts.append(part)
    return torch.from_numpy(np.concatenate(parts, axis=1))


def references(
    head: CategoricalHead, features: torch.Tensor, masks: torch.Tensor | None
) -> list[list[tuple[Categorical, torch.Tensor]]]:
    """One distribution per row and part, over the legal choices alone, and which those are."""
    logits = features @ head.linear.weight.T + head.linear.bias
    rows = []
    for row in range(len(features)):
        parts = []
        for part, one in enumerate(torch.split(logits[row], RAGGED)):
            keep = torch.ones(len(one), dtype=torch.bool)
            if masks is not None:
                keep = torch.split(masks[row], RAGGED)[part]
            parts.append((Categorical(logits=one[keep]), torch.nonzero(keep)[:, 0]))
        rows.append(parts)
    return rows


@pytest.mark.parametrize("masked", [False, True])
def test_ragged_categories_agree_with_distributions_over_the_legal_choices(masked):
    head, features = ragged_head(), torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    masks = random_masks(20) if masked else None
    params = head(features, masks)
    actions = head.sample(params, torch.from_numpy(head.noise(np.random.default_rng(1), 20)))
    log_probs, entropies, modes = head.log_prob(params, actions), head.entropy(params), head.mode(params)
    for row, parts in enumerate(references(head, features, masks)):
        expected = sum(
            d.log_prob(torch.nonzero(choices == actions[row, i])[0, 0])
            for i, (d, choices) in enumerate(parts)
        )
        torch.testing.assert_close(log_probs[row], expected)
        torch.testing.assert_close(entropies[row], sum(d.entropy() for d, _ in parts))
        best = [int(choices[d.probs.argmax()]) for d, choices in parts]
        assert modes[row].tolist() == best


@pytest.mark.parametrize("masked", [False, True])
def test_samples_follow_the_probabilities(masked):
    head, count = ragged_head(), 200_000
    features = torch.randn(1, 6, generator=torch.Generator().manual_seed(3))
    masks = random_masks(1, seed=5) if masked else None
    params = head(features, masks)
    noise = torch.from_numpy(head.noise(np.random.default_rng(1), count))
    drawn = head.sample(params.expand(count, -1, -1), noise).numpy()
    for part, (reference, choices) in enumerate(references(head, features, masks)[0]):
        shares = np.bincount(drawn[:, part], minlength=RAGGED[part]) / count
        expected = np.zeros(RAGGED[part])
        expected[choices.numpy()] = reference.probs.detach().numpy()
        np.testing.assert_allclose(shares, expected, atol=0.006)  # five standard errors
        assert (shares[expected == 0] == 0).all()


def test_illegal_choices_have_no_probability_and_no_gradient_even_for_extreme_logits():
    head = ragged_head(gain=300.0)
    features = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    masks = random_masks(50)
    params = head(features, masks)
    flat = torch.cat([params[:, part, :n] for part, n in enumerate(RAGGED)], dim=1).exp()
    assert (flat[~masks] == 0).all()
    head.entropy(params).sum().backward()
    assert torch.isfinite(head.linear.weight.grad).all()
    params = head(features[:1], masks[:1])
    head.linear.zero_grad()
    head.log_prob(params, head.mode(params)).sum().backward()
    assert (head.linear.bias.grad[~masks[0]] == 0).all()
    # One legal choice is no choice: nothing to be uncertain about, probability 1.
    only = torch.zeros_like(masks)
    only[:, [1, 2, 9]] = True
    params = head(features, only)
    assert (head.mode(params) == torch.tensor([1, 0, 2])).all()
    torch.testing.assert_close(head.entropy(params), torch.zeros(50))
    torch.testing.assert_close(head.log_prob(params, head.mode(params)), torch.zeros(50))


@pytest.mark.parametrize(
    ("kind", "masked"), [c for c in CASES if c[1]], ids=[i for i in CASE_IDS if "mask" in i]
)
def test_masked_actions_are_never_taken_by_sampling_or_by_likelihood(kind, masked):
    envs, policy = make_case(kind, masked, policy_gain=30.0)
    obs, masks = envs.reset([1, 2, 3, 4])
    rng = np.random.default_rng(0)
    for _ in range(200):
        actions = policy.act(obs, masks, rng)[0]
        assert legal(masks, actions, policy.spec.action.nvec).all()
        assert legal(masks, policy.greedy(obs, masks), policy.spec.action.nvec).all()
        step = envs.step(policy.spec.action.to_env(actions))
        obs, masks = step.obs, step.masks


def gaussian(mean: float, log_std: float, *, squash: bool) -> tuple[GaussianHead, torch.Tensor]:
    spec = make_spec("box").action
    spec = type(spec)("box", (1,), low=(-1.0,), high=(1.0,), dtype="float32", squash=squash)
    head = GaussianHead(1, spec, NetConfig(log_std_init=log_std), np.random.default_rng(0))
    return head, torch.tensor([[mean]])


@pytest.mark.parametrize("mean", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("log_std", [0.0, -1.5, 0.5])
def test_gaussian_density_and_entropy(mean, log_std):
    head, params = gaussian(mean, log_std, squash=False)
    reference = torch.distributions.Normal(mean, math.exp(log_std))
    points = torch.linspace(-3, 3, 11)[:, None]
    found = head.log_prob(params.expand(11, 1), points)
    torch.testing.assert_close(found, reference.log_prob(points[:, 0]))
    torch.testing.assert_close(head.entropy(params)[0], reference.entropy())


@pytest.mark.parametrize("mean", [0.0, 0.7, -2.0, 4.0])
@pytest.mark.parametrize("log_std", [0.0, -0.7, -2.0, 0.5])
def test_squashed_density_integrates_to_one_and_its_entropy_is_the_integral(mean, log_std):
    head, params = gaussian(mean, log_std, squash=True)
    # Over y = tanh(u) in (-1, 1); the grid is fine where the density is.
    std = math.exp(log_std)
    u = torch.linspace(mean - 10 * std, mean + 10 * std, 200_001, dtype=torch.float64)[:, None]
    log_density = head.double().log_prob(params.double().expand(len(u), 1), u)
    y = torch.tanh(u[:, 0])
    dy = (1 - y.square()).numpy()  # by substitution: the integral over y is one over u
    density = log_density.exp().detach().numpy()
    grid = u[:, 0].numpy()
    finite = dy > 0
    total = np.trapezoid(np.where(finite, density * dy, 0.0), grid)
    assert total == pytest.approx(1.0, abs=1e-6)
    inner = np.where(finite, density * dy * log_density.detach().numpy(), 0.0)
    entropy = float(head.float().entropy(params)[0].detach())
    assert entropy == pytest.approx(-np.trapezoid(inner, grid), abs=2e-3)


def test_box_dimensions_are_independent_and_add_up():
    policy = make_policy(make_spec("squashed"), squash=True, policy_gain=1.0)
    head = policy.head
    with torch.no_grad():
        head.log_std.copy_(torch.tensor([-1.0, 0.0, 0.4]))
    params = torch.tensor([[0.3, -0.5, 1.0]])
    actions = torch.tensor([[0.1, 0.9, -0.4]])
    parts = []
    for i in range(3):
        one, mean = gaussian(float(params[0, i]), float(head.log_std[i].detach()), squash=True)
        parts.append((one.log_prob(mean, actions[:, i : i + 1]), one.entropy(mean)))
    torch.testing.assert_close(head.log_prob(params, actions), sum(p for p, _ in parts))
    torch.testing.assert_close(head.entropy(params), sum(e for _, e in parts))


def test_squashed_actions_reach_the_environment_through_tanh():
    policy = make_policy(make_spec("squashed"), squash=True)
    low, high = np.array(ACTIONS["box"].low), np.array(ACTIONS["box"].high)
    raw = np.array([[0.5, -1.0, 2.0]], np.float32)
    expected = low + (np.tanh(raw.astype(np.float64)) + 1) / 2 * (high - low)
    np.testing.assert_allclose(policy.spec.action.to_env(raw), expected, rtol=1e-6)


def test_squash_is_refused_where_there_are_no_bounds_to_scale_to():
    spec = EnvSpec("Free-v0", make_spec().obs, unbounded(ACTIONS["box"]))
    with pytest.raises(ConfigError, match=r"net\.squash: Free-v0 takes actions without bounds"):
        Policy(spec, NetConfig(squash=True), np.random.default_rng(0))
    assert Policy(spec, NetConfig(), np.random.default_rng(0)).spec.action.squash is False


def test_the_largest_entropy_is_that_of_the_uniform_policy():
    head = ragged_head(gain=0.0)
    entropy = float(head.entropy(head(torch.randn(1, 6), None))[0].detach())
    assert entropy == pytest.approx(math.log(2 * 5 * 3), rel=1e-6)
