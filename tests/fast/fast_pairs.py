"""The same policy on both engines, and ways to compare them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from gymsolve.fast import FastAlgorithm, FastPolicy, build_algorithm
from gymsolve.kernels import VARIABLE
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import NetConfig
from gymsolve.spec import Array, EnvSpec, ObsSpec
from probes import ALGORITHMS, RandomEnvs, evaluate_steps, make_algorithm, make_spec, vector

OBS = {
    "vector": {"obs": vector(3)},
    "bounded": {"obs": vector(3, low=(-4.0, -3.0, 0.0), high=(4.0, 3.0, 0.0))},
    "one_hot": {"obs": ObsSpec("discrete", (), "int64", nvec=(7,))},
    "many_categories": {"obs": ObsSpec("discrete", (2,), "int64", nvec=(300, 5))},
    "dict": {
        "body/joint.speed": vector(2),
        "cell": ObsSpec("discrete", (), "int64", nvec=(300,)),
        "plate": ObsSpec("vector", (2, 2), "float64", low=(-9.0,) * 4, high=(9.0,) * 4),
        "dials": ObsSpec("discrete", (2,), "int64", nvec=(2, 3)),
        "flags": ObsSpec("vector", (2,), "int8"),
    },
}
NORMS = {
    "plain": {},
    "running": {"normalize_obs": "running", "normalize_values": "running"},
    "popart": {"normalize_obs": "running", "normalize_values": "popart"},
    "bounds": {"normalize_obs": "bounds"},
}


@contextmanager
def computing_with(kind: str) -> Iterator[None]:
    """Policies and optimizers built inside compute with `kind`: c or numpy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kind)
        yield


def make_pair(
    kind: str = "discrete", masked: bool = False, obs: str = "vector", **net: Any
) -> tuple[Policy, FastPolicy]:
    """One seed, two engines; the policy has an opinion, so that comparisons mean something."""
    spec = make_spec(kind, masked=masked, obs=OBS[obs])
    given = {"hidden": (8, 6), "squash": kind == "squashed", "policy_gain": 1.0, "log_std_init": -0.4, **net}
    config = NetConfig.model_validate(given)
    return (
        Policy(spec, config, np.random.default_rng(4)),
        FastPolicy(spec, config, np.random.default_rng(4)),
    )


def fast_algorithm(name: str, policy: FastPolicy, **options: Any) -> FastAlgorithm:
    return build_algorithm(ALGORITHMS[name][1].model_validate(options), policy)


def both_algorithms(name: str, pair: tuple[Policy, FastPolicy], **options: Any) -> tuple[Any, Any]:
    return make_algorithm(name, pair[0], **options), fast_algorithm(name, pair[1], **options)


def gradients(
    pair: tuple[Policy, FastPolicy],
    *,
    rows: int = 37,
    policy: bool = True,
    value: bool = True,
    entropy: float = 0.3,
    masked: bool = False,
    leftover: float = np.nan,
) -> tuple[dict[str, Array | None], dict[str, Array]]:
    """Of a loss with a slope of its own for each row's log-probability and value, by both engines."""
    torchs, fast = pair
    obs, masks = see(torchs.spec, rows, seed=2)
    masks = masks if masked else None
    actions = torchs.act(obs, masks, np.random.default_rng(1))[0]
    a, c = np.random.default_rng(2).normal(size=(2, rows)).astype(np.float32)

    legal = None if masks is None else torch.from_numpy(masks)
    evaluated = evaluate_steps(torchs, torchs.tensors(obs), torch.from_numpy(actions), legal)[:3]
    log_probs, entropies, values = evaluated
    loss = torch.zeros(())
    if policy:
        loss = loss + (torch.from_numpy(a) * log_probs).sum() + entropy * entropies.sum()
    if value:
        loss = loss + (torch.from_numpy(c) * values).sum()
    names, parameters = zip(*torchs.named_parameters(), strict=True)
    slopes = torch.autograd.grad(loss, parameters, allow_unused=True)
    theirs = {n: None if s is None else s.numpy() for n, s in zip(names, slopes, strict=True)}

    fast.parameters.grads[:] = leftover  # nothing may be left over or added to
    samples = fast.samples(obs, actions, masks)
    if policy:
        work = fast.learning.evaluate(samples)
        found = (work.log_probs, work.entropy, work.values)
        for ours, expected in zip(found, evaluated, strict=True):
            scale = max(1.0, float(expected.detach().abs().max()))
            np.testing.assert_allclose(ours, expected.detach().numpy(), rtol=2e-6, atol=3e-6 * scale)
    else:
        work = fast.learning.critic_values(samples)
        np.testing.assert_allclose(work.values, values.detach().numpy(), rtol=2e-6, atol=3e-6)
    fast.learning.backward(work, a if policy else None, entropy if policy else 0.0, c if value else None)
    return theirs, fast.parameters.views(fast.parameters.grads)


def see(spec: EnvSpec, count: int, seed: int = 0) -> tuple[dict[str, Array], Array | None]:
    """Observations and masks, whatever the spec says they are."""
    return RandomEnvs(spec, count).reset([seed])


def assert_close(
    one: dict[str, Array], other: dict[str, Array], *, rtol: float = 1e-5, atol: float = 1e-6
) -> None:
    assert list(one) == list(other)
    for name, array in one.items():
        assert array.dtype == other[name].dtype, name
        assert array.shape == other[name].shape, name
        np.testing.assert_allclose(other[name], array, rtol=rtol, atol=atol, err_msg=name)
