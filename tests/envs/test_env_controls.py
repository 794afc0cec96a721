"""Keys, sliders and sticks become the actions that a person means."""

import numpy as np
import pytest

from gymsolve.envs.controls import Controls, find_controls
from gymsolve.envs.describe import describe
from gymsolve.envs.labels import ActionLabels
from gymsolve.recipes import resolve
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import ActionSpec


def controls_of(name: str) -> Controls:
    config = resolve(name).config.env
    return controls_for(config)


def controls_for(config: EnvConfig) -> Controls:
    known = describe(config, "play")
    return find_controls(config.id, known.labels, known.spec.action)


def nameless(action: ActionSpec) -> Controls:
    return find_controls("Nobody-v0", ActionLabels(action), action)


@pytest.mark.parametrize(
    ("name", "pressed", "label"),
    [
        ("CartPole-v1", ["left"], "left"),
        ("CartPole-v1", ["right", "left"], "left"),  # of equals, the newer key
        ("CartPole-v1", [], None),  # nothing does nothing: it waits
        ("CartPole-v1", ["q"], None),
        ("MountainCar-v0", [], "coast"),
        ("MountainCar-v0", ["left"], "left"),
        ("ALE/Pong-v5", [], "noop"),
        ("ALE/Pong-v5", ["space"], "fire"),
        ("ALE/Pong-v5", ["space", "right"], "right fire"),  # the longest combination
        ("ALE/Pong-v5", ["up"], "right"),  # the paddle goes where the arrow points
        ("ALE/Pong-v5", ["down", "space"], "left fire"),
        ("ALE/Breakout-v5", ["up", "right"], "right"),  # what the game has not is left out
        ("ALE/Pong-v5", ["#3"], "left"),
        ("ALE/Pong-v5", ["#99"], "noop"),
        ("VizdoomBasic-v1", ["space", "a"], "move left + attack"),
        ("Retro/MeadowRun-Nes-v0", ["right", "x", "z"], "right a b"),
        ("Retro/MeadowRun-Nes-v0", ["x"], "noop"),
        ("MiniGrid-DoorKey-5x5-v0", ["enter"], "done"),
        ("LunarLander-v3", ["up"], "main engine"),
    ],
)
def test_the_longest_combination_that_is_pressed_decides(name, pressed, label):
    config = resolve(name).config.env
    known = describe(config, "play")
    action = find_controls(config.id, known.labels, known.spec.action).read(pressed)
    assert (None if action is None else known.labels.describe(action[0])) == label


def test_choices_without_names_are_digits_then_letters():
    ten = nameless(ActionSpec("discrete", (), nvec=(10,), start=(0,)))
    assert ten.read(["7"]).tolist() == [7]
    many = nameless(ActionSpec("discrete", (), nvec=(40,), start=(5,)))
    assert many.read(["1"]).tolist() == [5]
    assert many.read(["q"]).tolist() == [15]
    assert many.read(["#39"]).tolist() == [44]
    assert many.read([]) is None


@pytest.mark.parametrize(
    ("name", "pressed", "levels", "strengths", "action"),
    [
        ("LunarLanderContinuous-v3", ["up", "left"], {}, {}, [1, -1]),
        ("LunarLanderContinuous-v3", ["up", "left", "right"], {}, {}, [1, 0]),
        ("LunarLanderContinuous-v3", ["left"], {0: 0.25}, {"left": 0.5}, [0.25, -0.5]),
        ("LunarLanderContinuous-v3", ["up"], {0: 0.25}, {}, [1, 0]),  # keys add to sliders, within the space
        ("Pendulum-v1", ["right"], {}, {}, [2]),
        ("Pendulum-v1", ["left"], {0: 1.0}, {}, [-1]),
        ("Pendulum-v1", [], {0: 99.0, 7: 1.0}, {}, [2]),
    ],
)
def test_a_number_is_the_slider_and_what_keys_add(name, pressed, levels, strengths, action):
    found = controls_of(name).read(pressed, levels, strengths)
    np.testing.assert_allclose(found[0], action)


def test_the_car_steers_with_arrows():
    car = controls_for(EnvConfig(id="CarRacing-v3"))
    np.testing.assert_allclose(car.read(["left", "up"])[0], [-1, 1, 0])
    np.testing.assert_allclose(car.read(["down"])[0], [0, 0, 0.8])
    assert car.to_json()["dimensions"][1] == {"low": 0.0, "neutral": 0.0, "high": 1.0}


def test_many_numbers_have_a_row_of_keys_each():
    walker = controls_of("BipedalWalker-v3")
    assert walker.read(["q", "s"])[0].tolist() == [1, -1, 0, 0]


def test_buttons_of_a_pad_are_held_together():
    pad = controls_for(EnvConfig(id="Retro/MeadowRun-Nes-v0"))
    names = {one.label: one.part for one in pad.bindings}
    held = pad.read(["right", "x"])[0]
    assert held.nonzero()[0].tolist() == sorted([names["right"], names["a"]])
    assert pad.read([])[0].sum() == 0
    assert pad.read([f"#{names['a']}.1"])[0].tolist() == pad.read(["x"])[0].tolist()


def test_parts_take_the_newer_of_two_keys():
    parts = nameless(ActionSpec("multi_discrete", (2,), nvec=(3, 2), start=(0, 0)))
    assert parts.read([])[0].tolist() == [0, 0]
    assert parts.read(["1", "3"])[0].tolist() == [1, 1]
    assert parts.read(["1", "2"])[0].tolist() == [2, 0]


def test_masks_forbid_choices_of_every_part():
    parts = nameless(ActionSpec("multi_discrete", (2,), nvec=(3, 2), start=(1, 0)))
    masks = np.array([[True, False, True, True, False]])
    assert not parts.forbidden(np.array([[1, 0]]), masks)
    assert parts.forbidden(np.array([[2, 0]]), masks)
    assert parts.forbidden(np.array([[1, 1]]), masks)
    assert not parts.forbidden(np.array([[2, 0]]), None)
