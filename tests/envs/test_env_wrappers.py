"""Each wrapper does what its name says, in the roles it is meant for, and leaves the raw return alone."""

import os
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs
from gymnasium import spaces

from gymsolve.envs.build import build_env
from gymsolve.envs.contract import Envs, Step
from gymsolve.envs.make import make_envs
from gymsolve.envs.options import check_wrappers
from gymsolve.errors import ConfigError
from gymsolve.registry import WRAPPERS
from gymsolve.settings.config import EnvConfig, Role

assert sample_envs.Counter
COUNTER = "Sample/Counter-v0"


def build(env_id: str, *wrappers: Any, role: Role = "train", **more: Any) -> Any:
    return build_env(EnvConfig.model_validate({"id": env_id, "wrappers": wrappers, **more}), role).env


def vector(env_id: str, *wrappers: Any, role: Role = "train", **more: Any) -> Envs:
    settings = {"id": env_id, "wrappers": wrappers, "num_envs": 1, **more}
    return make_envs(EnvConfig.model_validate(settings), role)


def walk(envs: Envs, actions: list[int]) -> list[Step]:
    envs.reset([1])
    return [envs.step(np.array([action])) for action in actions]


def last_actions(env: Any, actions: list[int], seed: int = 1) -> list[float]:
    """What the innermost environment was told, as `Counter` shows in its observation."""
    env.reset(seed=seed)
    return [float(env.step(np.int64(action))[0][1]) for action in actions]


def test_every_name_in_the_table_is_a_wrapper() -> None:
    options = {
        "action_noise": {"probability": 0.1},
        "atari_actions": {"names": ["LEFT", "RIGHT"]},
        "discrete_actions": {"actions": [0]},
        "keep_elements": {"elements": [0]},
        "observation_noise": {"std": 0.1},
        "randomize": {"ranges": {"gravity": [9, 10]}},
        "image_range": {"high": 15},
        "resize": {"width": 8, "height": 8},
        "reward_components": {"components": {"bonus": 1}},
        "same_layouts": {"seeds": [0]},
        "scale_reward": {"factor": 2},
        "time_limit": {"max_steps": 3},
    }
    config = EnvConfig.model_validate(
        {"id": "CartPole-v1", "wrappers": [{name: options.get(name, {})} for name in WRAPPERS]}
    )
    assert len(check_wrappers(config)) == len(WRAPPERS)


# ------------------------------------------------------------------------------------ actions


def test_frame_skip_repeats_and_sums() -> None:
    (step,) = walk(vector(COUNTER, {"frame_skip": {"skip": 3}}), [2])
    assert step.obs["obs"][0].tolist() == [3, 2]
    assert step.rewards[0] == 6


def test_frame_skip_stops_at_the_end_of_an_episode() -> None:
    steps = walk(vector(COUNTER, {"frame_skip": {"skip": 3}}), [1, 1])
    assert steps[1].terminated[0]
    assert steps[1].episodes[0][1:4] == (5.0, 5.0, 2)


def test_variable_frame_skip_draws_every_count_of_its_range() -> None:
    env = build(COUNTER, {"frame_skip": {"skip": [1, 3]}}, kwargs={"length": 10_000})
    before, counts = env.reset(seed=1)[0][0], set()
    for _ in range(50):
        after = float(env.step(0)[0][0])
        counts.add(after - before)
        before = after
    assert counts == {1, 2, 3}


def test_frame_skip_max_pool_keeps_the_brighter_of_the_last_two_frames() -> None:
    plain, pooled = (
        build("Sample/Pictures-v0"),
        build("Sample/Pictures-v0", {"frame_skip": {"skip": 3, "max_pool": True}}),
    )
    plain.reset(seed=3)
    pooled.reset(seed=3)
    frames = [plain.step(0)[0] for _ in range(3)]
    np.testing.assert_array_equal(pooled.step(0)[0], np.maximum(frames[1], frames[2]))


def test_time_limit_is_told_in_agent_steps() -> None:
    assert vector("CartPole-v1", {"frame_skip": {"skip": 4}}).spec.max_episode_steps == 125
    assert vector("CartPole-v1", {"frame_skip": {"skip": [2, 4]}}).spec.max_episode_steps == 250
    assert (
        vector("CartPole-v1", {"frame_skip": {"skip": 3}}, max_episode_steps=10).spec.max_episode_steps == 4
    )
    limited = vector(COUNTER, {"frame_skip": {"skip": 2}}, {"time_limit": {"max_steps": 2}})
    assert limited.spec.max_episode_steps == 2
    steps = walk(limited, [0, 0])
    assert steps[1].truncated[0]
    assert not steps[1].terminated[0]


def test_sticky_actions_repeat_the_last_executed_action_at_the_given_rate() -> None:
    env = build(COUNTER, {"sticky_actions": {"probability": 0.25}}, kwargs={"length": 10_000})
    chosen = [step % 4 for step in range(4000)]
    done = last_actions(env, chosen)
    assert done[0] == chosen[0]
    stuck = [
        one == before and one != wanted
        for before, one, wanted in zip(done, done[1:], chosen[1:], strict=False)
    ]
    assert 0.2 < np.mean(stuck) < 0.3
    assert all(
        one in (before, wanted) for before, one, wanted in zip(done, done[1:], chosen[1:], strict=False)
    )


@pytest.mark.parametrize(("role", "sticky"), [("train", True), ("eval", False), ("play", False)])
def test_a_wrapper_applies_only_in_its_roles(role: Role, sticky: bool) -> None:
    env = build(COUNTER, {"sticky_actions": {"probability": 1.0, "roles": ["train"]}}, role=role)
    assert last_actions(env, [1, 2, 3]) == ([1, 1, 1] if sticky else [1, 2, 3])


def test_action_noise_of_a_discrete_action() -> None:
    env = build(COUNTER, {"action_noise": {"probability": 0.4}}, kwargs={"length": 10_000, "start": 5})
    done = np.array(last_actions(env, [5] * 3000))
    assert set(done) == {5, 6, 7, 8}
    assert 0.25 < np.mean(done != 5) < 0.35


def test_random_choices_respect_a_mask() -> None:
    env = build("Taxi-v4", {"action_noise": {"probability": 1.0}})
    _, info = env.reset(seed=1)
    done = set()
    for _ in range(300):
        allowed = set(np.flatnonzero(info["action_mask"]).tolist())
        _, _, terminated, truncated, info = env.step(0)
        done.add(env.unwrapped.lastaction)
        assert env.unwrapped.lastaction in allowed
        if terminated or truncated:
            _, info = env.reset()
    assert len(done) > 3


def test_repeats_respect_a_mask() -> None:
    """`Masked` itself asserts that the one action is taken that it allows."""
    env = build("sample_envs:Sample/Masked-v0", {"sticky_actions": {"probability": 1.0}})
    info = env.reset(seed=1)[1]
    for _ in range(2):
        info = env.step(int(np.argmax(info["action_mask"])))[4]
    parts = build("sample_envs:Sample/Mixed-v0", {"sticky_actions": {"probability": 1.0}})
    repeated = []
    for seed in range(40):  # the parts of its actions begin at 1 and 0; what is done is what was done last
        parts.reset(seed=seed)
        info = parts.step(np.array([3, 0]))[4]
        parts.step(np.array([1, 0]))
        repeated.append(parts.get_wrapper_attr("_last")[0] == 3)
        assert repeated[-1] == info["action_mask"][0][2]
    assert 5 < sum(repeated) < 35


def test_noise_can_be_kept_to_training() -> None:
    noise = {"std": 0.5, "roles": ["train"]}
    wrappers = [{"observation_noise": noise}, {"action_noise": noise}]
    stock = gym.make("Pendulum-v1")
    first, _ = stock.reset(seed=1)
    second = stock.step(np.ones(1, np.float32))[0]
    for role, same in (("train", False), ("eval", True), ("play", True)):
        env = build("Pendulum-v1", *wrappers, role=role)
        seen = env.reset(seed=1)[0], env.step(np.ones(1, np.float32))[0]
        assert [np.array_equal(a, b) for a, b in zip(seen, (first, second), strict=True)] == [same] * 2


@pytest.mark.parametrize("space", [spaces.MultiBinary(3), spaces.MultiDiscrete([2, 3], start=[1, 0])])
def test_random_actions_lie_in_their_space(space: Any) -> None:
    env = build("Sample/Plain-v0", {"action_noise": {"probability": 1.0}}, kwargs={"action_space": space})
    env.reset(seed=1)
    for _ in range(30):
        env.step(space.sample())
    assert len({tuple(action.tolist()) for action in env.unwrapped.taken}) > 2


def test_action_noise_of_a_box_stays_in_bounds() -> None:
    box = spaces.Box(-2.0, 2.0, (1,))
    env = build("Sample/Plain-v0", {"action_noise": {"std": 0.5}}, kwargs={"action_space": box})
    env.reset(seed=1)
    for _ in range(500):
        env.step(np.zeros(1, dtype=np.float32))
    taken = np.concatenate(env.unwrapped.taken)
    assert (
        0.8 < taken.std() < 1.05
    )  # half the range is 2, so the noise has a spread of 1, less what is clipped
    assert np.abs(taken).max() <= 2.0


def test_discrete_actions_offer_a_choice_of_combinations() -> None:
    combos = [[0, 0, 0], [1, 0, 0], [1, 0, 1]]
    config = {"kwargs": {"action_space": spaces.MultiBinary(3)}}
    envs = vector("Sample/Plain-v0", {"discrete_actions": {"actions": combos}}, **config)
    assert envs.spec.action.nvec == (3,)
    env = build("Sample/Plain-v0", {"discrete_actions": {"actions": combos}}, **config)
    env.reset(seed=1)
    for index in (2, 0, 1):
        env.step(np.int64(index))
    assert [action.tolist() for action in env.unwrapped.taken] == [combos[2], combos[0], combos[1]]


def test_discrete_actions_translate_masks() -> None:
    envs = vector("Sample/Masked-v0", {"discrete_actions": {"actions": [2, 1, 0]}})
    obs, masks = envs.reset([1])
    assert masks is not None
    assert masks[0].argmax() == 2 - obs["obs"][0] % 3


def test_previous_actions_join_the_observation() -> None:
    envs = vector(COUNTER, {"previous_actions": {"count": 2}})
    obs, _ = envs.reset([1])
    assert set(obs) == {"obs", "previous_actions"}
    assert obs["previous_actions"].tolist() == [[0] * 8]
    assert envs.step(np.array([3])).obs["previous_actions"].tolist() == [[0, 0, 0, 0, 0, 0, 0, 1]]
    assert envs.step(np.array([1])).obs["previous_actions"].tolist() == [[0, 0, 0, 1, 0, 1, 0, 0]]


def test_previous_actions_of_a_box_and_a_dict_observation() -> None:
    envs = vector("Pendulum-v1", "previous_actions", {"previous_actions": {"count": 1}})
    envs.reset([1])
    step = envs.step(np.array([[1.5]], dtype=np.float32))
    assert step.obs["previous_actions"].tolist() == [[1.5]]
    assert step.obs["obs"].shape == (1, 3)


# ------------------------------------------------------------------------------- observations


def test_grayscale_weighs_colours() -> None:
    raw, _ = build_env(EnvConfig(id="Sample/Pictures-v0", kwargs={"layout": "CHW"}), "train").env.reset(
        seed=1
    )
    for layout in ("CHW", "HWC"):
        envs = vector("Sample/Pictures-v0", "grayscale", kwargs={"layout": layout})
        assert envs.spec.obs["obs"].shape == (1, 12, 10)
    gray = vector("Sample/Pictures-v0", "grayscale", kwargs={"layout": "CHW"}).reset([1])[0]["obs"][0, 0]
    expected = np.tensordot([0.299, 0.587, 0.114], raw.astype(float), axes=1)
    np.testing.assert_allclose(gray, expected, atol=0.51)


@pytest.mark.parametrize(("layout", "channels"), [("HW", 1), ("HWC", 3), ("HWC", 1), ("CHW", 3), ("CHW", 1)])
def test_resize_averages_areas(layout: str, channels: int) -> None:
    kwargs = {"layout": layout, "channels": channels}
    full = vector("Sample/Pictures-v0", kwargs=kwargs).reset([1])[0]["obs"][0].astype(float)
    envs = vector("Sample/Pictures-v0", {"resize": {"width": 5, "height": 6}}, kwargs=kwargs)
    assert envs.spec.obs["obs"].shape == (channels, 6, 5)
    expected = full.reshape(channels, 6, 2, 5, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(envs.reset([1])[0]["obs"][0], expected, atol=0.51)


@pytest.mark.parametrize("layout", ["HW", "HWC", "CHW"])
def test_crop_cuts_margins(layout: str) -> None:
    full = vector("Sample/Pictures-v0", kwargs={"layout": layout}).reset([1])[0]["obs"]
    envs = vector(
        "Sample/Pictures-v0",
        {"crop": {"top": 1, "bottom": 2, "left": 3, "right": 0}},
        kwargs={"layout": layout},
    )
    np.testing.assert_array_equal(envs.reset([1])[0]["obs"], full[:, :, 1:10, 3:])


def test_one_pipeline_for_pixels() -> None:
    wrappers = ["grayscale", {"crop": {"top": 2}}, {"resize": {"width": 8, "height": 8}}]
    envs = vector("Sample/Pictures-v0", *wrappers, frame_stack=4)
    assert envs.spec.obs["obs"].shape == (4, 8, 8)
    steps = walk(envs, [0, 1, 0])
    np.testing.assert_array_equal(steps[1].obs["obs"][0, :3], steps[0].obs["obs"][0, 1:])


def test_pixels_inside_a_dict_are_found() -> None:
    envs = vector("Sample/Mixed-v0", "grayscale", {"resize": {"width": 4, "height": 4}})
    assert envs.spec.obs["screen"].shape == (1, 4, 4)
    assert envs.spec.obs["body/0"].shape == (2, 2)


def test_observation_noise_has_the_given_spread_and_respects_pixels() -> None:
    env = build(COUNTER, {"observation_noise": {"std": 0.5}}, kwargs={"length": 10_000})
    env.reset(seed=1)
    errors = [float(env.step(1)[0][1]) - 1 for _ in range(1500)]
    assert 0.45 < np.std(errors) < 0.55
    noisy = vector("Sample/Pictures-v0", {"observation_noise": {"std": 20.0}}).reset([1])[0]["obs"]
    clean = vector("Sample/Pictures-v0").reset([1])[0]["obs"]
    assert noisy.dtype == np.uint8
    assert (noisy != clean).mean() > 0.8


@pytest.mark.parametrize(
    ("encoding", "expected"), [("onehot", [0, 0, 0, 0, 0, 1]), ("binary", [1, 0, 1]), ("array", [5])]
)
def test_discrete_encoder(encoding: str, expected: list[int]) -> None:
    space = spaces.Discrete(6, start=3)
    env = build(
        "Sample/Plain-v0", {"discrete_encoder": {"encoding": encoding}}, kwargs={"observation_space": space}
    )
    assert env.observation(8).tolist() == expected
    assert env.observation_space.contains(env.observation(8))


def test_discrete_encoder_joins_parts() -> None:
    space = spaces.MultiDiscrete([2, 4])
    onehot = build("Sample/Plain-v0", "discrete_encoder", kwargs={"observation_space": space})
    assert onehot.observation(np.array([1, 2])).tolist() == [0, 1, 0, 0, 1, 0]
    binary = {"discrete_encoder": {"encoding": "binary"}}
    digits = build("Sample/Plain-v0", binary, kwargs={"observation_space": space})
    assert digits.observation(np.array([1, 2])).tolist() == [1, 1, 0]


def test_rescale_maps_bounds_to_bounds() -> None:
    space = spaces.Box(np.float32([-2, 0]), np.float32([2, 10]))
    env = build("Sample/Plain-v0", "rescale", kwargs={"observation_space": space})
    assert env.observation(np.float32([-2, 10])).tolist() == [-1, 1]
    assert env.observation(np.float32([0, 5])).tolist() == [0, 0]


def test_flatten_reads_images_as_vectors_by_their_bounds() -> None:
    plain, flat = build("Sample/Pictures-v0"), build("Sample/Pictures-v0", "flatten")
    pixels, numbers = plain.reset(seed=3)[0], flat.reset(seed=3)[0]
    assert flat.observation_space.contains(numbers)
    assert sorted(numbers.tolist()) == sorted((pixels.ravel() / np.float32(255)).tolist())
    flags = spaces.Box(0, 1, (2, 2, 3), dtype=np.bool_)
    env = build("Sample/Plain-v0", "flatten", kwargs={"observation_space": flags})
    assert env.observation(np.eye(12, dtype=bool)[7].reshape(2, 2, 3)).tolist() == [0] * 7 + [1] + [0] * 4
    with pytest.raises(ConfigError, match="finds nothing to work on"):
        build(COUNTER, "flatten")
    with pytest.raises(ConfigError, match="needs images with bounds; got -inf to inf"):
        build(
            "Sample/Plain-v0", "flatten", kwargs={"observation_space": spaces.Box(-np.inf, np.inf, (2, 2, 2))}
        )


def test_pixels_are_what_the_environment_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.setenv(name, "")
    drawn = {"kwargs": {"render_mode": "rgb_array"}}
    env = build("CartPole-v1", "pixels", {"crop": {"top": 160, "bottom": 80}}, **drawn)
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"  # or SDL would complain of the missing screen
    assert env.observation_space.shape == (3, 160, 600)
    stock = gym.make("CartPole-v1", render_mode="rgb_array")
    first, _ = env.reset(seed=4)
    stock.reset(seed=4)
    picture: Any = stock.render()
    np.testing.assert_array_equal(first, np.moveaxis(picture[160:320], -1, 0))
    for _ in range(8):
        later = env.step(1)[0]
    assert (later != first).any(axis=(0, 1)).sum() > 5  # columns in which the cart and the pole moved
    with pytest.raises(ConfigError, match=r"pixels: .* add env\.kwargs=\{render_mode: rgb_array\}"):
        build("CartPole-v1", "pixels")


def test_keep_elements_hides_the_others() -> None:
    space = spaces.Box(np.float32([-2, 0, -9]), np.float32([2, 10, 9]))
    wrapper = {"keep_elements": {"elements": [2, 0]}}
    env = build("Sample/Plain-v0", wrapper, kwargs={"observation_space": space})
    assert env.observation(np.float32([1, 2, 3])).tolist() == [3, 1]
    assert env.observation_space.high.tolist() == [9, 2]
    with pytest.raises(ConfigError, match="element 3 is not among the 3"):
        build("Sample/Plain-v0", {"keep_elements": {"elements": [3]}}, kwargs={"observation_space": space})


def test_frame_stack_fills_with_the_first_observation() -> None:
    envs = vector(COUNTER, frame_stack=3)
    assert envs.spec.obs["obs"].shape == (6,)
    obs, _ = envs.reset([1])
    assert obs["obs"].tolist() == [[0, -1, 0, -1, 0, -1]]
    assert envs.step(np.array([2])).obs["obs"].tolist() == [[0, -1, 0, -1, 1, 2]]
    for _ in range(4):
        step = envs.step(np.array([2]))
    assert step.final_obs is not None
    assert step.final_obs["obs"].tolist() == [[3, 2, 4, 2, 5, 2]]
    assert step.obs["obs"].tolist() == [[0, -1, 0, -1, 0, -1]]


# ------------------------------------------------------------------------------------ rewards


@pytest.mark.parametrize(
    ("wrapper", "seen"),
    [
        ({"scale_reward": {"factor": 0.5}}, [1.0, 1.5, 0.0]),
        ({"clip_reward": {}}, [1.0, 1.0, 0.0]),
        ({"clip_reward": {"low": 0, "high": 2.5}}, [2.0, 2.5, 0.0]),
        ({"clip_reward": {"sign": True}}, [1.0, 1.0, 0.0]),
        ({"sample_envs:Bonus": {"amount": 10}}, [12.0, 13.0, 10.0]),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "async"])
def test_raw_returns_lie_below_everything_that_changes_rewards(
    wrapper: Any, seen: list[float], backend: str
) -> None:
    envs = vector(COUNTER, {"frame_skip": {"skip": 1}}, wrapper, kwargs={"length": 3}, backend=backend)
    for _ in range(2):  # the sum starts again with each episode
        steps = walk(envs, [2, 3, 0])
        assert [float(step.rewards[0]) for step in steps] == seen
        (episode,) = steps[-1].episodes
        assert (episode.raw_return, episode.shaped_return) == (5.0, sum(seen))
    envs.close()


def test_wrappers_of_gymnasium_work_by_path() -> None:
    envs = vector("CartPole-v1", {"gymnasium.wrappers:TransformReward": {"func": lambda reward: 3 * reward}})
    step = walk(envs, [1])[0]
    assert step.rewards[0] == 3


# ------------------------------------------------------------------------------------- worlds

WIND = {"randomize": {"ranges": {"gravity": [-12, -6], "wind_power": [3, 9], "turbulence_power": [1, 1]}}}


def worlds(env: Any, seeds: list[int | None]) -> list[tuple[float, ...]]:
    found = []
    for seed in seeds:
        env.reset(seed=seed)
        inner = env.unwrapped
        # The world that was built is the one that was drawn.
        assert inner.world.gravity[1] == pytest.approx(inner.gravity)
        found.append((inner.gravity, inner.wind_power, inner.turbulence_power))
    return found


def test_every_episode_has_a_world_of_its_own_within_the_ranges() -> None:
    env = build("LunarLander-v3", WIND, kwargs={"enable_wind": True})
    found = np.array(worlds(env, [1] + [None] * 199))
    assert len(np.unique(found[:, 0])) == 200
    for column, (low, high) in enumerate([(-12, -6), (3, 9)]):
        assert low <= found[:, column].min() < low + 0.3
        assert high - 0.3 < found[:, column].max() <= high
        assert found[:, column].mean() == pytest.approx((low + high) / 2, abs=0.5)
    assert (found[:, 2] == 1).all()
    assert abs(np.corrcoef(found[:, 0], found[:, 1])[0, 1]) < 0.25


def test_worlds_follow_from_the_seed_and_can_be_kept_to_training() -> None:
    seeds: list[int | None] = [3, None, None, 4]
    first, second = (worlds(build("LunarLander-v3", WIND), seeds) for _ in range(2))
    assert first == second
    assert len(set(first)) == 4
    only = {"randomize": {**WIND["randomize"], "roles": ["train"]}}
    assert len(set(worlds(build("LunarLander-v3", only, role="train"), seeds))) == 4
    assert set(worlds(build("LunarLander-v3", only, role="eval"), seeds)) == {(-10.0, 15.0, 1.5)}


def test_a_heavier_world_pulls_harder() -> None:
    falls = []
    for gravity in (-6.0, -12.0):
        env = build("LunarLander-v3", {"randomize": {"ranges": {"gravity": [gravity, gravity]}}})
        env.reset(seed=1)
        speeds = [float(env.step(0)[0][3]) for _ in range(20)]
        falls.append(speeds[-1] - speeds[0])
    assert falls[1] == pytest.approx(2 * falls[0], rel=0.01)


@pytest.mark.parametrize(
    ("env_id", "ranges", "told"),
    [
        ("LunarLander-v3", {"gravty": [-9, -8]}, "no number 'gravty'. Its numbers are: gravity, wind_power"),
        ("LunarLander-v3", {"gravity": [-8, -9]}, r"written \[low, high\]; gravity got \[-8.0, -9.0\]"),
        ("LunarLander-v3", {"gravity": [-8]}, r"written \[low, high\]; gravity got \[-8.0\]"),
        ("LunarLander-v3", {}, "ranges should name at least one attribute"),
        ("LunarLander-v3", {"continuous": [0, 1]}, "no number 'continuous'"),
        ("Acrobot-v1", {"LINK_MASS": [1, 2]}, "LINK_MASS_1, LINK_MASS_2"),
    ],
)
def test_ranges_that_cannot_be_drawn_from_are_refused(env_id: str, ranges: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        build(env_id, {"randomize": {"ranges": ranges}})


def test_time_can_be_charged_for() -> None:
    charge = {"reward_components": {"components": {"length": {"key": "elapsed", "weight": -0.5}}}}
    envs = vector(COUNTER, "elapsed", charge, {"frame_skip": {"skip": 2}}, kwargs={"length": 4})
    steps = walk(envs, [3, 1])
    assert envs.spec.components == ("base", "length")
    assert [float(step.rewards[0]) for step in steps] == [5.0, 1.0]
    (episode,) = steps[-1].episodes
    assert (episode.raw_return, episode.shaped_return) == (8.0, 6.0)


def test_same_layouts_come_again() -> None:
    env = build("Sample/Pictures-v0", {"same_layouts": {"seeds": [3, 4]}})
    known = [build("Sample/Pictures-v0").reset(seed=seed)[0] for seed in (3, 4)]
    begun = [env.reset(seed=1 if number == 0 else None)[0] for number in range(12)]
    which = [[np.array_equal(one, layout) for layout in known] for one in begun]
    assert all(sum(matches) == 1 for matches in which)
    assert {matches.index(True) for matches in which} == {0, 1}
