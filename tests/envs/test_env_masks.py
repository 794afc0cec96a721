"""Action masks: they belong to the observation they come with, and recipes can narrow them."""

import numpy as np
import pytest
import sample_envs

from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.errors import EnvFaultError
from gymsolve.settings.config import EnvConfig

assert sample_envs.Masked


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_masks_belong_to_the_returned_observation(backend: str) -> None:
    """The environment refuses actions that its present mask forbids, also right after a reset."""
    envs = make_envs(EnvConfig(id="Sample/Masked-v0", num_envs=3, backend=backend), "train")
    assert envs.spec.masked
    obs, masks = envs.reset([1, 2, 3])
    ended = 0
    for _ in range(40):
        assert masks is not None
        assert masks.dtype == bool
        np.testing.assert_array_equal(masks.argmax(axis=1), obs["obs"] % 3)
        step = envs.step(masks.argmax(axis=1))
        obs, masks, ended = step.obs, step.masks, ended + len(step.episodes)
    assert ended > 5
    envs.close()


def test_taxi_masks_are_found_and_can_be_turned_off() -> None:
    assert make_envs(EnvConfig(id="Taxi-v4"), "train", num_envs=1).spec.masked
    envs = make_envs(EnvConfig(id="Taxi-v4", action_masks="off"), "train", num_envs=1)
    assert not envs.spec.masked
    assert envs.reset([1])[1] is None
    assert envs.step(np.array([0])).masks is None


def test_masks_given_flat_or_by_part_are_the_same() -> None:
    flat, parts = (
        make_envs(EnvConfig(id="Sample/Mixed-v0", kwargs={"flat_masks": flag}, num_envs=2), "train")
        for flag in (True, False)
    )
    one, other = flat.reset([1, 2])[1], parts.reset([1, 2])[1]
    assert one is not None
    assert one.shape == (2, 5)
    np.testing.assert_array_equal(one, other)


def test_legal_actions_of_the_recipe() -> None:
    envs = make_envs(EnvConfig(id="FrozenLake-v1", legal_actions=(1, 3), num_envs=2), "train")
    assert envs.spec.masked
    _, masks = envs.reset([1, 2])
    np.testing.assert_array_equal(masks, [[False, True, False, True]] * 2)
    np.testing.assert_array_equal(envs.step(np.array([1, 3])).masks, [[False, True, False, True]] * 2)


def test_legal_actions_narrow_the_environments_own_masks() -> None:
    envs = make_envs(EnvConfig(id="Taxi-v4", legal_actions=(0, 1, 2, 3), num_envs=4), "train")
    plain = make_envs(EnvConfig(id="Taxi-v4", num_envs=4), "train")
    narrowed, own = envs.reset([1, 2, 3, 4])[1], plain.reset([1, 2, 3, 4])[1]
    assert narrowed is not None
    assert own is not None
    np.testing.assert_array_equal(narrowed[:, :4], own[:, :4])
    assert not narrowed[:, 4:].any()


@pytest.mark.parametrize(
    ("kwargs", "words"), [({"empty": True}, "no action at all"), ({"forget": True}, "gave no info")]
)
def test_masks_that_forbid_everything_or_go_missing_are_faults(kwargs: dict[str, bool], words: str) -> None:
    envs = make_envs(EnvConfig(id="Sample/Masked-v0", kwargs=kwargs, num_envs=2), "train")
    with pytest.raises(EnvFaultError, match=words):
        obey(envs, steps=5)


def obey(envs: Envs, steps: int) -> None:
    _, masks = envs.reset([1, 2])
    for _ in range(steps):
        assert masks is not None
        masks = envs.step(masks.argmax(axis=1)).masks
