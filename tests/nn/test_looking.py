"""What a network looks at: filters, activations, and saliency against known answers, slopes and loops."""

import numpy as np
import pytest
import torch

from gymsolve.nn.saliency import (
    Asked,
    activations,
    answers,
    find_filters,
    gradients,
    occlude,
    occlusion_stride,
    shares_active,
)
from gymsolve.spec import ObsSpec
from probes import make_policy, make_spec, vector

PICTURE = ObsSpec("image", (2, 12, 12), "uint8", low=(0.0,), high=(255.0,))
ATARI = ObsSpec("image", (4, 84, 84), "uint8", low=(0.0,), high=(255.0,))


def draw(spec, count=1, seed=0):
    rng = np.random.default_rng(seed)
    found = {}
    for key, entry in spec.obs.items():
        if entry.kind == "image":
            found[key] = rng.integers(0, 256, (count, *entry.shape)).astype(entry.dtype)
        elif entry.kind == "discrete":
            found[key] = rng.integers(0, entry.nvec[0], (count, *entry.shape))
        else:
            found[key] = rng.normal(size=(count, *entry.shape)).astype(np.float32)
    return found


def ask(policy, seed=0):
    """A step that the policy took, in the middle of an episode where it remembers one."""
    obs, memory = draw(policy.spec, seed=seed), policy.first_memory(1)
    if memory is not None:
        memory = np.random.default_rng(seed).normal(size=memory.shape).astype(np.float32)
    acted = policy.act(obs, None, np.random.default_rng(seed), memory)
    return Asked(obs, acted.actions, None, memory), acted


@torch.no_grad()
def look_at_a_patch():
    """A policy whose value is the sum of channel 1 in rows 4–5, columns 6–7, and whose action hangs on it."""
    policy = make_policy(make_spec(obs={"obs": PICTURE}), cnn="small", hidden=())
    first, second = (layer for layer in policy.encoder.stacks()["obs"] if isinstance(layer, torch.nn.Conv2d))
    for layer in (first, second, policy.value_head, policy._head.linear):
        layer.weight.zero_()
        layer.bias.zero_()
    first.weight[0, 1, 1, 1] = second.weight[0, 0, 1, 1] = 1.0  # each passes on the pixel in its middle
    places = np.zeros((32, 8, 8), np.float32)
    places[0, 2:4, 4:6] = 1.0  # two pixels of border are lost on the way
    wanted = torch.from_numpy(places.reshape(1, -1))
    policy.value_head.weight.copy_(wanted)
    policy._head.linear.weight[0] = wanted[0]
    return policy


def test_what_depends_on_one_patch_is_seen_exactly_there():
    policy = look_at_a_patch()
    obs = {"obs": np.full((1, *PICTURE.shape), 51, np.uint8)}
    obs["obs"][0, 1, 4:6, 6:8] = 204
    asked = Asked(obs, np.array([[0]]))
    assert answers(policy, asked)[1] == pytest.approx(4 * 0.8)
    place = np.zeros(PICTURE.shape, bool)
    place[1, 4:6, 6:8] = True

    slope = gradients(policy, asked)["obs"]
    np.testing.assert_allclose(slope.value * slope.unit, place, atol=1e-6)  # one per range of a pixel
    np.testing.assert_array_equal(slope.action != 0, place)
    covered = occlude(policy, asked, stride=2)["obs"]
    tiles = np.zeros((6, 6), bool)
    tiles[2, 3] = True
    np.testing.assert_allclose(covered.value, tiles * 4 * 0.6, atol=1e-6)
    np.testing.assert_array_equal(covered.action != 0, tiles)


CASES = {
    "picture": ({"obs": PICTURE}, "discrete", {"cnn": "small"}),
    "compiled": ({"obs": ATARI}, "multi_binary", {"cnn": "nature"}),
    "padded": ({"obs": ATARI}, "discrete", {"cnn": "mario"}),
    "residual": (
        {"obs": PICTURE},
        "multi_discrete",
        {"cnn": "impala", "activation": "elu", "policy_gain": 0.1},
    ),
    "two networks": ({"obs": PICTURE}, "discrete", {"cnn": "small", "shared": False}),
    "remembers": (
        {"obs": PICTURE},
        "discrete",
        {"cnn": "small", "memory": {"cell": "lstm", "size": 4, "inputs": ["action", "reward"]}},
    ),
    "numbers": ({"obs": vector(3)}, "box", {"normalize_obs": "running"}),
    "entries": (
        {"eye": PICTURE, "joints": vector(2), "room": ObsSpec("discrete", (), "int64", nvec=(4,))},
        "squashed",
        {"cnn": "small", "squash": True, "normalize_values": "popart"},
    ),
}


@pytest.fixture(params=CASES, name="policy")
def _policy(request):
    spec, action, net = CASES[request.param]
    policy = make_policy(make_spec(action, obs=spec), **{"policy_gain": 1.0, **net})
    policy.observe(draw(policy.spec, 20, seed=5))
    return policy


def test_the_answers_are_those_of_the_policy(policy):
    asked, acted = ask(policy)
    found = answers(policy, asked)
    np.testing.assert_allclose(found, [acted.log_probs[0], acted.values[0]], rtol=1e-4, atol=1e-5)


def test_gradients_are_finite_differences(policy):
    asked, _ = ask(policy)
    found = gradients(policy, asked)
    assert set(found) == {key for key, entry in policy.spec.obs.items() if entry.kind != "discrete"}
    for key, slope in found.items():
        for number, steepest in enumerate((slope.action, slope.value)):
            # Single pixels move too little for float32; all of them together do.
            step = (2e-4 if slope.unit.ndim > 1 else 5e-3) * slope.unit * np.sign(steepest)
            ends = [
                answers(policy, Asked({**floats(asked.obs), key: moved}, asked.actions, None, asked.memory))
                for moved in ((asked.obs[key] + sign * step).astype(np.float32) for sign in (1, -1))
            ]
            difference = (ends[0][number] - ends[1][number]) / 2
            assert difference == pytest.approx(float((steepest * step).sum()), rel=0.03, abs=2e-6)
            assert difference > 2e-5


def floats(obs):
    return {key: array if array.dtype.kind == "i" else array.astype(np.float32) for key, array in obs.items()}


def test_occlusion_is_a_loop_over_patches(policy):
    asked, _ = ask(policy)
    before = answers(policy, asked)
    for key, found in occlude(policy, asked).items():
        entry, seen = policy.spec.obs[key], asked.obs[key]
        spots = list(np.ndindex(*found.action.shape))
        for spot in [spots[index] for index in {0, len(spots) // 2, len(spots) - 1}]:
            copy = seen.copy()
            if entry.kind == "image":
                side = found.stride
                rows, columns = (slice(at * side, (at + 1) * side) for at in spot)
                for channel in range(entry.shape[0]):
                    middle = np.sort(seen[0, channel].ravel())[(seen[0, channel].size - 1) // 2]
                    copy[0, channel, rows, columns] = middle
            else:
                assert found.action.shape == entry.shape
                copy[0][spot] = policy.encoder.usual(key).numpy()[spot]
            changed = Asked({**asked.obs, key: copy}, asked.actions, None, asked.memory)
            falls = np.subtract(before, answers(policy, changed))
            np.testing.assert_allclose([found.action[spot], found.value[spot]], falls, rtol=1e-3, atol=1e-5)


def test_a_number_is_covered_by_what_the_network_takes_for_zero():
    bounds = vector(2, low=(-1.0, 0.0), high=(3.0, 2.0))
    for name, usual in (("running", (5.0, -2.0)), ("bounds", (1.0, 1.0)), ("none", (0.0, 0.0))):
        policy = make_policy(make_spec(obs={"obs": bounds}), normalize_obs=name)
        policy.observe({"obs": np.array([[4.0, -2.0], [6.0, -2.0]], np.float32)})
        np.testing.assert_allclose(policy.encoder.usual("obs"), usual, atol=1e-6)
        np.testing.assert_allclose(policy.seen({"obs": np.array([usual], np.float32)})["obs"], 0, atol=1e-6)


def test_patches_have_a_size_by_the_picture():
    assert [occlusion_stride((4, side, side + 3)) for side in (10, 84, 64, 120)] == [1, 5, 4, 7]


def test_filters_are_the_first_weights_of_each_network():
    policy = make_policy(make_spec(obs={"obs": PICTURE}), cnn="impala", shared=False)
    actor, critic = find_filters(policy)
    assert (actor.side, critic.side, actor.entry) == ("actor", "critic", "obs")
    named = dict(policy.named_parameters())
    np.testing.assert_array_equal(actor.weights, named["encoder.entries.0_obs.stack.0.weight"].detach())
    np.testing.assert_array_equal(
        critic.weights, named["value_encoder.entries.0_obs.stack.0.weight"].detach()
    )
    assert find_filters(make_policy(make_spec())) == []


def test_activations_are_those_of_each_layer_in_the_order_of_the_pass():
    policy = make_policy(make_spec(obs={"obs": ATARI}), cnn="nature", hidden=(8,))
    obs = draw(policy.spec, 3)
    found = activations(policy, obs)
    layers = list(policy.encoder.stacks()["obs"])
    x = torch.from_numpy(obs["obs"]).float() / 255
    pictures = []
    for layer in (layers[0], layers[2], layers[4]):
        x = torch.relu(layer(x))
        pictures.append(x.detach().numpy())
    assert [array.shape[1:] for array in found.values()] == [(32, 20, 20), (64, 9, 9), (64, 7, 7), (8,)]
    for array, expected in zip(found.values(), pictures, strict=False):
        np.testing.assert_allclose(array, expected, atol=2e-5)
    np.testing.assert_allclose(list(found.values())[3], policy.hidden(obs)["actor.1"], atol=1e-5)
    assert not any(module._forward_hooks for module in policy.modules())


def test_dead_channels_are_found_over_all_observations():
    policy = look_at_a_patch()
    obs = {"obs": np.zeros((150, *PICTURE.shape), np.uint8)}
    obs["obs"][[3, 70, 149], 1, 5, 5] = 9
    first, second = shares_active(policy, obs).values()
    np.testing.assert_allclose(first, [3 / 150, *[0.0] * 15])
    np.testing.assert_allclose(second, [3 / 150, *[0.0] * 31])
