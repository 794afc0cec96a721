"""What is measured of a network means the same on both engines."""

import numpy as np
import pytest
from fast_pairs import OBS, both_algorithms, make_pair, see

from engines import needs_kernels
from gymsolve.experience.collect import Collector
from probes import ALGORITHMS, START, RandomEnvs

CLOSE = {"rtol": 2e-4, "atol": 1e-6}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("obs", OBS)
def test_hidden_layers_and_inputs_are_the_same(obs, shared):
    torchs, fast = make_pair(obs=obs, shared=shared, normalize_obs="running")
    batch, _ = see(fast.spec, 30)
    for policy in (torchs, fast):
        policy.observe(batch)
    for one, other in ((torchs.hidden(batch), fast.hidden(batch)), (torchs.seen(batch), fast.seen(batch))):
        assert list(one) == list(other)
        for name in one:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-5, atol=1e-5, err_msg=name)
    assert torchs.parameter_groups() == fast.parameter_groups()


def test_hidden_layers_are_what_the_head_reads():
    torchs, fast = make_pair(activation="relu")
    batch, _ = see(fast.spec, 30)
    hidden = fast.hidden(batch)
    assert [layer.shape for layer in hidden.values()] == [(30, 8), (30, 6)] * 2
    assert min(layer.min() for layer in hidden.values()) == 0.0  # after the activation
    head = torchs.arrays()
    logits = hidden["actor.3"] @ head["_head.linear.weight"].T + head["_head.linear.bias"]
    np.testing.assert_array_equal(logits.argmax(axis=1), fast.greedy(batch, None)[:, 0])


def test_spread_of_boxes_and_of_nothing_else():
    for policy in make_pair("box"):
        np.testing.assert_allclose(policy.log_std(), [-0.4] * 3, rtol=1e-6)
    assert [policy.log_std() for policy in make_pair()] == [None, None]


@needs_kernels
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_gradients_by_part_are_the_same_and_add_up(name, shared):
    pair = make_pair(shared=shared)
    limits = {"max_grad_norm": 1e-3, "learning_rate": 1e-3}
    options = limits | ({"num_epochs": 1, "num_minibatches": 1} if name == "ppo" else {})
    algorithms = both_algorithms(name, pair, **options)
    rollout = Collector(RandomEnvs(pair[1].spec), pair[1], 40, 1).collect(np.random.default_rng(0))
    rows = [one.update(rollout, START, np.random.default_rng(3)) for one in algorithms]
    assert rows[0].keys() == rows[1].keys()
    assert [row["train/grad_clipped_share"] for row in rows] == [1.0, 1.0]
    norms = [
        one.optimizer.group_norms(policy.parameter_groups())
        for one, policy in zip(algorithms, pair, strict=True)
    ]
    assert set(norms[0]) == {"policy", "value"} | ({"trunk"} if shared else set())
    for part, norm in norms[0].items():
        np.testing.assert_allclose(norm, norms[1][part], err_msg=part, **CLOSE)
    pieces = [
        one.optimizer.gradients(two.parameter_groups()) for one, two in zip(algorithms, pair, strict=True)
    ]
    for part, norm in norms[0].items():
        for found in pieces:
            whole = np.concatenate([piece.ravel() for piece in found[part]])
            np.testing.assert_allclose(np.linalg.norm(whole), norm, err_msg=part, **CLOSE)
    if name != "reinforce":  # which takes a step for the policy, and others for the value
        together = np.sqrt(sum(norm**2 for norm in norms[0].values()))
        np.testing.assert_allclose(together, rows[0]["train/grad_norm"], rtol=1e-4)
    elif not shared:
        np.testing.assert_allclose(norms[0]["policy"], rows[0]["train/grad_norm"], rtol=1e-4)


@needs_kernels
@pytest.mark.parametrize("name", ALGORITHMS)
def test_weights_are_all_trainable_numbers(name):
    pair = make_pair()
    total = sum(parameter.detach().sum().item() for parameter in pair[0].parameters())
    for one, policy in zip(both_algorithms(name, pair), pair, strict=True):
        assert one.optimizer.weights().sum() == pytest.approx(total, rel=1e-4)
        before = one.optimizer.weights()
        rollout = Collector(RandomEnvs(policy.spec), policy, 40, 1).collect(np.random.default_rng(0))
        one.update(rollout, START, np.random.default_rng(3))
        assert not np.array_equal(before, one.optimizer.weights())
