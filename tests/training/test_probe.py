"""Measures of a network, on networks and layers whose answer is known."""

import numpy as np
import pytest

from gymsolve.training.health.probe import churn, dormant_share, feature_rank


def brute_dormant(layers):
    dormant = total = 0
    for layer in layers.values():
        means = [sum(abs(float(x)) for x in column) / len(column) for column in layer.T]
        dormant += sum(mean <= 0.025 * sum(means) / len(means) for mean in means)
        total += len(means)
    return dormant / total


def test_dormant_units_are_those_next_to_silent_in_their_layer():
    rng = np.random.default_rng(0)
    layers = {"a": rng.normal(size=(40, 10)).astype(np.float32), "b": rng.normal(size=(40, 6)) * 1e-6}
    assert dormant_share(layers) == 0.0  # a quiet layer is not a dormant one
    layers["a"][:, 3] = 0.0
    layers["a"][:, 7] *= 0.01
    layers["b"][:, :2] = 0.0
    assert dormant_share(layers) == 4 / 16 == brute_dormant(layers)
    assert dormant_share({"dead": np.zeros((5, 4))}) == 1.0


def test_rank_of_known_features():
    rng = np.random.default_rng(1)
    assert feature_rank(np.zeros((8, 3))) == 0.0
    assert feature_rank(np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0])) == pytest.approx(1.0)
    turned, _ = np.linalg.qr(rng.normal(size=(20, 5)))
    assert feature_rank(turned * 3.0) == pytest.approx(5.0)
    for shape in ((30, 7), (7, 30)):
        features = rng.normal(size=shape)
        energy = np.linalg.svd(features, compute_uv=False) ** 2
        assert feature_rank(features) == pytest.approx(energy.sum() ** 2 / (energy**2).sum())


def test_churn_counts_observations_whose_action_changed():
    before = np.array([[0, 1], [2, 1], [0, 0], [1, 1]])
    after = np.array([[0, 1], [2, 0], [1, 1], [1, 1]])
    assert churn(before, after, box=False) == 0.5
    assert churn(np.zeros((4, 2)), np.array([[0.0, 0.009], [0.02, 0.0], [0, 0], [0, -0.5]]), box=True) == 0.5
