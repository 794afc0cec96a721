"""What the network sees of every kind of observation, and the shapes inside each body."""

import numpy as np
import pytest
import torch
from torch import nn

from gymsolve.errors import ConfigError
from gymsolve.nn.bodies import Encoder, convolutions, mlp
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec, ObsSpec
from probes import make_policy, make_spec, vector

MIXED = {
    "position": ObsSpec("vector", (2, 2), "float32", low=(-1.0,) * 4, high=(1.0,) * 4),
    "flags": ObsSpec("vector", (3,), "float32", low=(0.0,) * 3, high=(1.0,) * 3),
    "cell": ObsSpec("discrete", (), "int64", nvec=(4,)),
    "dials": ObsSpec("discrete", (2,), "int64", nvec=(2, 3)),
}


def encode(obs_spec, obs, **net):
    encoder = Encoder(
        EnvSpec("x", obs_spec, make_spec().action), NetConfig.model_validate(net), np.random.default_rng(0)
    )
    tensors = {key: torch.from_numpy(np.asarray(array)) for key, array in obs.items()}
    with torch.no_grad():
        found = encoder(tensors)
    assert found.shape[1] == encoder.size
    return found.numpy(), encoder


def test_each_entry_becomes_its_features_in_the_order_of_the_space():
    obs = {
        "position": np.array([[[0.1, 0.2], [0.3, 0.4]]], np.float32),
        "flags": np.array([[1, 0, 1]], np.float32),
        "cell": np.array([2]),
        "dials": np.array([[1, 2]]),
    }
    expected = [[0.1, 0.2, 0.3, 0.4, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]]
    np.testing.assert_allclose(encode(MIXED, obs)[0], expected, rtol=1e-6)
    # A caller's dict may be in any order.
    np.testing.assert_allclose(encode(MIXED, dict(reversed(obs.items())))[0], expected, rtol=1e-6)


def test_a_single_discrete_observation_is_a_one_hot_vector():
    spec = {"obs": ObsSpec("discrete", (), "int64", nvec=(5,))}
    np.testing.assert_array_equal(encode(spec, {"obs": np.array([3, 0])})[0], np.eye(5)[[3, 0]])


def test_embeddings_give_every_category_of_every_part_a_vector_of_its_own():
    spec = {"obs": ObsSpec("discrete", (2,), "int64", nvec=(2, 3))}
    obs = {"obs": np.array([[0, 0], [1, 2], [1, 0]])}
    found, encoder = encode(spec, obs, discrete_obs="embedding", embedding_size=4)
    (table,) = (p.detach().numpy() for p in encoder.parameters())
    assert table.shape == (5, 4)
    assert len({tuple(row) for row in table}) == 5
    np.testing.assert_array_equal(
        found, [[*table[0], *table[2]], [*table[1], *table[4]], [*table[1], *table[2]]]
    )


@pytest.mark.parametrize("keys", [("type", "values", "training"), ("a.b", "a_b", "a/b"), ("x/0", "x/1", "")])
def test_entries_may_have_any_name(keys):
    spec = {key: vector(1) for key in keys}
    obs = {key: np.full((1, 1), float(i), np.float32) for i, key in enumerate(keys)}
    found, encoder = encode(spec, obs, normalize_obs="running")
    np.testing.assert_array_equal(found, [[0, 1, 2]])
    encoder.observe({key: np.full((4, 1), float(i), np.float32) for i, key in enumerate(keys)})
    means = [float(tensor) for name, tensor in encoder.state_dict().items() if name.endswith("mean")]
    assert means == [0, 1, 2]


@pytest.mark.parametrize(
    ("dtype", "bounds", "top"),
    [
        ("uint8", {"low": (0.0,), "high": (255.0,)}, 255),
        ("float32", {"low": (0.0,), "high": (255.0,)}, 255.0),
        ("float32", {"low": (-1.0,), "high": (1.0,)}, 1.0),
        ("float32", {}, 1.0),  # no bounds are known: taken as they are
    ],
)
def test_images_are_scaled_to_one_by_their_bounds(dtype, bounds, top):
    spec = {"obs": ObsSpec("image", (1, 12, 12), dtype, **bounds)}
    for pixel, expected in ((top, 1.0), (bounds.get("low", (0.0,))[0], 0.0)):
        screen = np.full((1, 1, 12, 12), pixel, dtype)
        found, encoder = encode(spec, {"obs": screen}, cnn="small")
        (entry,) = encoder.entries.values()
        with torch.no_grad():
            seen = entry.stack(torch.full((1, 1, 12, 12), expected))
        torch.testing.assert_close(torch.from_numpy(found), seen)


LAYERS = {
    # Mnih et al. 2015, table of extended data; Espeholt et al. 2018, figure 3.
    ("nature", (4, 84, 84)): [(32, 20, 20), (64, 9, 9), (64, 7, 7)],
    ("nature", (1, 36, 40)): [(32, 8, 9), (64, 3, 3), (64, 1, 1)],
    ("small", (4, 84, 84)): [(16, 20, 20), (32, 9, 9)],
    ("small", (3, 10, 12)): [(16, 8, 10), (32, 6, 8)],
    ("small", (3, 5, 5)): [(16, 3, 3), (32, 1, 1)],
    ("mario", (4, 84, 84)): [(32, 42, 42), (32, 21, 21), (32, 11, 11), (32, 6, 6)],
    ("impala", (4, 84, 84)): [
        *((16, 84, 84), *((16, 42, 42),) * 4),
        *((32, 42, 42), *((32, 21, 21),) * 4),
        *((32, 21, 21), *((32, 11, 11),) * 4),
    ],
}


@pytest.mark.parametrize(
    ("name", "shape"), LAYERS, ids=lambda v: v if isinstance(v, str) else "x".join(map(str, v))
)
def test_shapes_layer_by_layer(name, shape):
    stack, size = convolutions(name, shape, np.random.default_rng(0))
    seen = []
    for module in stack.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(lambda m, i, out: seen.append(tuple(out.shape[1:])))
    out = stack(torch.rand(2, *shape))
    assert seen == LAYERS[name, shape]
    assert out.shape == (2, size)
    assert size == np.prod(LAYERS[name, shape][-1])


@pytest.mark.parametrize(("name", "side"), [("nature", 35), ("small", 4), ("impala", 7)])
def test_images_too_small_for_a_stack_are_refused_with_advice(name, side):
    with pytest.raises(
        ConfigError, match=rf"net\.cnn: the {name} convolutions need images of at least {side + 1}"
    ):
        convolutions(name, (3, 84, side), np.random.default_rng(0))


def test_hidden_layers_are_orthogonal_and_depend_on_the_seed_alone():
    config = NetConfig(hidden=(16, 8), activation="relu", layer_norm=True)
    layers, size = mlp(5, config, np.random.default_rng(3))
    again, _ = mlp(5, config, np.random.default_rng(3))
    assert size == 8
    assert [type(m).__name__ for m in layers] == ["Linear", "LayerNorm", "ReLU"] * 2
    for one, other in zip(layers.state_dict().values(), again.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    first, second = layers[0].weight, layers[3].weight
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(5))
    torch.testing.assert_close(second @ second.T, 2 * torch.eye(8))
    assert not layers[0].bias.any()


def test_separate_and_shared_critics():
    for shared, moves in ((True, True), (False, False)):
        policy = make_policy(make_spec(), shared=shared)
        obs = {"obs": np.ones((1, 3), np.float32)}
        before = policy.values(obs)
        with torch.no_grad():
            policy.actor[0].weight.add_(1.0)
        assert (policy.values(obs) != before).all() == moves
        np.testing.assert_allclose(
            policy.values(obs), policy.act(obs, None, np.random.default_rng(0))[2], rtol=1e-6
        )
    images = {"obs": ObsSpec("image", (1, 8, 8), "uint8")}
    assert make_policy(make_spec(obs=images), cnn="small").shared


@pytest.mark.parametrize("name", ["nature", "small", "impala", "mario"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 255.0), (-1.0, 3.0)])
def test_images_give_the_features_and_slopes_of_the_plain_network(name, low, high):
    entry = ObsSpec("image", (3, 44, 37), "float32", low=(low,), high=(high,))
    spec = EnvSpec("x", {"obs": entry}, make_spec().action)
    encoder = Encoder(spec, NetConfig(cnn=name), np.random.default_rng(0))
    image = torch.from_numpy(np.random.default_rng(1).uniform(low, high, (5, 3, 44, 37)).astype(np.float32))
    given = image.clone()
    stack = encoder.entries["0_obs"].stack
    plain = stack((image - low) / (high - low))
    found = encoder({"obs": given})
    torch.testing.assert_close(found, plain, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(given, image, rtol=0, atol=0)  # what was observed is not touched
    slopes = [torch.autograd.grad(y.square().mean(), list(stack.parameters())) for y in (found, plain)]
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_flattened_features_are_in_the_order_of_channels_rows_columns():
    stack, _ = convolutions("small", (1, 6, 6), np.random.default_rng(0))
    image = torch.rand(2, 1, 6, 6).contiguous(memory_format=torch.channels_last)
    grid = nn.functional.relu(stack[2](nn.functional.relu(stack[0](image))))  # [B, C, H, W]
    torch.testing.assert_close(stack(image), torch.stack([row.reshape(-1) for row in grid]))


def test_a_hidden_unit_of_a_convolution_is_a_channel():
    spec = make_spec(obs={"screen": ObsSpec("image", (2, 12, 10), "uint8", low=(0.0,), high=(255.0,))})
    policy = make_policy(spec, cnn="small", hidden=(6,))
    pixels = np.random.default_rng(0).integers(0, 256, (3, 2, 12, 10)).astype(np.uint8)
    hidden = policy.hidden({"screen": pixels})
    stack = "encoder.entries.0_screen.stack"
    assert {name: layer.shape for name, layer in hidden.items()} == {
        f"{stack}.1": (3, 16),
        f"{stack}.4": (3, 32),
        "actor.1": (3, 6),
    }
    image = policy.encoder.entries["0_screen"]
    first = torch.relu(image.stack[0](torch.from_numpy(pixels / np.float32(255.0))))
    np.testing.assert_allclose(hidden[f"{stack}.1"], first.mean(dim=(2, 3)).detach(), rtol=1e-4, atol=1e-6)
    last = torch.relu(image.stack[2](first)).mean(dim=(2, 3))
    np.testing.assert_allclose(hidden[f"{stack}.4"], last.detach(), rtol=1e-4, atol=1e-6)
    seen = policy.seen({"screen": pixels})["screen"]
    np.testing.assert_allclose(seen, pixels.reshape(3, -1) / 255.0, rtol=1e-6)
