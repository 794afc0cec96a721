"""A policy rebuilt from its arrays and metadata is the same policy."""

import json

import numpy as np
import pytest

from gymsolve.errors import CheckpointError
from gymsolve.nn.policy import Policy
from gymsolve.spec import ObsSpec
from probes import CASE_IDS, CASES, RandomEnvs, make_algorithm, make_policy, make_spec, train, vector

OBS = {
    "vector": {"obs": vector(3)},
    "dict": {
        "body/joint.speed": vector(2),
        "cell": ObsSpec("discrete", (), "int64", nvec=(4,)),
        "dials": ObsSpec("discrete", (2,), "int64", nvec=(2, 3)),
        "screen": ObsSpec("image", (2, 9, 9), "uint8"),
    },
}
NETS = {
    "plain": {},
    "everything": {
        "normalize_obs": "running",
        "normalize_values": "popart",
        "batch_norm": True,
        "layer_norm": True,
        "dropout": 0.2,
        "discrete_obs": "embedding",
        "embedding_size": 3,
        "shared": False,
    },
    "bounds": {"normalize_obs": "bounds", "normalize_values": "running", "shared": True},
}


def rebuild(policy: Policy) -> Policy:
    metadata = json.loads(json.dumps(policy.metadata()))
    arrays = {name: array.copy() for name, array in policy.arrays().items()}
    return Policy.from_arrays(arrays, metadata)


@pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("obs", OBS)
def test_a_trained_policy_survives_the_round_trip(kind, masked, net, obs):
    spec = make_spec(kind, masked=masked, obs=OBS[obs])
    policy = make_policy(spec, squash=kind == "squashed", cnn="small", **NETS[net])
    train(make_algorithm("a2c", policy), RandomEnvs(spec), updates=3, num_steps=6)
    twin = rebuild(policy)
    assert twin.spec == policy.spec
    assert twin.config == policy.config
    seen, masks = RandomEnvs(spec, num_envs=32).reset([7])
    for one, other in zip(
        policy.act(seen, masks, np.random.default_rng(1))[:3],
        twin.act(seen, masks, np.random.default_rng(1))[:3],
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(policy.greedy(seen, masks), twin.greedy(seen, masks))
    np.testing.assert_array_equal(policy.values(seen), twin.values(seen))


def test_arrays_are_a_copy_that_later_training_does_not_touch():
    policy = make_policy(make_spec(), normalize_obs="running")
    saved = policy.arrays()
    kept = {name: array.copy() for name, array in saved.items()}
    train(make_algorithm("ppo", policy), RandomEnvs(make_spec()), updates=1, num_steps=8)
    assert all(np.array_equal(saved[name], kept[name]) for name in saved)
    assert not all(np.array_equal(saved[name], array) for name, array in policy.arrays().items())


def test_what_does_not_fit_is_named():
    policy = make_policy(make_spec())
    arrays = policy.arrays()
    wrong = {**arrays, "value_head.weight": np.zeros((1, 3), np.float32), "stranger": np.zeros(1)}
    del wrong["value_head.bias"]
    with pytest.raises(CheckpointError, match="the weights do not fit"):
        Policy.from_arrays(wrong, policy.metadata())
    assert policy.load_arrays(wrong) == [
        "value_head.weight has shape [1, 8] here and [1, 3] in the checkpoint",
        "value_head.bias is not in the checkpoint",
        "stranger has no place in this network",
    ]


def test_the_same_seed_gives_the_same_network_and_another_seed_another():
    one, same, other = (make_policy(make_spec(), seed=seed).arrays() for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["actor.0.weight"], other["actor.0.weight"])
