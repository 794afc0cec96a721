"""Every gradient of the compiled kernels against autograd."""

import numpy as np
import pytest
import torch
from fast_pairs import NORMS, OBS, gradients, make_pair, see

from engines import needs_kernels
from probes import CASE_IDS, CASES, evaluate_steps

pytestmark = needs_kernels

every_case = pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)


def assert_same(theirs, ours) -> None:
    assert list(theirs) == list(ours)
    for name, slope in theirs.items():
        if slope is None:  # this loss does not reach it
            assert np.isnan(ours[name]).all(), name
            continue
        # Sums of 37 terms in float32: the error is relative to the terms, not to what they leave.
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
    work = fast.learning.evaluate(fast.samples(obs, actions, masks))
    fast.learning.backward(work, np.ones(1, np.float32), 0.0, np.zeros(1, np.float32))
    assert not torchs.head.linear.weight.grad.any()
    assert not fast.parameters.views(fast.parameters.grads)["_head.linear.weight"].any()
    assert work.log_probs[0] == pytest.approx(float(log_probs.detach()[0]), rel=1e-6)
