"""The environment contract, on every backend and every family, against environments stepped by hand."""

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs
from same_steps import assert_same_step

import late_resets
from gymsolve.envs.build import build_env
from gymsolve.envs.contract import Envs, Step
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.envs.spaces import ObsLayout
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import ActionSpec, Array

SEEDS = [11, 22, 33]
FAMILIES = {
    "CartPole-v1": {},
    "FrozenLake-v1": {},
    "Taxi-v4": {"max_episode_steps": 40},
    "LunarLander-v3": {},
    "Pendulum-v1": {"max_episode_steps": 30},
    "Bandit-v0": {},
    "Hopper-v5": {},
    "sample_envs:Sample/Pictures-v0": {},
    "sample_envs:Sample/Mixed-v0": {},
    "sample_envs:Sample/Counter-v0": {},
}
STACKED = {
    "id": "FrozenLake-v1",
    "frame_stack": 3,
    "wrappers": [{"sticky_actions": {"probability": 0.3}}, {"frame_skip": {"skip": [1, 3]}}],
}
ATARI = {
    "id": "ALE/Breakout-v5",
    "kwargs": {"frameskip": 1, "obs_type": "grayscale"},
    "wrappers": ["atari"],
    "frame_stack": 2,
    "max_episode_steps": 120,
}
RANDOMIZED = {
    "id": "LunarLander-v3",
    "kwargs": {"enable_wind": True},
    "wrappers": [{"randomize": {"ranges": {"gravity": [-12, -6], "wind_power": [0, 20]}}}, "elapsed"],
}
EVERY_BACKEND = {
    "sync": {"id": "CartPole-v1"},
    "async": {"id": "CartPole-v1"},
    "compiled": {"id": "CartPole-v1"},
    "late/next_step": {"id": late_resets.ID},
    "envpool": {"id": "CartPole-v1"},
    "ale": ATARI,
}
every_backend = pytest.mark.parametrize("backend", EVERY_BACKEND)
assert sample_envs.Counter


def config_of(id: str, **more: Any) -> EnvConfig:  # noqa: A002
    return EnvConfig.model_validate({"id": id, "num_envs": 3, **FAMILIES.get(id, {}), **more})


def draw(rng: np.random.Generator, action: ActionSpec, count: int, masks: Array | None) -> Array:
    """Random legal actions, in policy units."""
    if action.kind == "box":
        return rng.uniform(-1.2, 1.2, (count, action.size))
    columns, offset = [], 0
    for n in action.nvec:
        weights = rng.random((count, n))
        if masks is not None:
            weights *= masks[:, offset : offset + n]
        columns.append(weights.argmax(axis=1))
        offset += n
    return np.stack(columns, axis=1)


def play(envs: Envs, steps: int, seed: int = 0, start: Any = None) -> tuple[list[Array], list[Step]]:
    rng = np.random.default_rng(seed)
    _, masks = start if start is not None else envs.reset(SEEDS[: envs.num_envs])
    actions, results = [], []
    for _ in range(steps):
        actions.append(envs.spec.action.to_env(draw(rng, envs.spec.action, envs.num_envs, masks)))
        results.append(envs.step(actions[-1]))
        masks = results[-1].masks
    return actions, results


@pytest.mark.parametrize("backend", ["sync", "async"])
@pytest.mark.parametrize("env_id", FAMILIES)
def test_matches_environments_stepped_by_hand(env_id: str, backend: str) -> None:
    config = config_of(env_id, backend=backend)
    envs = make_envs(config, "train")
    first = envs.reset(SEEDS)
    actions, results = play(envs, 150, start=first)
    envs.close()
    ended = 0
    for index, seed in enumerate(SEEDS):
        ended += follow_by_hand(config, index, seed, first[0], actions, results)
    assert ended > 0


def follow_by_hand(
    config: EnvConfig, index: int, seed: int, first: Any, actions: list[Array], results: list[Step]
) -> int:
    env = build_env(config, "train").env
    layout = ObsLayout(env.observation_space)
    observed, info = env.reset(seed=seed)
    total, length, ended = 0.0, 0, 0
    for key, value in layout.stack([observed]).items():
        np.testing.assert_array_equal(first[key][index], value[0])
    for taken, step in zip(actions, results, strict=True):
        observed, reward, terminated, truncated, info = env.step(taken[index])
        total, length = total + float(reward), length + 1
        assert step.rewards[index] == np.float32(reward)
        assert step.rewards.dtype == np.float32
        assert step.terminated[index] == terminated
        assert step.truncated[index] == (truncated and not terminated)
        assert step.valid[index]
        mine = [episode for episode in step.episodes if episode.env == index]
        if terminated or truncated:
            ended += 1
            assert step.final_obs is not None
            for key, value in layout.stack([observed]).items():
                np.testing.assert_array_equal(step.final_obs[key][index], value[0])
            (episode,) = mine
            assert episode.raw_return == episode.shaped_return == total
            assert (episode.length, episode.truncated) == (length, truncated and not terminated)
            total, length = 0.0, 0
            observed, info = env.reset()
        else:
            assert not mine
        for key, value in layout.stack([observed]).items():
            np.testing.assert_array_equal(step.obs[key][index], value[0])
        if step.masks is not None:
            given = info["action_mask"]
            flat = np.concatenate(given) if isinstance(given, tuple) else given
            np.testing.assert_array_equal(step.masks[index], flat.astype(bool))
    env.close()
    return ended


def test_a_family_of_others_steps_its_vector_class_and_marks_late_resets() -> None:
    envs = make_envs(config_of(late_resets.ID, max_episode_steps=15), "train")
    assert envs.backend == "late/next_step"
    raw = gym.make_vec("CartPole-v1", 3, "vector_entry_point", max_episode_steps=15)
    raw.reset(seed=int(np.random.SeedSequence(SEEDS).generate_state(1)[0]))
    actions, results = play(envs, 120)
    returns, lengths, late = np.zeros(3), np.zeros(3), np.zeros(3, dtype=bool)
    flags = set()
    for taken, step in zip(actions, results, strict=True):
        obs, rewards, terminated, truncated, _ = raw.step(taken)
        np.testing.assert_array_equal(step.obs["obs"], obs)
        np.testing.assert_array_equal(step.valid, ~late)
        assert not (step.terminated & step.truncated).any()
        assert not (step.terminated | step.truncated)[late].any()
        returns[~late] += rewards[~late]
        lengths[~late] += 1
        late = terminated | truncated
        assert [e.env for e in step.episodes] == np.flatnonzero(late).tolist()
        for episode in step.episodes:
            assert episode.raw_return == returns[episode.env]
            assert episode.length == lengths[episode.env]
            assert step.final_obs is not None
            np.testing.assert_array_equal(step.final_obs["obs"][episode.env], obs[episode.env])
            flags.add(episode.truncated)
            returns[episode.env] = lengths[episode.env] = 0
    assert flags == {True, False}


@every_backend
def test_every_backend_keeps_the_books(backend: str) -> None:
    """Episodes are what the steps add up to; an end gives its last observation and starts the next one."""
    envs = make_envs(
        config_of(**{**EVERY_BACKEND[backend], "backend": backend, "max_episode_steps": 25}), "train"
    )
    first, _ = envs.reset(SEEDS)
    _, results = play(envs, 80, start=(first, None))
    kept = [{key: values.copy() for key, values in step.obs.items()} for step in results]
    play(envs, 5, start=(results[-1].obs, results[-1].masks))
    shaped, lengths = np.zeros(3), np.zeros(3)
    flags = set()
    for step, copied in zip(results, kept, strict=True):
        for key, values in step.obs.items():
            np.testing.assert_array_equal(values, copied[key])
            assert values.shape == (3, *envs.spec.obs[key].shape)
            assert values.dtype == envs.spec.obs[key].dtype
        assert (step.rewards.dtype, step.terminated.dtype, step.truncated.dtype) == (np.float32, bool, bool)
        assert not (step.terminated & step.truncated).any()
        ended = step.terminated | step.truncated
        assert not ended[~step.valid].any()
        assert not step.rewards[~step.valid].any()
        assert (step.final_obs is not None) == ended.any()
        shaped += step.rewards
        lengths += step.valid
        assert sorted(episode.env for episode in step.episodes) == np.flatnonzero(ended).tolist()
        for episode in step.episodes:
            row = episode.env
            assert (episode.shaped_return, episode.length) == (shaped[row], lengths[row])
            assert episode.raw_return == shaped[row]
            assert episode.truncated == step.truncated[row]
            shaped[row] = lengths[row] = 0
            flags.add(episode.truncated)
    assert True in flags
    envs.close()


@pytest.mark.parametrize("role", ["train", "eval", "play"])
@pytest.mark.parametrize("backend", ["sync", "compiled", "late/next_step", "envpool"])
def test_time_limits_hold_in_every_role(role: Any, backend: str) -> None:
    envs = make_envs(config_of(**EVERY_BACKEND[backend], backend=backend, max_episode_steps=5), role)
    assert envs.spec.max_episode_steps == 5
    _, results = play(envs, 8)
    episodes = [episode for step in results for episode in step.episodes]
    assert {(episode.length, episode.truncated) for episode in episodes} == {(5, True)}


@every_backend
def test_seeds_reproduce_and_differ(backend: str) -> None:
    config = config_of(**EVERY_BACKEND[backend], backend=backend)
    runs = []
    for seeds in (SEEDS, SEEDS, [1, 2, 3]):
        envs = make_envs(config, "train")
        runs.append(play(envs, 40, start=envs.reset(seeds))[1])
        envs.close()
    for one, same in zip(runs[0], runs[1], strict=True):
        assert_same_step(one, same)
    assert any(not np.array_equal(a.obs["obs"], b.obs["obs"]) for a, b in zip(runs[0], runs[2], strict=True))


def test_a_second_reset_with_the_same_seeds_starts_the_same() -> None:
    for backend in ("compiled", "late/next_step", "envpool", "ale"):
        envs = make_envs(config_of(**EVERY_BACKEND[backend], backend=backend), "train")
        _, first = play(envs, 20)
        _, again = play(envs, 20)
        for one, same in zip(first, again, strict=True):
            assert_same_step(one, same)
        envs.close()


@pytest.mark.parametrize("game", ["Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"])
def test_what_was_done_before_a_seeded_reset_does_not_matter(game: str) -> None:
    config = config_of(f"MinAtar/{game}-v1", kwargs={"sticky_action_prob": 0.9})
    envs, fresh = make_envs(config, "train"), make_envs(config, "train")
    play(envs, 31, seed=3)
    for one, same in zip(play(envs, 40)[1], play(fresh, 40)[1], strict=True):
        assert_same_step(one, same)


def test_returned_arrays_survive_later_steps() -> None:
    envs = make_envs(config_of("sample_envs:Sample/Counter-v0"), "train")
    _, results = play(envs, 7)
    assert [step.obs["obs"][0, 0] for step in results] == [1, 2, 3, 4, 0, 1, 2]
    assert results[4].final_obs is not None
    assert results[4].final_obs["obs"][0, 0] == 5


SAID = [(True, True), (np.False_, False), (1, True), (np.array([0.0]), False)]
SAID += [(odd, None) for odd in ("no", b"no", None, float("nan"), 7, [True], np.ones(2), np.array("no"), {})]


@pytest.mark.parametrize(("said", "success"), SAID, ids=repr)
def test_only_true_and_false_are_words_on_success(said: Any, success: bool | None) -> None:
    class Says(sample_envs.Counter):
        def step(self, action: Any) -> Any:
            *step, _ = super().step(action)
            return *step, {"is_success": said}

    gym.register("Says-v0", Says)
    envs = make_envs(EnvConfig(id="Says-v0", num_envs=1, kwargs={"length": 1}, backend="sync"), "train")
    envs.reset([0])
    step = envs.step(np.zeros(1, dtype=np.int64))
    assert [episode.success for episode in step.episodes] == [success]
    del gym.registry["Says-v0"]


def test_success_and_action_offset() -> None:
    envs = make_envs(config_of("sample_envs:Sample/Counter-v0", kwargs={"start": 1, "actions": 2}), "train")
    envs.reset(SEEDS)
    for _ in range(5):
        step = envs.step(envs.spec.action.to_env(np.array([[0], [1], [0]])))
    assert [episode.success for episode in step.episodes] == [True, False, True]
    assert [episode.raw_return for episode in step.episodes] == [5.0, 10.0, 5.0]


def test_a_new_world_leaves_the_first_episode_as_it_was() -> None:
    ours, stock = build_env(EnvConfig(id="BipedalWalker-v3"), "train").env, gym.make("BipedalWalker-v3")
    np.testing.assert_array_equal(ours.reset(seed=3)[0], stock.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    for _ in range(200):
        action = rng.uniform(-1, 1, 4).astype(np.float32)
        one, other = ours.step(action), stock.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:4] == other[1:4]
        if one[2]:
            break


# ------------------------------------------------------------------------------------- resuming

RESUMED = [
    ({"id": "CartPole-v1"}, "compiled"),
    ({"id": "Acrobot-v1"}, "compiled"),
    ({"id": late_resets.ID}, "late/next_step"),
    ({"id": "CartPole-v1"}, "sync"),
    ({"id": "CartPole-v1"}, "async"),
    ({"id": "LunarLander-v3"}, "sync"),
    (RANDOMIZED, "sync"),
    (RANDOMIZED, "async"),
    ({"id": "BipedalWalker-v3", "max_episode_steps": 60}, "sync"),
    ({"id": "Pendulum-v1"}, "sync"),
    ({"id": "FrozenLake-v1"}, "sync"),
    ({"id": "Taxi-v4"}, "sync"),
    ({"id": "Bandit-v0"}, "sync"),
    ({"id": "Humanoid-v5", "max_episode_steps": 40}, "sync"),
    ({"id": "Hopper-v5", "wrappers": ["clip_reward"]}, "async"),
    ({"id": "sample_envs:Sample/Mixed-v0"}, "sync"),
    (STACKED, "sync"),
    (STACKED, "async"),
    (ATARI, "ale"),
    ({"id": "MountainCar-v0", "wrappers": ["hill_energy"], "max_episode_steps": 60}, "sync"),
    ({"id": "Pendulum-v1", "wrappers": [{"observation_noise": {"std": 0.1}}, {"clip_reward": {}}]}, "sync"),
]


@pytest.mark.parametrize(("settings", "backend"), RESUMED)
def test_a_restored_state_continues_bit_for_bit(settings: dict[str, Any], backend: str) -> None:
    config = EnvConfig.model_validate({**settings, "backend": backend, "num_envs": 3})
    envs = make_envs(config, "train")
    _, before = play(envs, 150)
    state = json.loads(json.dumps(envs.capture()))
    fresh = make_envs(config, "train")
    obs, masks, restarted = fresh.restore(state, [7, 8, 9])
    assert restarted == []
    for key, values in before[-1].obs.items():
        np.testing.assert_array_equal(obs[key], values)
    _, expected = play(envs, 150, seed=1, start=(before[-1].obs, before[-1].masks))
    _, found = play(fresh, 150, seed=1, start=(obs, masks))
    for one, other in zip(expected, found, strict=True):
        assert_same_step(one, other)
    assert json.dumps(envs.capture()) == json.dumps(fresh.capture())
    envs.close()
    fresh.close()


def test_an_environment_with_hidden_state_starts_anew_and_is_named() -> None:
    config = config_of("sample_envs:Sample/Hidden-v0")
    envs = make_envs(config, "train")
    play(envs, 3)
    fresh = make_envs(config, "train")
    obs, _, restarted = fresh.restore(json.loads(json.dumps(envs.capture())), [7, 8, 9])
    assert restarted == [0, 1, 2]
    np.testing.assert_array_equal(obs["obs"], [[0, -1]] * 3)
    assert all(
        episode.length == 5 for step in play(fresh, 5, start=(obs, None))[1] for episode in step.episodes
    )


@pytest.mark.parametrize("backend", ["sync", "compiled", "late/next_step"])
def test_a_state_of_another_backend_or_size_starts_what_it_must(backend: str) -> None:
    envs = make_envs(config_of("CartPole-v1", backend="sync"), "train")
    play(envs, 10)
    other = make_envs(config_of(**EVERY_BACKEND[backend], backend=backend, num_envs=4), "train")
    state = envs.capture()
    assert state is not None
    assert other.restore(state, [1, 2, 3, 4])[2] == ([3] if backend == "sync" else [0, 1, 2, 3])


# ---------------------------------------------------------------------------------- choosing


@pytest.mark.parametrize("backend", ["sync", "compiled", "late/next_step"])
def test_an_old_version_is_noted(backend: str) -> None:
    newest = EVERY_BACKEND[backend]["id"]
    old = newest.replace("v1", "v0")
    assert "v1" in make_envs(config_of(old, backend=backend), "train").spec.notes[0]
    assert make_envs(config_of(newest, backend=backend), "train").spec.notes == ()


def test_auto_takes_quicker_code_only_when_nothing_stands_in_between() -> None:
    wrapped = config_of("CartPole-v1", wrappers=[{"sticky_actions": {"roles": ["train"]}}])
    assert choose_backend(config_of("CartPole-v1"), "train") == "compiled"
    assert choose_backend(config_of("CartPole-v1", lean=False), "train") == "sync"
    assert choose_backend(config_of("CartPole-v1"), "train", render=True) == "sync"
    assert choose_backend(wrapped, "train") == "sync"
    assert choose_backend(wrapped, "eval") == "compiled"
    assert choose_backend(config_of("CartPole-v1", frame_stack=2), "train") == "sync"
    assert choose_backend(config_of("CartPole-v1", legal_actions=[0]), "train") == "sync"
    assert choose_backend(config_of("Pendulum-v1", lean=False), "train") == "sync"


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_rendering_gives_one_frame_each(backend: str) -> None:
    envs = make_envs(config_of("CartPole-v1", backend=backend), "play", num_envs=2, render=True)
    envs.reset([1, 2])
    frames = envs.render()
    assert [frame.shape for frame in frames] == [(400, 600, 3)] * 2
    envs.close()


def test_an_environment_that_cannot_render_gives_no_frames() -> None:
    envs = make_envs(config_of("Bandit-v0"), "play", render=True)
    envs.reset(SEEDS)
    assert envs.render() == []
