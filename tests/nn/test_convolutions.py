"""The compiled convolutions are torch's, forwards and backwards."""

import copy
import ctypes
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from gymsolve.kernels import VARIABLE, load_kernels
from gymsolve.nn import convolutions
from gymsolve.nn.activation_hooks import watching_activations
from gymsolve.nn.bodies import Encoder
from gymsolve.nn.convolutions import compile_stack
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec, ObsSpec
from probes import make_spec

KERNELS = load_kernels()
pytestmark = pytest.mark.skipif(KERNELS is None or KERNELS.LANES < 8, reason="no kernels with wide vectors")

NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
SCALE = 1 / 255


def make_layers(channels, plan):
    torch.manual_seed(0)
    layers = []
    for outputs, kernel, stride in plan:
        layers.append(nn.Conv2d(channels, outputs, kernel, stride))
        channels = outputs
    return layers


def draw(count, shape, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(0, 256, (count, *shape), dtype=np.uint8))


def by_torch(layers, x):
    """In double precision, so that only the kernels' own rounding is seen."""
    out = x.double() * SCALE
    for layer in layers:
        weight, bias = layer.weight.double(), layer.bias.double()
        out = torch.relu(nn.functional.conv2d(out, weight, bias, layer.stride))
    return out.flatten(1)


def slopes(features, layers, weights):
    parameters = [p for layer in layers for p in (layer.weight, layer.bias)]
    return torch.autograd.grad((features * weights).sum(), parameters)


def close(found, expected):
    scale = float(expected.detach().abs().max())
    np.testing.assert_allclose(found.detach(), expected.detach(), atol=2e-5 * scale, rtol=0)


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "channels last"])
@pytest.mark.parametrize(
    ("shape", "plan", "count"),
    [
        ((4, 84, 84), NATURE, 13),
        ((1, 84, 84), NATURE, 1),
        ((3, 96, 70), ((16, 8, 4), (32, 4, 2)), 9),
        ((4, 87, 93), NATURE, 12),  # strides leave a rest at every edge
        ((16, 7, 9), ((16, 3, 1), (48, 2, 2)), 8),
        ((4, 36, 36), ((96, 4, 4),), 8),
    ],
)
def test_features_and_slopes_are_those_of_torch(shape, plan, count, last, threads):
    layers = make_layers(shape[0], plan)
    stack = compile_stack(layers, shape, SCALE)
    assert stack is not None
    x = draw(count, shape)
    if last:
        x = x.contiguous(memory_format=torch.channels_last)
    expected = by_torch(layers, x)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=expected.shape))
    found = stack(x, layers)
    close(found, expected)
    assert (found == 0).any()
    assert (found > 0).any()
    for ours, theirs in zip(
        slopes(found, layers, weights.float()), slopes(expected, layers, weights), strict=True
    ):
        close(ours, theirs)
    with torch.inference_mode():
        torch.testing.assert_close(stack(x, layers), found.detach(), rtol=0, atol=0)


def test_rows_of_a_larger_array_are_read_where_they_lie():
    layers = make_layers(4, NATURE)
    stack = compile_stack(layers, (4, 84, 84), SCALE)
    x = draw(12, (4, 84, 84))
    found = stack(x[1::2], layers)
    torch.testing.assert_close(found, stack(x, layers)[1::2], rtol=0, atol=0)


def test_a_repeated_pass_gives_the_same_bits(threads):
    layers = make_layers(4, NATURE)
    stack = compile_stack(layers, (4, 84, 84), SCALE)
    x, weights = draw(24, (4, 84, 84)), torch.randn(24, 3136)
    first, again = (slopes(stack(x, layers), layers, weights) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_each_pass_back_is_about_its_own_pass_forwards():
    layers = make_layers(4, NATURE)
    stack = compile_stack(layers, (4, 84, 84), SCALE)
    x, other, weights = draw(8, (4, 84, 84)), draw(8, (4, 84, 84), seed=1), torch.randn(8, 3136)
    alone = slopes(stack(x, layers), layers, weights)
    pending = stack(x, layers)
    stack(other, layers)
    assert all(torch.equal(a, b) for a, b in zip(slopes(pending, layers, weights), alone, strict=True))


def test_weights_changed_before_the_pass_back_are_refused():
    layers = make_layers(4, NATURE)
    stack = compile_stack(layers, (4, 84, 84), SCALE)
    features = stack(draw(8, (4, 84, 84)), layers)
    with torch.no_grad():
        layers[1].weight.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        slopes(features, layers, torch.ones(8, 3136))


def test_a_weight_that_is_no_number_is_passed_on():
    layers = make_layers(4, NATURE)
    stack = compile_stack(layers, (4, 84, 84), SCALE)
    with torch.no_grad():
        layers[0].weight[3, 0, 0, 0] = float("nan")
    features = stack(draw(8, (4, 84, 84)), layers)
    assert features.isnan().any()
    assert any(slope.isnan().any() for slope in slopes(features, layers, torch.ones(8, 3136)))


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Conv2d(4, 32, 8, 4, padding=1)],
        [nn.Conv2d(4, 32, 5, 2)],  # the stride does not divide the kernel
        [nn.Conv2d(4, 30, 8, 4)],  # no whole vectors
        [nn.Conv2d(1, 16, 3, 1)],
        [nn.Conv2d(4, 32, 3, 1, dilation=2)],
        [nn.Conv2d(4, 32, 8, 4, groups=2)],
    ],
)
def test_other_convolutions_are_left_to_torch(layers):
    assert compile_stack(layers, (layers[0].in_channels, 84, 84), SCALE) is None


def make_encoder(**net):
    spec = EnvSpec("x", {"obs": ObsSpec("image", (4, 84, 84), "uint8")}, make_spec().action)
    return Encoder(spec, NetConfig.model_validate(net), np.random.default_rng(0))


@pytest.mark.parametrize("cnn", ["nature", "small", "impala", "mario"])
def test_an_encoder_gives_the_same_features_with_and_without_kernels(cnn, monkeypatch):
    compiled = make_encoder(cnn=cnn)
    monkeypatch.setenv(VARIABLE, "numpy")
    plain = make_encoder(cnn=cnn)
    assert compiled.compiled == (cnn in ("nature", "small"))
    assert not plain.compiled
    x = {"obs": draw(6, (4, 84, 84))}
    close(compiled(x), plain(x))
    assert compiled.state_dict().keys() == plain.state_dict().keys()


def test_watched_layers_are_computed_one_by_one():
    encoder = make_encoder()
    x = {"obs": draw(6, (4, 84, 84))}
    with torch.no_grad():
        alone = encoder(x)
        with watching_activations(encoder) as seen:
            watched = encoder(x)
    assert len(seen) == 3
    close(watched, alone)


def test_fewer_threads_than_asked_for_do_all_the_work(monkeypatch):
    """OpenMP gives fewer under OMP_DYNAMIC or OMP_THREAD_LIMIT."""
    work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
    def fork(function, data, wanted, flags):
        work(function)(data)

    before = torch.get_num_threads()
    layers, x = make_layers(4, NATURE), draw(8, (4, 84, 84))
    given = torch.randn(8, 3136)
    try:
        torch.set_num_threads(4)
        features = compile_stack(layers, (4, 84, 84), SCALE)(x, layers)
        expected = slopes(features, layers, given)
        monkeypatch.setattr(convolutions, "_find_fork", lambda: ctypes.cast(fork, ctypes.c_void_p).value)
        alone = compile_stack(layers, (4, 84, 84), SCALE)(x, layers)
        found = slopes(alone, layers, given)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(alone, features)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("frozen", [False, True])
def test_nothing_is_kept_for_a_pass_back_that_cannot_come(frozen, monkeypatch):
    layers, x = make_layers(4, NATURE), draw(3, (4, 84, 84))
    stack = compile_stack(layers, (4, 84, 84), SCALE)
    expected = stack(x, layers).detach()
    monkeypatch.setattr(stack, "room", lambda pictures: pytest.fail("room was made"))
    for layer in layers:
        layer.requires_grad_(not frozen)
    with torch.set_grad_enabled(frozen):
        assert torch.equal(stack(x, layers), expected)


def test_pictures_in_floats_are_left_to_torch():
    encoder = make_encoder(cnn="nature")
    x = draw(3, (4, 84, 84))
    with torch.no_grad():
        close(encoder({"obs": x.float()}), encoder({"obs": x}))


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_an_encoder_can_be_copied(twin_of):
    encoder, x = make_encoder(cnn="nature"), {"obs": draw(3, (4, 84, 84))}
    twin = twin_of(encoder)
    assert twin.compiled
    assert torch.equal(twin(x), encoder(x))
    with torch.no_grad():
        next(encoder.parameters()).zero_()
    assert not torch.equal(twin(x), encoder(x))
