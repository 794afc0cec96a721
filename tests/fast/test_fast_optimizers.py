"""The optimizers on the flat buffer against torch's, through 100 steps and round trips."""

import numpy as np
import pytest
import torch
from fast_pairs import assert_close, make_pair

from engines import needs_kernels
from gymsolve.algos.optimizer import Optimizer
from gymsolve.errors import CheckpointError
from gymsolve.fast.optimizer import FastOptimizer
from gymsolve.settings.config import OptimizerConfig

pytestmark = needs_kernels

CONFIGS = {
    "adam": OptimizerConfig(name="adam"),
    "adam_decay": OptimizerConfig(name="adam", betas=(0.8, 0.99), eps=1e-4, weight_decay=0.05),
    "adamw": OptimizerConfig(name="adamw", weight_decay=0.1),
    "rmsprop": OptimizerConfig(name="rmsprop", alpha=0.9),
    "rmsprop_momentum": OptimizerConfig(name="rmsprop", momentum=0.5, weight_decay=0.05),
    "sgd": OptimizerConfig(name="sgd", weight_decay=0.05),
    "sgd_momentum": OptimizerConfig(name="sgd", momentum=0.9),
}
every_optimizer = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
# A hundred steps add up a hundred roundings of float32 (6e-8 each).
HUNDRED = {"rtol": 2e-5, "atol": 2e-6}


class Twins:
    """Both optimizers on the same weights, fed the same made-up gradients."""

    def __init__(self, config: OptimizerConfig, hidden: tuple[int, ...] = (8, 6)) -> None:
        self.config, self.pair = config, make_pair("box", hidden=hidden)
        self.torchs = Optimizer(config, self.pair[0].named_parameters())
        self.fast = FastOptimizer(config, self.pair[1].parameters)
        self.rng = np.random.default_rng(0)

    def step(self, loss="both", *, rate=0.01, limit=0.5, size=1.0) -> None:
        torchs, fast = self.pair
        grads = (self.rng.normal(size=fast.parameters.size) * 0.03 * size).astype(np.float32)
        fast.parameters.grads[:] = grads
        reached = {s.name for s in fast.parameters.slots if loss == "both" or loss in s.losses}
        views = fast.parameters.views(grads)
        total = sum(
            (p * torch.from_numpy(views[name].copy())).sum()
            for name, p in torchs.named_parameters()
            if name in reached
        )
        theirs = self.torchs.step(total, learning_rate=rate, max_grad_norm=limit)
        ours = self.fast.step(loss, learning_rate=rate, max_grad_norm=limit)
        assert ours == pytest.approx(float(theirs), rel=1e-5)

    def check(self, **tolerance) -> None:
        assert_close(self.pair[0].arrays(), self.pair[1].arrays(), **(tolerance or HUNDRED))
        theirs, ours = self.torchs.arrays(), self.fast.arrays()
        assert_close(dict(sorted(theirs.items())), dict(sorted(ours.items())), **(tolerance or HUNDRED))


@every_optimizer
def test_a_hundred_steps_with_changing_rates_and_clipping(config):
    twins = Twins(config)
    for k in range(100):
        twins.step(rate=0.01 / (1 + k % 3), limit=(0.5, 0.0, 2.0)[k % 3], size=1 + k % 4)
    twins.check()


@pytest.mark.parametrize("name", ["adam", "adam_decay", "adamw"])
def test_adam_on_layers_of_odd_sizes(name):
    twins = Twins(CONFIGS[name], hidden=(33, 17))
    for k in range(100):
        twins.step(rate=0.01 / (k + 1))
    twins.check()


@every_optimizer
def test_steps_of_one_loss_leave_the_moments_of_the_rest_alone(config):
    twins = Twins(config)
    for _ in range(8):
        twins.step("policy")
        for _ in range(3):
            twins.step("value")
    twins.check()
    for _ in range(3):
        twins.step("both")  # with different counts behind them
    twins.check()


@every_optimizer
def test_what_was_never_stepped_has_no_state(config):
    twins = Twins(config)
    assert twins.fast.arrays() == {}
    twins.step("value")
    assert twins.torchs.arrays().keys() == twins.fast.arrays().keys()


@every_optimizer
def test_moments_cross_from_one_engine_to_the_other_and_back(config):
    twins = Twins(config)
    for _ in range(5):
        twins.step("policy")
        twins.step("value")
    theirs, ours = twins.torchs.arrays(), twins.fast.arrays()
    twins.fast.load(theirs, {})
    assert_close(dict(sorted(theirs.items())), dict(sorted(twins.fast.arrays().items())), rtol=0, atol=0)
    twins.torchs.load(ours, {})
    assert_close(dict(sorted(ours.items())), dict(sorted(twins.torchs.arrays().items())), rtol=0, atol=0)
    for _ in range(5):
        twins.step("both")
    twins.check()


@every_optimizer
def test_saved_moments_continue_bit_for_bit(config):
    straight, broken = Twins(config), Twins(config)
    for _ in range(3):
        straight.step()
        broken.step()
    saved = broken.fast.arrays()
    fresh = FastOptimizer(config, broken.pair[1].parameters)
    fresh.load(saved, {})
    broken.fast = fresh
    for _ in range(3):
        straight.step("value")
        broken.step("value")
    assert_close(straight.pair[1].arrays(), broken.pair[1].arrays(), rtol=0, atol=0)


@every_optimizer
def test_a_reset_forgets(config):
    twins = Twins(config)
    for _ in range(3):
        twins.step()
    twins.fast.reset()
    twins.torchs.reset()
    assert twins.fast.arrays() == {}
    for _ in range(3):
        twins.step()
    twins.check()


def test_moments_of_another_network_are_refused():
    twins = Twins(CONFIGS["adam"])
    twins.step()
    _, other = make_pair("box", hidden=(8, 7))
    with pytest.raises(CheckpointError, match="does not fit this network"):
        FastOptimizer(CONFIGS["adam"], other.parameters).load(twins.fast.arrays(), {})
    _, smaller = make_pair("box", shared=True)
    with pytest.raises(CheckpointError, match="does not fit this network"):
        FastOptimizer(CONFIGS["adam"], smaller.parameters).load(twins.fast.arrays(), {})


@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_a_gradient_that_is_not_finite_shows(limit):
    _, policy = make_pair()
    optimizer = FastOptimizer(CONFIGS["adam"], policy.parameters)
    policy.parameters.grads[:] = 0.0
    policy.parameters.grads[5] = np.nan
    assert np.isnan(optimizer.step(learning_rate=0.1, max_grad_norm=limit))
    assert np.isnan(policy.parameters.values).all()


def test_moments_too_small_to_matter_become_zero_and_the_rest_stay():
    twins = Twins(CONFIGS["adam"])
    twins.step()
    saved = twins.fast.arrays()
    saved["actor.0.weight/exp_avg"][0] = 1e-40  # subnormal
    saved["actor.0.weight/exp_avg"][1] = -1e-31
    twins.fast.load(saved, {})
    twins.fast.flush()
    saved["actor.0.weight/exp_avg"][:2] = 0.0
    assert_close(saved, twins.fast.arrays(), rtol=0, atol=0)
