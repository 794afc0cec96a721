"""The compiled kernels give NumPy's answers and torch's gradients, or say why they cannot be used."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fast_pairs import OBS, computing_with, fast_algorithm, gradients, make_pair, see
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gymsolve
from engines import needs_kernels
from gymsolve.algos.losses import value_loss
from gymsolve.errors import UsageError
from gymsolve.experience.returns import standardize
from gymsolve.fast import FastPolicy
from gymsolve.fast.activations import ACTIVATIONS
from gymsolve.fast.compiled import CompiledWork
from gymsolve.fast.optimizer import FastOptimizer
from gymsolve.fast.passes import NumpyPasses
from gymsolve.kernels import VARIABLE, find_kernels
from gymsolve.settings.config import NetConfig, OptimizerConfig, PPOConfig
from probes import CASES, make_spec

pytestmark = needs_kernels


def twins(kind: str, masked: bool, obs: str, **net: Any) -> tuple[FastPolicy, FastPolicy]:
    """One policy, computed by NumPy and by the kernels."""
    config = NetConfig.model_validate({"squash": kind == "squashed", "policy_gain": 1.0, **net})
    found = []
    for arithmetic in ("numpy", "c"):
        with computing_with(arithmetic):
            spec = make_spec(kind, masked=masked, obs=OBS[obs])
            found.append(FastPolicy(spec, config, np.random.default_rng(4)))
    assert isinstance(found[0]._passes, NumpyPasses) != isinstance(found[1]._passes, NumpyPasses)
    return found[0], found[1]


def assert_near(ours: np.ndarray, theirs: np.ndarray, about: str = "", terms: float = 1.0) -> None:
    """Up to rounding: relative to the largest number, since sums of large terms may leave small ones; `terms`
    is how large the terms are together, where that is known."""
    scale = max(float(np.abs(theirs).max(initial=1.0)), terms)
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=5e-6 * scale, err_msg=about)


@np.errstate(all="ignore")  # as where the passes are used: products of one row may warn of what they skip
@settings(max_examples=150)
@example(("box", False), "vector", "silu", [1, 1, 1], 127, False, 0.0, "both")  # terms of 6.5 that leave 0.3
@given(
    case=st.sampled_from(CASES),
    obs=st.sampled_from(list(OBS)),
    activation=st.sampled_from(list(ACTIVATIONS)),
    hidden=st.lists(st.integers(1, 70), min_size=1, max_size=3),
    batch=st.one_of(st.integers(1, 40), st.sampled_from([127, 128, 129, 300])),
    shared=st.booleans(),
    entropy=st.sampled_from([0.0, 0.3]),
    which=st.sampled_from(["both", "policy", "value"]),
)
def test_every_pass_of_every_shape(case, obs, activation, hidden, batch, shared, entropy, which):
    (kind, masked), net = case, {"activation": activation, "hidden": tuple(hidden), "shared": shared}
    plain, compiled = twins(kind, masked, obs, **net)
    seen, masks = see(plain.spec, batch, seed=batch)
    drawn = [policy.act(seen, masks, np.random.default_rng(7))[:3] for policy in (plain, compiled)]
    for theirs, ours in zip(*drawn, strict=True):
        assert ours.dtype == theirs.dtype
        assert_near(ours, theirs)
    assert_near(compiled.greedy(seen, masks), plain.greedy(seen, masks))
    assert_near(compiled.values(seen), plain.values(seen))

    with computing_with("c"):
        pair = make_pair(kind, masked, obs, **net)
    reached = {"policy": which != "value", "value": which != "policy"}
    theirs, ours = gradients(pair, rows=batch, entropy=entropy, masked=masked, leftover=77.0, **reached)
    for name, slope in theirs.items():
        expected = np.full_like(ours[name], 77.0) if slope is None else slope
        assert_near(ours[name], expected, name, terms=batch / 20)  # a term of some 0.05 and more for each row


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_over_their_whole_range(activation):
    plain, compiled = twins("discrete", False, "vector", activation=activation, hidden=(1,))
    for policy in (plain, compiled):
        views = policy.parameters.views(policy.parameters.values)
        for name in ("critic.0.weight", "value_head.weight"):
            views[name][...] = 0.0
            views[name][0, 0] = 1.0  # the value is now the activation of the first input
    x = np.concatenate([np.linspace(-30, 30, 20_001), np.logspace(-7, 1, 500), -np.logspace(-7, 1, 500)])
    seen = {"obs": np.stack([x, 0 * x, 0 * x], axis=1).astype(np.float32)}
    gap = np.abs(compiled.values(seen) - plain.values(seen))
    assert (gap <= 5e-7 + 2.5e-7 * np.abs(x)).all()  # a factor of x carries the rounding of what it scales


@pytest.mark.parametrize(("kind", "masked"), CASES)
def test_a_row_is_the_same_bits_wherever_it_stands(kind, masked):
    _, policy = twins(kind, masked, "vector", hidden=(24, 9))
    seen, masks = see(policy.spec, 50)
    actions = policy.act(seen, masks, np.random.default_rng(0))[0]
    samples = policy.samples(seen, actions, masks)
    work = policy.learning.evaluate(samples)
    whole = np.stack([work.log_probs, work.entropy, work.values])
    for start, stop in ((0, 1), (3, 20), (41, 50)):
        part = policy.learning.evaluate(samples.part(slice(start, stop)))
        np.testing.assert_array_equal(
            np.stack([part.log_probs, part.entropy, part.values]), whole[:, start:stop]
        )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", ["discrete", "box", "squashed"])
def test_what_is_not_a_number_stays_none(activation, kind):
    _, policy = twins(kind, False, "vector", activation=activation, hidden=(20, 7))
    seen, _ = see(policy.spec, 9)
    actions = policy.act(seen, None, np.random.default_rng(0))[0]
    seen["obs"][4, 1] = np.nan
    work = policy.learning.evaluate(policy.samples(seen, actions, None))
    for found in (work.log_probs, work.values):
        np.testing.assert_array_equal(np.isnan(found), np.arange(9) == 4)
    policy.learning.backward(work, np.ones(9, np.float32), 0.1, np.ones(9, np.float32))
    slopes = policy.parameters.views(policy.parameters.grads)
    # The slope of the last bias is the sum of those given, whatever the values are.
    assert {name for name, slope in slopes.items() if not np.isnan(slope).any()} == {"value_head.bias"}
    policy.parameters.values[0] = np.nan
    seen["obs"][4, 1] = 0.0
    assert np.isnan(policy.learning.evaluate(policy.samples(seen, actions, None)).log_probs).all()


OPTIONS = {
    "defaults": {},
    "raw": {"normalize_advantages": "none"},
    "value_clipping": {"clip_value": 0.2},
    "huber": {"value_loss": "huber", "huber_delta": 0.3},
    "huber_clipped": {"value_loss": "huber", "huber_delta": 0.3, "clip_value": 0.1},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("size", [1, 2, 63, 256])
@pytest.mark.parametrize("spoiled", [None, math.nan, math.inf])
def test_the_loss_of_ppo(options, size, spoiled):
    config = PPOConfig.model_validate(options)
    rng = np.random.default_rng(size)
    columns = rng.normal(size=(4, size + 5)).astype(np.float32)[:, 2 : 2 + size]  # a slice, as in training
    work = CompiledWork(size)
    work.log_probs[:], work.entropy[:], work.values[:] = rng.normal(size=(3, size))
    if spoiled is not None:
        work.log_probs[size // 2] = spoiled
    in_force = {
        "hyper/clip_coef": 0.2,
        "hyper/vf_coef": 0.7,
        "hyper/clip_value": options.get("clip_value", math.nan),
    }
    with computing_with("c"):
        algorithm = fast_algorithm("ppo", make_pair()[1], **options)
    ours = algorithm._surrogate(work, columns, in_force)
    theirs, slopes = torch_surrogate(config, work, columns, in_force)
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    for slope, expected in zip((work.d_log_probs, work.d_values), slopes, strict=True):
        np.testing.assert_allclose(slope, expected, rtol=2e-5, atol=1e-7)


def torch_surrogate(config, work, columns, in_force):
    """Means and slopes of PPO's loss by autograd, its formula written out once more."""
    log_probs, values = (torch.tensor(array, requires_grad=True) for array in (work.log_probs, work.values))
    old_log_probs, advantages, targets, old_values = (torch.tensor(column.copy()) for column in columns)
    if config.normalize_advantages == "minibatch" and len(advantages) > 1:
        advantages = torch.from_numpy(standardize(advantages.numpy()))
    clip, limit = in_force["hyper/clip_coef"], in_force["hyper/clip_value"]
    log_ratio = log_probs - old_log_probs
    ratio = log_ratio.exp()
    gain = torch.minimum(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))
    critic = value_loss(config, values, targets)
    if config.clip_value is not None:
        near = old_values + (values - old_values).clamp(-limit, limit)
        critic = torch.maximum(critic, value_loss(config, near, targets))
    (in_force["hyper/vf_coef"] * critic.mean() - gain.mean()).backward()
    clipped = ((ratio - 1).abs() > clip).float()
    rows = (ratio - 1 - log_ratio, gain, critic, torch.tensor(work.entropy), clipped, ratio)
    return [float(row.detach().mean()) for row in rows], (log_probs.grad.numpy(), values.grad.numpy())


def test_a_gradient_that_is_not_a_number_reaches_every_weight():
    _, policy = twins("box", False, "vector", hidden=(5,))
    with computing_with("c"):
        optimizer = FastOptimizer(OptimizerConfig(), policy.parameters)
    policy.parameters.grads[:] = 0.1
    policy.parameters.grads[3] = np.nan
    assert math.isnan(optimizer.step(learning_rate=1e-3, max_grad_norm=0.5))
    assert np.isnan(policy.parameters.values).all()


def test_wrong_arrays_are_refused():
    _, policy = twins("multi_discrete", True, "many_categories", hidden=(5,))
    seen, masks = see(policy.spec, 4)
    actions = policy.act(seen, masks, np.random.default_rng(0))[0]
    samples = policy.samples(seen, actions, masks)
    assert samples.features.lookups is not None
    beyond = samples.features._replace(lookups=samples.features.lookups + 300)
    for wrong, error in (
        (samples._replace(actions=actions + 5), IndexError),
        (samples._replace(features=beyond), IndexError),
        (samples._replace(actions=actions[:, :2].copy()), ValueError),
        (samples._replace(actions=actions.astype(np.float32)), ValueError),
        (samples._replace(illegal=samples.illegal[:3]), ValueError),
        (samples._replace(features=samples.features._replace(dense=np.ones((9, 4), np.float32))), ValueError),
    ):
        with pytest.raises(error):
            policy.learning.evaluate(wrong)
    work = policy.learning.critic_values(samples)
    slopes = np.ones(4, np.float32)
    with pytest.raises(RuntimeError, match="did not compute"):
        policy.learning.backward(work, slopes, 0.0, slopes)


def test_the_variable_decides():
    with computing_with("numpy"):
        assert find_kernels().kind == "numpy"
        assert isinstance(FastPolicy(make_spec(), NetConfig(), np.random.default_rng(0))._passes, NumpyPasses)
    with computing_with("c"):
        assert find_kernels().kind == "c"
    with computing_with("fortran"), pytest.raises(UsageError, match=f"{VARIABLE}: 'fortran'.*c or numpy"):
        find_kernels()


def doctor(package: Path) -> str:
    """What `gymsolve doctor` says about the kernels of a copy of the package."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    environment.pop(VARIABLE, None)
    asked = [sys.executable, "-m", "gymsolve", "doctor"]
    told = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout
    return next(line for line in told.splitlines() if " kernels " in line)


def test_kernels_of_another_source_or_none_are_not_used(tmp_path):
    package = tmp_path / "gymsolve"
    shutil.copytree(Path(gymsolve.__file__).parent, package)
    assert "compiled for this machine" in doctor(package)
    with (package / "fast" / "kernels.c").open("a") as source:
        source.write("/* changed */")
    assert "were built from another version of their source; torch trains" in doctor(package)
    for built in package.glob("_kernels.*.so"):
        built.unlink()
    assert "optional: the compiled ones are not built" in doctor(package)
