"""Checkpoints of one engine are checkpoints of the other; the NumPy engine needs no torch."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from fast_pairs import (
    NORMS,
    OBS,
    assert_close,
    both_algorithms,
    computing_with,
    fast_algorithm,
    make_pair,
    see,
)

from engines import needs_kernels
from gymsolve.errors import CheckpointError, ConfigError, UsageError
from gymsolve.experience.collect import Collector
from gymsolve.fast import FastPolicy, build, covers, supports
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import EnvConfig, NetConfig, PPOConfig, TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import ObsSpec
from gymsolve.training.engines.choose import choose_engine, load_policy
from probes import ALGORITHMS, CASE_IDS, CASES, RandomEnvs, make_algorithm, make_spec, train, unbounded

pytestmark = needs_kernels

every_case = pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)


def same_actions(one, other) -> None:
    obs, masks = see(one.spec, 40, seed=9)
    np.testing.assert_allclose(one.greedy(obs, masks), other.greedy(obs, masks), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(one.values(obs), other.values(obs), rtol=1e-5, atol=1e-5)


@every_case
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("norm", ["bounds", "popart"])
def test_a_trained_policy_crosses_both_ways(kind, masked, shared, norm):
    torchs, fast = make_pair(kind, masked, "dict", shared=shared, **NORMS[norm])
    train(fast_algorithm("a2c", fast), RandomEnvs(fast.spec), updates=3, num_steps=6)
    there = Policy.from_arrays(fast.arrays(), json.loads(json.dumps(fast.metadata())))
    assert there.spec == fast.spec
    assert_close(there.arrays(), fast.arrays(), rtol=0, atol=0)
    same_actions(fast, there)
    train(make_algorithm("a2c", torchs), RandomEnvs(torchs.spec), updates=3, num_steps=6)
    back = FastPolicy.from_arrays(torchs.arrays(), json.loads(json.dumps(torchs.metadata())))
    assert_close(torchs.arrays(), back.arrays(), rtol=0, atol=0)
    same_actions(torchs, back)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_run_may_change_engines_halfway(algo):
    pair = make_pair("discrete", normalize_obs="running", normalize_values="popart")
    torchs, fast = both_algorithms(algo, pair)
    collector, rng = Collector(RandomEnvs(pair[0].spec), pair[0], 16, 1), np.random.default_rng(0)
    rollout = collector.collect(rng)
    torchs.update(rollout, Progress(0, 9), np.random.default_rng(1))
    assert pair[1].load_arrays(pair[0].arrays()) == []
    fast.optimizer.load(torchs.optimizer.arrays(), {})
    fast.load({}, torchs.state())
    rollout = collector.collect(rng)
    for algorithm in (torchs, fast):
        algorithm.update(rollout, Progress(1, 9), np.random.default_rng(2))
    assert_close(pair[0].arrays(), pair[1].arrays(), rtol=1e-4, atol=1e-5)
    # And back again.
    assert pair[0].load_arrays(pair[1].arrays()) == []
    torchs.optimizer.load(fast.optimizer.arrays(), {})
    rollout = collector.collect(rng)
    for algorithm in (torchs, fast):
        algorithm.update(rollout, Progress(2, 9), np.random.default_rng(3))
    assert_close(pair[0].arrays(), pair[1].arrays(), rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_named_in_torchs_words():
    torchs, fast = make_pair(normalize_obs="running")
    wrong = {**fast.arrays(), "value_head.weight": np.zeros((1, 3), np.float32), "stranger": np.zeros(1)}
    del wrong["value_head.bias"]
    misfits = fast.load_arrays(wrong)
    assert misfits == torchs.load_arrays(wrong)
    assert len(misfits) == 3
    with pytest.raises(CheckpointError, match="the weights do not fit"):
        FastPolicy.from_arrays(wrong, fast.metadata())


def test_statistics_that_differ_between_the_trunks_are_not_taken_silently():
    torchs, fast = make_pair(normalize_obs="running")
    torchs.encoder.observe(see(torchs.spec, 50)[0])
    misfits = fast.load_arrays(torchs.arrays())
    assert len(misfits) == 3
    assert all("is not what the actor's encoder has" in text for text in misfits)
    obs = see(torchs.spec, 9)[0]
    np.testing.assert_allclose(fast.greedy(obs, None), torchs.greedy(obs, None))


def test_copies_act_alike_and_stand_alone():
    _, policy = make_pair("box", normalize_obs="running", normalize_values="popart")
    policy.observe(see(policy.spec, 30)[0])
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        same_actions(policy, twin)
        twin.parameters.values += 1.0
        obs = see(policy.spec, 5)[0]
        assert not np.array_equal(twin.values(obs), policy.values(obs))


def test_arrays_are_a_copy_that_later_training_does_not_touch():
    _, policy = make_pair(normalize_obs="running", normalize_values="running")
    saved = policy.arrays()
    kept = {name: array.copy() for name, array in saved.items()}
    assert all(array.flags.c_contiguous for array in saved.values())
    train(fast_algorithm("ppo", policy), RandomEnvs(policy.spec), updates=1, num_steps=8)
    assert_close(kept, saved, rtol=0, atol=0)
    assert not all(np.array_equal(saved[name], array) for name, array in policy.arrays().items())


def config(net=None, **more) -> TrainConfig:
    return TrainConfig(env=EnvConfig(id="X"), algo=PPOConfig(), net=NetConfig(**(net or {})), **more)


REFUSED = {
    "layer_norm": ({"layer_norm": True}, "net.layer_norm is on"),
    "batch_norm": ({"batch_norm": True}, "net.batch_norm is on"),
    "dropout": ({"dropout": 0.1}, "net.dropout is on"),
    "depth": ({"hidden": ()}, "net.hidden is empty"),
    "width": ({"hidden": (4096,)}, "units in a layer"),
}


@pytest.mark.parametrize(("net", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_serve_is_left_to_torch(net, reason):
    found = supports(config(net), make_spec())
    assert found is not None
    assert reason in found
    with pytest.raises(ConfigError, match="cannot serve"):
        FastPolicy(make_spec(), NetConfig(**net), np.random.default_rng(0))


def test_images_embeddings_and_devices_are_left_to_torch():
    picture = {"obs": ObsSpec("image", (1, 36, 36), "uint8")}
    assert "image" in supports(config(), make_spec(obs=picture))
    assert "embedding" in supports(config({"discrete_obs": "embedding"}), make_spec(obs=OBS["one_hot"]))
    assert supports(config({"discrete_obs": "embedding"}), make_spec()) is None
    assert "device" in supports(config(device="cuda"), make_spec())


def test_without_kernels_torch_trains_and_numpy_acts():
    with computing_with("numpy"):
        assert supports(config(), make_spec()) == (
            "it learns with the compiled kernels, which GYMSOLVE_KERNELS=numpy turns off"
        )
        assert covers(config(), make_spec()) is None
        assert choose_engine(config(), make_spec()).name == "torch"
        with pytest.raises(
            ConfigError, match=r"engine: NumPy cannot serve this run: it learns with the comp.*auto"
        ):
            choose_engine(config(engine="numpy"), make_spec())
        torchs, fast = make_pair("box", normalize_obs="running", normalize_values="popart")
        with pytest.raises(UsageError, match="the compiled kernels are turned off"):
            fast_algorithm("a2c", fast)
        train(make_algorithm("a2c", torchs), RandomEnvs(torchs.spec), updates=3, num_steps=6)
        loaded = load_policy(torchs.arrays(), torchs.metadata(), config())
        assert isinstance(loaded, FastPolicy)
        same_actions(torchs, loaded)


@every_case
@pytest.mark.parametrize("obs", OBS)
def test_the_rest_is_served(kind, masked, obs):
    spec = make_spec(kind, masked=masked, obs=OBS[obs])
    assert supports(config(), spec) is None
    learner = build(config(), spec, np.random.default_rng(0))
    assert isinstance(learner.policy, FastPolicy)


def test_tanh_needs_bounds():
    spec = make_spec("box")
    spec = type(spec)(spec.id, spec.obs, unbounded(spec.action))
    with pytest.raises(ConfigError, match="without bounds"):
        FastPolicy(spec, NetConfig(squash=True), np.random.default_rng(0))


WITHOUT_TORCH = """
import sys
import numpy as np
from gymsolve.settings.config import EnvConfig, PPOConfig, TrainConfig
from gymsolve.fast import build, set_blas_threads, supports
from gymsolve.experience.rollout import allocate
from gymsolve.settings.schedules import Progress
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

set_blas_threads(1)
spec = EnvSpec("X", {"obs": ObsSpec("vector", (3,), "float32")}, ActionSpec("discrete", (), (2,), (0,)))
config = TrainConfig(env=EnvConfig(id="X"), algo=PPOConfig())
assert supports(config, spec) is None
rng = np.random.default_rng(0)
learner = build(config, spec, rng)
learner.policy.act({"obs": np.zeros((4, 3), np.float32)}, None, rng)
rollout = allocate(spec, 8, 4)
rollout.log_probs[:] = -0.7
metrics = learner.update(rollout, Progress(0, 100), rng)
assert metrics["train/gradient_steps"] == 16
print(sorted({"torch", "gymnasium"} & set(sys.modules)))
"""


def test_training_imports_neither_torch_nor_gymnasium():
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"
