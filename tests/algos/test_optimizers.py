"""The optimizer against torch's own, through rate changes, resets and round trips."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from gymsolve.algos.optimizer import Optimizer
from gymsolve.errors import CheckpointError
from gymsolve.settings.config import OptimizerConfig

CONFIGS = {
    "adam": OptimizerConfig(name="adam", betas=(0.8, 0.99), eps=1e-4),
    "adamw": OptimizerConfig(name="adamw", weight_decay=0.1),
    "rmsprop": OptimizerConfig(name="rmsprop", alpha=0.9),
    "rmsprop_momentum": OptimizerConfig(name="rmsprop", momentum=0.5),
    "sgd": OptimizerConfig(name="sgd", weight_decay=0.05),
    "sgd_momentum": OptimizerConfig(name="sgd", momentum=0.9),
}


def network() -> nn.Linear:
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(6.0).reshape(2, 3) / 5)
        layer.bias.copy_(torch.tensor([0.3, -0.3]))
    return layer


def torchs(config: OptimizerConfig, parameters) -> torch.optim.Optimizer:
    decay, plain = config.weight_decay, {"foreach": False}
    if config.name == "sgd":
        return torch.optim.SGD(parameters, lr=1.0, momentum=config.momentum, weight_decay=decay, **plain)
    if config.name == "rmsprop":
        options = {"alpha": config.alpha, "eps": config.eps, "momentum": config.momentum}
        return torch.optim.RMSprop(parameters, lr=1.0, weight_decay=decay, **options, **plain)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.name]
    return kind(parameters, lr=1.0, betas=config.betas, eps=config.eps, weight_decay=decay, **plain)


def loss_of(layer: nn.Linear, k: int) -> torch.Tensor:
    x = torch.tensor([[1.0, -0.5 * k, 0.2], [0.3, 1.0, -1.0]])
    return (layer(x) - k % 3).square().mean()


def run(optimizer: Optimizer, layer: nn.Linear, rates, begin: int = 0) -> None:
    for k, rate in enumerate(rates, begin):
        optimizer.step(loss_of(layer, k), learning_rate=rate, max_grad_norm=0.0)


def run_torchs(optimizer: torch.optim.Optimizer, layer: nn.Linear, rates, begin: int = 0) -> None:
    for k, rate in enumerate(rates, begin):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss_of(layer, k).backward()
        optimizer.step()


def assert_equal(one: nn.Linear, other: nn.Linear, **tolerance) -> None:
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, **tolerance)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_new_rate_acts_at_once_and_keeps_the_moments(config):
    mine, theirs = network(), network()
    rates = [0.1, 0.1, 0.1, 0.001, 0.05, 0.0, 0.02]
    run(Optimizer(config, mine.named_parameters()), mine, rates)
    run_torchs(torchs(config, theirs.parameters()), theirs, rates)
    assert_equal(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_reset_forgets_the_moments(config):
    mine, theirs = network(), network()
    optimizer = Optimizer(config, mine.named_parameters())
    run(optimizer, mine, [0.1] * 4)
    run_torchs(torchs(config, theirs.parameters()), theirs, [0.1] * 4)
    optimizer.reset()
    assert optimizer.arrays() == {}
    run(optimizer, mine, [0.1] * 3, begin=4)
    run_torchs(torchs(config, theirs.parameters()), theirs, [0.1] * 3, begin=4)  # a new one
    assert_equal(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_saved_moments_continue_bit_for_bit(config):
    straight, broken = network(), network()
    run(Optimizer(config, straight.named_parameters()), straight, [0.1, 0.03] * 4)
    first = Optimizer(config, broken.named_parameters())
    run(first, broken, [0.1, 0.03] * 2)
    saved, continued = first.arrays(), copy.deepcopy(broken)
    run(first, broken, [1.0])  # the copies are not touched by what comes later
    second = Optimizer(config, continued.named_parameters())
    second.load(saved, {})
    assert second.arrays().keys() == saved.keys()
    run(second, continued, [0.1, 0.03] * 2, begin=4)
    assert_equal(straight, continued, rtol=0, atol=0)


def test_moments_of_another_network_are_refused():
    layer = network()
    optimizer = Optimizer(CONFIGS["adam"], layer.named_parameters())
    run(optimizer, layer, [0.1])
    for other in (nn.Linear(4, 2), nn.Linear(3, 2, bias=False)):
        with pytest.raises(CheckpointError, match="does not fit this network"):
            Optimizer(CONFIGS["adam"], other.named_parameters()).load(optimizer.arrays(), {})


@pytest.mark.parametrize("limit", [0.0, 0.1, 1e6])
def test_the_reported_norm_is_that_of_the_whole_gradient_before_clipping(limit):
    layer = network()
    slopes = torch.autograd.grad(loss_of(layer, 1), list(layer.parameters()))
    norm = np.sqrt(sum(float(g.square().sum()) for g in slopes))
    before = [p.detach().clone() for p in layer.parameters()]
    found = Optimizer(CONFIGS["sgd"].model_copy(update={"weight_decay": 0.0}), layer.named_parameters()).step(
        loss_of(layer, 1), learning_rate=1.0, max_grad_norm=limit
    )
    assert float(found) == pytest.approx(norm, rel=1e-5)
    factor = min(1.0, limit / norm) if limit else 1.0
    for old, new, slope in zip(before, layer.parameters(), slopes, strict=True):
        torch.testing.assert_close(new.detach(), old - factor * slope, rtol=1e-4, atol=1e-6)


WITHOUT_COMPILER = """
import sys
import torch
from gymsolve.algos.optimizer import Optimizer
from gymsolve.settings.config import OptimizerConfig

layer = torch.nn.Linear(2, 1)
for name in ("adam", "adamw", "rmsprop", "sgd"):
    optimizer = Optimizer(OptimizerConfig(name=name), layer.named_parameters())
    optimizer.step(layer(torch.ones(1, 2)).sum(), learning_rate=0.1, max_grad_norm=0.5)
print("torch._dynamo" in sys.modules)
"""


def test_a_first_step_does_not_import_torchs_compiler():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_stepped_parameters_stay_what_the_network_computes_with():
    layer = network()
    optimizer = Optimizer(CONFIGS["sgd_momentum"], layer.named_parameters())
    with torch.no_grad():
        layer.weight.copy_(torch.ones(2, 3))  # as loading a checkpoint does
    run(optimizer, layer, [0.1])
    assert not torch.equal(layer.weight, torch.ones(2, 3))
    torch.testing.assert_close(layer.weight, torch.ones(2, 3), rtol=0, atol=0.5)
