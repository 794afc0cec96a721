"""Every hand-derived gradient against autograd."""

import numpy as np
import pytest
import torch
from fast_pairs import NORMS, OBS, make_pair, see

from probes import CASE_IDS, CASES, evaluate_steps

pytestmark = pytest.mark.usefixtures("either_kernels")

every_case = pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)
ROWS = 37


def gradients(pair, *, policy: bool = True, value: bool = True, entropy: float = 0.3, masked: bool = False):
    """Of a loss with a slope of its own for each row's log-probability and value, by both engines."""
    torchs, fast = pair
    obs, masks = see(torchs.spec, ROWS, seed=2)
    masks = masks if masked else None
    actions = torchs.act(obs, masks, np.random.default_rng(1))[0]
    a, c = np.random.default_rng(2).normal(size=(2, ROWS)).astype(np.float32)

    legal = None if masks is None else torch.from_numpy(masks)
    log_probs, entropies, values = evaluate_steps(
        torchs, torchs.tensors(obs), torch.from_numpy(actions), legal
    )[:3]
    loss = torch.zeros(())
    if policy:
        loss = loss + (torch.from_numpy(a) * log_probs).sum() + entropy * entropies.sum()
    if value:
        loss = loss + (torch.from_numpy(c) * values).sum()
    names, parameters = zip(*torchs.named_parameters(), strict=True)
    slopes = torch.autograd.grad(loss, parameters, allow_unused=True)
    theirs = {n: None if s is None else s.numpy() for n, s in zip(names, slopes, strict=True)}

    fast.parameters.grads[:] = np.nan  # nothing may be left over or added to
    work = fast.evaluate(fast.samples(obs, actions, masks))
    np.testing.assert_allclose(work.log_probs, log_probs.detach().numpy(), rtol=2e-6, atol=3e-6)
    np.testing.assert_allclose(work.entropy, entropies.detach().numpy(), rtol=2e-6, atol=3e-6)
    np.testing.assert_allclose(work.values, values.detach().numpy(), rtol=2e-6, atol=3e-6)
    fast.backward(work, a if policy else None, entropy if policy else 0.0, c if value else None)
    return theirs, fast.parameters.views(fast.parameters.grads)


def assert_same(theirs, ours) -> None:
    assert list(theirs) == list(ours)
    for name, slope in theirs.items():
        if slope is None:  # this loss does not reach it
            assert np.isnan(ours[name]).all(), name
            continue
        # Sums of `ROWS` terms in float32: the error is relative to the terms, not to what they leave.
        scale = max(1.0, float(np.abs(slope).max()))
        np.testing.assert_allclose(ours[name], slope, rtol=1e-5, atol=3e-6 * scale, err_msg=name)


@every_case
@pytest.mark.parametrize("obs", OBS)
@pytest.mark.parametrize("shared", [False, True])
def test_every_head_and_observation(kind, masked, obs, shared):
    assert_same(*gradients(make_pair(kind, masked, obs, shared=shared), masked=masked))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shared", [False, True])
def test_every_normaliser(norm, shared):
    pair = make_pair("squashed", False, "dict", shared=shared, **NORMS[norm])
    for policy in pair:
        policy.observe(see(policy.spec, 50, seed=3)[0])
    assert_same(*gradients(pair))


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu", "gelu", "silu", "leaky_relu"])
@pytest.mark.parametrize("hidden", [(5,), (16, 12, 8)])
def test_every_activation_and_depth(activation, hidden):
    assert_same(*gradients(make_pair("box", activation=activation, hidden=hidden)))


@pytest.mark.parametrize("kind", ["multi_discrete", "squashed"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("which", ["policy", "value"])
def test_a_loss_of_one_half_leaves_the_gradients_of_the_other_alone(kind, shared, which):
    wanted = {"policy": which == "policy", "value": which == "value"}
    theirs, ours = gradients(make_pair(kind, shared=shared), **wanted)
    assert any(slope is None for slope in theirs.values())
    assert_same(theirs, ours)


@pytest.mark.parametrize("kind", ["discrete", "squashed"])
def test_no_entropy_bonus(kind):
    assert_same(*gradients(make_pair(kind), entropy=0.0))


def test_a_row_without_any_legal_choice_teaches_nothing_through_its_logits():
    torchs, fast = make_pair("multi_discrete", True)
    obs, masks = see(torchs.spec, 1)
    masks[:] = False
    actions = np.zeros((1, 3), np.int64)
    log_probs = evaluate_steps(
        torchs, torchs.tensors(obs), torch.from_numpy(actions), torch.from_numpy(masks)
    ).log_probs
    log_probs.sum().backward()
    work = fast.evaluate(fast.samples(obs, actions, masks))
    fast.backward(work, np.ones(1, np.float32), 0.0, np.zeros(1, np.float32))
    assert not torchs.head.linear.weight.grad.any()
    assert not fast.parameters.views(fast.parameters.grads)["_head.linear.weight"].any()
    assert work.log_probs[0] == pytest.approx(float(log_probs.detach()[0]), rel=1e-6)
