"""Spaces become specs; observations become arrays that fit them."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs
from gymnasium import spaces

from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.envs.spaces import ObsLayout, action_spec, channel_axis
from gymsolve.errors import UnsupportedSpaceError
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import EnvSpec

assert sample_envs.Plain


def plain(observation_space: Any = None, action_space: Any = None, **more: Any) -> Envs:
    kwargs = {"observation_space": observation_space, "action_space": action_space}
    return make_envs(EnvConfig.model_validate({"id": "Sample/Plain-v0", "kwargs": kwargs, **more}), "train")


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((84, 84), None),
        ((210, 160, 3), 2),
        ((3, 210, 160), 0),
        ((1, 84, 84), 0),
        ((84, 84, 1), 2),
        ((7, 7, 3), 2),
        ((4, 84, 84), 0),
        ((10, 10, 10), 2),
        ((4, 84, 4), 2),
        ((120, 160, 12), 2),
    ],
)
def test_channel_axis(shape: tuple[int, ...], axis: int | None) -> None:
    assert channel_axis(shape) == axis


@pytest.mark.parametrize("stack", [1, 3])
@pytest.mark.parametrize(("layout", "channels"), [("HW", 1), ("HWC", 3), ("CHW", 3), ("HWC", 1), ("CHW", 4)])
def test_images_always_have_a_channel_axis_in_front(layout: str, channels: int, stack: int) -> None:
    config = EnvConfig(
        id="Sample/Pictures-v0",
        kwargs={"layout": layout, "channels": channels},
        frame_stack=stack,
        num_envs=2,
    )
    envs = make_envs(config, "train")
    assert envs.spec.obs["obs"].kind == "image"
    assert envs.spec.obs["obs"].shape == (channels * stack, 12, 10)
    obs, _ = envs.reset([1, 2])
    assert obs["obs"].shape == (2, channels * stack, 12, 10)
    assert obs["obs"].dtype == np.uint8
    raw, _ = gym.make("Sample/Pictures-v0", layout=layout, channels=channels).reset(seed=1)
    first = {"HW": raw[None], "CHW": raw}.get(layout)
    first = np.moveaxis(raw, -1, 0) if first is None else first
    np.testing.assert_array_equal(obs["obs"][0], np.concatenate([first] * stack))


def test_many_stacked_channels_stay_channels() -> None:
    config = EnvConfig(id="Sample/Pictures-v0", frame_stack=8, num_envs=1)
    assert make_envs(config, "train").spec.obs["obs"].shape == (24, 12, 10)


def test_float_images_stay_images_through_the_pipeline() -> None:
    wrappers = ["grayscale", {"crop": {"top": 10, "right": 8}}]
    settings = {
        "id": "Sample/Pictures-v0",
        "kwargs": {"dtype": "float32", "layout": "CHW"},
        "wrappers": wrappers,
    }
    envs = make_envs(EnvConfig.model_validate({**settings, "num_envs": 1}), "train")
    assert envs.spec.obs["obs"].kind == "image"
    assert envs.spec.obs["obs"].shape == (1, 2, 2)
    assert envs.reset([1])[0]["obs"].dtype == np.float32


def test_nested_spaces_become_named_entries() -> None:
    envs = make_envs(EnvConfig(id="Sample/Mixed-v0", num_envs=2), "train")
    assert {key: (spec.kind, spec.shape, spec.dtype) for key, spec in envs.spec.obs.items()} == {
        "body/0": ("vector", (2, 2), "float32"),
        "body/1": ("discrete", (), "int64"),
        "body/2/dials": ("discrete", (4,), "int64"),
        "body/2/flags": ("vector", (3,), "float32"),
        "screen": ("image", (3, 8, 8), "uint8"),
    }
    assert envs.spec.obs["body/1"].nvec == (4,)
    assert envs.spec.obs["body/2/dials"].nvec == (2, 3, 4, 5)
    assert EnvSpec.from_json(envs.spec.to_json()) == envs.spec
    seen = set()
    envs.reset([1, 2])
    for _ in range(60):
        step = envs.step(envs.spec.action.to_env(np.zeros((2, 2), dtype=np.int64)))
        for key, spec in envs.spec.obs.items():
            assert step.obs[key].shape == (2, *spec.shape)
            assert step.obs[key].dtype == spec.dtype
        seen |= set(step.obs["body/1"].tolist())
    assert seen == {0, 1, 2, 3}  # the space counts from -1


@pytest.mark.parametrize("stack", [1, 2])
@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1.0, 1.0, ()),
        spaces.Box(-1.0, 1.0, (2, 3)),
        spaces.Box(0, 255, (7,), dtype=np.uint8),
        spaces.Box(0.0, 1.0, (5, 6, 2)),
        spaces.Discrete(3, start=5),
        spaces.MultiDiscrete([2, 3], start=[1, 1]),
        spaces.MultiBinary([2, 2]),
        spaces.Tuple((spaces.Discrete(2), spaces.Box(-1.0, 1.0, (2,)))),
    ],
)
def test_every_supported_space_steps_and_stacks(space: Any, stack: int) -> None:
    envs = plain(space, num_envs=2, frame_stack=stack)
    obs, _ = envs.reset([1, 2])
    for found in (obs, envs.step(np.array([0, 1])).obs):
        for key, spec in envs.spec.obs.items():
            assert found[key].shape == (2, *spec.shape)
            assert found[key].dtype == spec.dtype
            if spec.kind == "discrete":
                assert ((found[key] >= 0) & (found[key] < np.array(spec.nvec).reshape(spec.shape))).all()


def test_bounds_are_told_only_when_they_mean_something() -> None:
    layout = ObsLayout(spaces.Box(np.float32([-1, -2]), np.float32([1, 3.4e38])))
    assert layout.specs["obs"].low == ()
    assert ObsLayout(spaces.Box(-2.0, 1.0, (2,))).specs["obs"].high == (1.0, 1.0)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(5),
        spaces.Graph(spaces.Box(-1, 1, (2,)), None),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.OneOf((spaces.Discrete(2), spaces.Discrete(3))),
        spaces.Dict({"a": spaces.Dict({"b": spaces.Text(3)})}),
    ],
)
def test_unsupported_observations_are_refused_with_advice(space: Any) -> None:
    with pytest.raises(UnsupportedSpaceError, match="Wrap the environment"):
        plain(space)


@pytest.mark.parametrize(
    "space", [spaces.Text(5), spaces.Dict({"a": spaces.Discrete(2)}), spaces.Box(0, 5, (1,), int)]
)
def test_unsupported_actions_are_refused_with_advice(space: Any) -> None:
    with pytest.raises(UnsupportedSpaceError, match="Supported"):
        plain(None, space)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 3], start=[4, 5]),
        spaces.MultiDiscrete([[2, 3], [2, 2]]),
        spaces.MultiBinary(3),
        spaces.MultiBinary([2, 2]),
        spaces.Box(-2.0, 5.0, (2,)),
        spaces.Box(np.array([[-1.0, 0.0]]), np.array([[1.0, 9.0]]), dtype=np.float64),
        spaces.Box(-np.inf, np.inf, (2,)),
        spaces.Box(0.0, np.inf, (2,)),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "async"])
def test_actions_always_lie_in_their_space(space: Any, backend: str) -> None:
    """The sample environment asserts that each action is in its space."""
    envs = plain(None, space, num_envs=2, backend=backend)
    action, rng = envs.spec.action, np.random.default_rng(0)
    assert action == action_spec(space)
    envs.reset([1, 2])
    for _ in range(20):
        chosen = (
            rng.normal(0, 3, (2, action.size))
            if action.kind == "box"
            else rng.integers(0, action.nvec, (2, action.size))
        )
        envs.step(action.to_env(chosen))
    envs.close()
