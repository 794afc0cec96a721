"""Frames, text and curves: sizes that encoders take, words that people read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsolve.apps.playback import Moment
from gymsolve.apps.video.canvas import plan_canvas
from gymsolve.apps.video.curve import Curve, draw_curve
from gymsolve.apps.video.overlay import OverlayStyle, describe, draw_panel
from gymsolve.envs.open_render_env import open_play_env, open_render_env
from gymsolve.errors import EnvFaultError
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import ActionSpec

STYLE = OverlayStyle()
SIZES = st.none() | st.tuples(*[st.integers(32, 960).map(lambda half: 2 * half)] * 2)


@given(st.integers(1, 3000), st.integers(1, 3000), SIZES, st.booleans())
def test_any_frame_becomes_a_picture_of_even_size(tall, wide, size, text):
    share = STYLE.panel_share if text else 0.0
    canvas = plan_canvas((tall, wide, 3), panel_share=share, background=(0, 0, 0), size=size)
    assert canvas.width % 2 == canvas.height % 2 == 0
    left, top, width, height = canvas.frame
    assert min(left, top) >= 0
    assert width >= 1
    assert height >= 1
    assert left + width <= canvas.width
    assert top + height + canvas.panel <= canvas.height
    if size is not None:
        assert (canvas.width, canvas.height) == size


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((210, 160), (480, 630)),
        ((400, 600), (600, 400)),
        ((500, 500), (500, 500)),
        ((2560, 1280), (640, 1280)),
    ],
)
def test_small_frames_grow_and_large_ones_shrink(shape, expected):
    canvas = plan_canvas((*shape, 3), panel_share=0, background=(0, 0, 0))
    assert (canvas.width, canvas.height) == expected


def test_small_frames_keep_hard_edges():
    frame = np.zeros((210, 160, 3), np.uint8)
    frame[100, 80] = 255
    canvas = plan_canvas(frame.shape, panel_share=0, background=(9, 9, 9))
    picture = canvas.compose(frame, None)
    assert np.array_equal(picture, frame.repeat(3, axis=0).repeat(3, axis=1))


def test_letterboxing_keeps_proportions_and_centres():
    frame = np.full((100, 100, 3), 255, np.uint8)
    canvas = plan_canvas(frame.shape, panel_share=0, background=(0, 0, 0), size=(640, 360))
    lit = canvas.compose(frame, None).min(axis=2) > 128
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    assert len(rows) == len(columns) == 300
    assert rows[0] == 360 - 1 - rows[-1]
    assert columns[0] == 640 - 1 - columns[-1]


def told(**changes):
    facts = {"episode": "1", "step": "7", "return": "-3.2", "action": "left", "reward": "+1", "value": "4"}
    return facts | changes


def test_the_panel_shows_what_changes_and_its_style_decides_what():
    panel = draw_panel(told(), STYLE, 600, 62)
    assert panel.shape == (62, 600, 3)
    assert np.array_equal(panel, draw_panel(told(), STYLE, 600, 62))
    for name in STYLE.show:
        assert not np.array_equal(panel, draw_panel(told(**{name: "88"}), STYLE, 600, 62)), name
    brief = OverlayStyle(show=("return",))
    assert brief.panel_share < STYLE.panel_share
    assert np.array_equal(draw_panel(told(), brief, 600, 40), draw_panel(told(step="9"), brief, 600, 40))
    assert STYLE.without_text().panel_share == 0


def test_every_letter_has_a_shape():
    from gymsolve.apps.video.overlay import font

    face = font(20)
    missing = bytes(face.getmask("\ue000"))
    for letter in "abcxyzABC0123456789+-.,:·()%":
        assert bytes(face.getmask(letter)) != missing, letter


@pytest.mark.parametrize(
    ("env_id", "kwargs", "action", "expected"),
    [
        ("CartPole-v1", {}, 1, "right"),
        ("FrozenLake-v1", {}, 1, "down"),
        ("LunarLander-v3", {}, 2, "main engine"),
        ("LunarLander-v3", {"continuous": True}, [0.5, -1.0], "main +0.50 side -1.00"),
        ("Pendulum-v1", {}, [1.234], "torque +1.23"),
        ("filmed_envs:Lamp-v0", {}, 2, "2"),
    ],
)
def test_actions_have_names_where_they_are_known(env_id, kwargs, action, expected):
    stage = open_render_env(EnvConfig(id=env_id, kwargs=kwargs))
    assert stage is not None
    stage.close()
    assert stage.labels.describe(np.array(action)) == expected


def test_names_are_not_used_for_other_actions_than_they_were_made_for():
    offered = {"discrete_actions": {"actions": [[-1.0], [1.0]]}}
    stage = open_render_env(EnvConfig.model_validate({"id": "Pendulum-v1", "wrappers": [offered]}))
    assert stage is not None
    stage.close()
    assert stage.labels.describe(np.array(1)) == "1"


def test_moments_are_told_in_words():
    stage = open_render_env(EnvConfig(id="CartPole-v1"))
    assert stage is not None
    start = stage.reset(seed=1)
    said = describe(Moment(1, 0, None, start), stage.labels, 12.345, episodes=3)
    assert (said["episode"], said["action"], said["value"]) == ("1 of 3", "-", "12.35")
    assert describe(Moment(4, 0, None, start), stage.labels, None, episodes=3)["episode"] == "4"
    scene, steps = start, 0
    while not scene.terminated:
        scene, steps = stage.step(np.array([1])), steps + 1
    stage.close()
    said = describe(Moment(1, steps, np.array(1), scene), stage.labels, 12.3, episodes=1)
    assert said == {
        "episode": "1",
        "step": f"{steps}, end",
        "return": str(steps),
        "action": "right",
        "reward": "+1",
        "value": "-",
    }


def test_several_numbers_fit_and_many_are_counted():
    from gymsolve.envs.labels import ActionLabels

    labels = ActionLabels(ActionSpec("box", (6,), dtype="float32"))
    assert labels.describe(np.arange(6) / 10) == "+0.00 +0.10 +0.20 +0.30 and 2 more"


def test_a_task_of_several_names_its_own_part_of_an_action():
    """Doom's ladder: one policy emits six parts, and the first scenario takes one of them."""
    from gymsolve.envs.labels import ActionLabels

    labels = ActionLabels(ActionSpec("discrete", (), nvec=(3,), start=(0,)), ("noop", "left", "right"))
    assert labels.describe(np.array([2, 0, 0, 1])) == "right"
    assert labels.describe(np.array(1)) == "left"


def test_frame_skipping_slows_the_picture_down_to_real_time():
    skipping = {"id": "CartPole-v1", "wrappers": [{"frame_skip": {"skip": 5}}]}
    stage = open_render_env(EnvConfig.model_validate(skipping))
    assert stage is not None
    stage.close()
    assert stage.fps == 10


@pytest.mark.parametrize(
    ("kwargs", "wrappers", "rate"),
    [
        ({"frameskip": 1, "obs_type": "grayscale"}, ["atari"], 15),
        ({}, [], 15),
        ({"frameskip": (2, 5)}, [], 20),  # 2, 3 or 4
    ],
)
def test_an_atari_game_is_shown_as_fast_as_it_is_played(kwargs, wrappers, rate):
    """Sixty frames a second, some of them a step: by the wrapper, or by the game itself."""
    stage = open_render_env(
        EnvConfig.model_validate({"id": "ALE/Pong-v5", "kwargs": kwargs, "wrappers": wrappers})
    )
    assert stage is not None
    stage.close()
    assert stage.fps == rate


def test_the_curve_marks_where_it_is():
    curve = Curve(((100.0, 0.0), (200.0, 50.0), (300.0, 100.0)), threshold=90.0)
    assert curve.at(150) == 25.0

    def bright(env_steps):
        drawn = np.asarray(draw_curve(curve, env_steps, (300, 100), STYLE)).astype(int)
        return np.flatnonzero((np.abs(drawn - STYLE.accent).sum(axis=2) < 40).any(axis=0)).max()

    assert bright(100) < bright(200) < bright(300)
    empty = np.asarray(draw_curve(Curve((), None), 0, (30, 10), STYLE))
    assert (empty == STYLE.background).all()


def test_an_environment_that_fails_to_draw_text_is_named():
    stage = open_play_env(EnvConfig(id="filmed_envs:Mute-v0"), text=True)
    stage.reset(0)
    with pytest.raises(EnvFaultError, match="filmed_envs:Mute-v0 cannot be drawn: RuntimeError: no driver"):
        stage.write()
    stage.close()
