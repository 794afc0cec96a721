"""Further losses: added to the algorithm's own, stepped by its optimizer, measured with the rest."""

import numpy as np
import pytest
import torch
from torch import nn

from gymsolve.algos.auxiliary import Auxiliary
from probes import ALGORITHMS, START, gather, make_case, same_arrays


class Echo(Auxiliary):
    """Predicts an observation from the features, with a layer of its own."""

    name = "echo"

    def __init__(self, coefficient: float) -> None:
        self.coefficient = coefficient
        self.layer = nn.Linear(8, 3)
        nn.init.constant_(self.layer.weight, 0.01)

    def parameters(self):
        return self.layer.named_parameters()

    def loss(self, policy, minibatch, evaluated):
        error = (self.layer(evaluated.features) - minibatch.obs["obs"]).square().mean()
        return self.coefficient * error, {"train/echo": error.detach()}


def updated(algo, *auxiliaries):
    envs, policy = make_case("discrete")
    rollout = gather(envs, policy, 16)
    kind, config = ALGORITHMS[algo]
    algorithm = kind(config(), policy, auxiliaries)
    metrics = algorithm.update(rollout, START, np.random.default_rng(0))
    return policy, algorithm, metrics


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_loss_without_weight_changes_nothing_of_the_policy(algo):
    plain, _, _ = updated(algo)
    policy, _, metrics = updated(algo, Echo(0.0))
    for name, array in plain.arrays().items():  # up to the rounding of a longer gradient's norm
        np.testing.assert_allclose(policy.arrays()[name], array, rtol=1e-5, atol=1e-7, err_msg=name)
    assert metrics["train/echo"] > 0


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_its_gradient_reaches_the_policy_and_its_own_weights(algo):
    plain, _, before = updated(algo)
    echo = Echo(1.0)
    start = echo.layer.weight.detach().clone()
    policy, algorithm, metrics = updated(algo, echo)
    assert not same_arrays(plain.arrays(), policy.arrays())
    assert not torch.equal(echo.layer.weight, start)
    assert {"echo.weight/exp_avg", "echo.weight/square_avg"} & {*algorithm.optimizer.arrays()}
    assert metrics["train/loss"] > before["train/loss"]
