"""Reset options, snapshots and jumps, on every backend: what they do, or that they are refused."""

import json
from typing import Any

import numpy as np
import pytest
import sample_envs
from test_env_contract import ATARI, EVERY_BACKEND, SEEDS, play

from gymsolve.envs.contract import Envs, Episode, Step
from gymsolve.envs.make import make_envs
from gymsolve.errors import ConfigError
from gymsolve.experience.episodes import EpisodeWindow
from gymsolve.settings.config import EnvConfig

assert sample_envs.Placed
PLACED = {"id": "sample_envs:Sample/Placed-v0"}
LAYOUTS = {"same_layouts": {"seeds": [3, 4]}}
GRID = {"wrappers": ["grid_codes"], "max_episode_steps": 40}
MINATAR = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
CAN_JUMP: list[tuple[str, dict[str, Any]]] = [
    ("sync", {"id": "CartPole-v1"}),
    ("async", {"id": "CartPole-v1", "workers": 2}),
    ("compiled", {"id": "CartPole-v1"}),
    ("compiled", {"id": "Acrobot-v1", "max_episode_steps": 40}),
    ("sync", {"id": "FrozenLake-v1", "frame_stack": 3, "wrappers": ["sticky_actions"]}),
    ("async", {"id": "LunarLander-v3", "workers": 3, "max_episode_steps": 40}),
    ("sync", {"id": "Taxi-v4", "max_episode_steps": 40}),
    ("sync", {"id": "Blackjack-v1"}),
    ("sync", {"id": "CliffWalking-v1", "max_episode_steps": 40}),
    ("sync", {**GRID, "id": "MiniGrid-UnlockPickup-v0"}),
    ("async", {**GRID, "id": "MiniGrid-Dynamic-Obstacles-5x5-v0", "workers": 2}),
    ("sync", {**GRID, "id": "MiniGrid-MultiRoom-N4-S5-v0", "wrappers": ["grid_codes", LAYOUTS]}),
    ("sync", {**GRID, "id": "BabyAI-GoToObj-v0"}),
    ("sync", {"id": "MinAtar/Asterix-v1", "max_episode_steps": 40}),
    ("sync", PLACED),
    ("async", {"id": "Hopper-v5", "workers": 2}),
    ("sync", ATARI | {"wrappers": ["atari", "clip_reward"], "kwargs": {**ATARI["kwargs"]}}),
]
jumpers = pytest.mark.parametrize(("backend", "settings"), CAN_JUMP)


def make(backend: str, settings: dict[str, Any], num_envs: int = 3) -> Envs:
    config = EnvConfig.model_validate({**settings, "num_envs": num_envs, "backend": backend})
    return make_envs(config, "train")


def stored(value: Any) -> Any:
    return json.loads(json.dumps(value))


def follow(envs: Envs, actions: list[Any]) -> list[Step]:
    return [envs.step(action) for action in actions]


@jumpers
def test_what_follows_a_jump_is_what_followed_the_snapshot(backend: str, settings: dict[str, Any]) -> None:
    envs = make(backend, settings)
    _, past = play(envs, 11)
    before = envs.snapshots([1])
    assert before[0] is not None
    actions, after = play(envs, 30, seed=1, start=(None, past[-1].masks))
    # Another row, another past, another vector.
    elsewhere = make(backend, settings)
    elsewhere.reset([5, 6, 7])
    follow(elsewhere, actions[:3])
    assert elsewhere.jump([2], stored(before), [99])[2] == []
    for action, one in zip(actions, after, strict=True):
        other = elsewhere.step(np.repeat(action[1:2], 3, axis=0))
        for key in one.obs:
            theirs = one.obs if not ended(one, 1) else one.final_obs
            mine = other.obs if not ended(other, 2) else other.final_obs
            assert theirs is not None
            assert mine is not None
            np.testing.assert_array_equal(theirs[key][1], mine[key][2])
        assert one.rewards[1] == other.rewards[2]
        assert (one.terminated[1], one.truncated[1]) == (other.terminated[2], other.truncated[2])
        if ended(one, 1):
            first = next(e for e in one.episodes if e.env == 1)
            second = next(e for e in other.episodes if e.env == 2)
            assert not first.jumped
            assert second == first._replace(env=2, jumped=True)
            break
    envs.close()
    elsewhere.close()


def ended(step: Step, row: int) -> bool:
    return bool(step.terminated[row] or step.truncated[row])


@jumpers
def test_the_seed_of_a_jump_decides_the_episode_after_it(backend: str, settings: dict[str, Any]) -> None:
    short = "wrappers" not in settings or settings["wrappers"] == ["grid_codes"]
    envs = make(backend, {**settings, "max_episode_steps": 8} if short else settings, 2)
    fresh = make(backend, settings, 2)
    begins = fresh.reset([123, 124])[0]
    fresh.close()
    play(envs, 3)
    here = envs.snapshots([0])
    envs.jump([0, 1], [*here, *here], [123, 124])
    done: dict[int, Any] = {}
    rng = np.random.default_rng(0)
    for _ in range(2000):
        size = envs.spec.action
        draws = (
            rng.uniform(-1, 1, (2, size.size)) if size.kind == "box" else rng.integers(size.nvec, size=(2, 1))
        )
        step = envs.step(size.to_env(draws))
        for episode in step.episodes:
            if episode.env not in done:
                assert episode.jumped
                done[episode.env] = {key: values[episode.env] for key, values in step.obs.items()}
            else:
                assert not episode.jumped
        if len(done) == 2:
            break
    envs.close()
    for row in (0, 1):
        for key, values in begins.items():
            np.testing.assert_array_equal(done[row][key], values[row])


@jumpers
def test_a_jump_survives_a_resume(backend: str, settings: dict[str, Any]) -> None:
    envs, other = make(backend, settings), make(backend, settings)
    play(envs, 7)
    envs.jump([0, 2], [*envs.snapshots([1]), *envs.snapshots([1])], [41, 42])
    state = stored(envs.capture())
    _, masks, restarted = other.restore(state, SEEDS)
    assert restarted == []
    _, one = play(envs, 60, seed=4, start=(None, masks))
    _, two = play(other, 60, seed=4, start=(None, masks))
    assert [step.episodes for step in one] == [step.episodes for step in two]
    assert any(episode.jumped for step in one for episode in step.episodes)
    for first, second in zip(one, two, strict=True):
        for key in first.obs:
            np.testing.assert_array_equal(first.obs[key], second.obs[key])
    envs.close()
    other.close()


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_where_a_snapshot_cannot_be_reached_an_episode_begins(backend: str) -> None:
    envs = make(backend, {"id": "sample_envs:Sample/Hidden-v0"}, 2)
    envs.reset([1, 2])
    follow(envs, [np.array([0, 0])] * 2)
    _, _, restarted = envs.jump([1], envs.snapshots([1]), [3])
    assert restarted == [1]
    episodes = [e for step in follow(envs, [np.array([0, 0])] * 5) for e in step.episodes]
    assert [(e.env, e.length, e.jumped) for e in episodes] == [(0, 5, False), (1, 5, False)]
    envs.close()


def test_a_foreign_snapshot_is_not_reached() -> None:
    compiled, sync = make("compiled", {"id": "CartPole-v1"}), make("sync", {"id": "CartPole-v1"})
    pendulum = make("compiled", {"id": "Pendulum-v1"})
    for envs in (compiled, sync, pendulum):
        play(envs, 4)
    assert sync.jump([0], compiled.snapshots([0]), [1])[2] == [0]
    assert compiled.jump([0], sync.snapshots([0]), [1])[2] == [0]
    assert compiled.jump([0], pendulum.snapshots([0]), [1])[2] == [0]


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_options_reach_every_coming_reset_of_their_rows(backend: str) -> None:
    envs = make(backend, {**PLACED, "workers": 2})
    envs.configure([1], {"start": 3.0})
    obs, _ = envs.reset(SEEDS)
    assert obs["obs"][:, 0].tolist() == [0.0, 3.0, 0.0]
    envs.configure([0, 2], {"start": 1.0})
    firsts: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for _ in range(12):
        step = envs.step(np.zeros(3, dtype=np.int64))
        for episode in step.episodes:
            firsts[episode.env].append(float(step.obs["obs"][episode.env, 0]))
    assert set(firsts[0]) == set(firsts[2]) == {1.0}
    assert set(firsts[1]) == {3.0}
    envs.configure([1], None)
    assert envs.reset(SEEDS)[0]["obs"][1, 0] == 0.0
    envs.close()


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_options_survive_a_resume(backend: str) -> None:
    envs, other = make(backend, PLACED), make(backend, PLACED)
    envs.configure([0], {"start": 2.0})
    envs.reset(SEEDS)
    envs.configure([0], {"start": 4.0})
    envs.step(np.zeros(3, dtype=np.int64))
    obs, _, restarted = other.restore(stored(envs.capture()), [7, 8, 9])
    assert restarted == []
    assert obs["obs"][:, 0].tolist() == [3.0, 1.0, 1.0]
    _, one = play(envs, 20, start=(None, None))
    _, two = play(other, 20, start=(None, None))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.obs["obs"], second.obs["obs"])
    envs.close()
    other.close()


@pytest.mark.parametrize("backend", ["sync", "compiled"])
def test_states_from_before_options_and_jumps_still_load(backend: str) -> None:
    envs, other = make(backend, {"id": "CartPole-v1"}), make(backend, {"id": "CartPole-v1"})
    play(envs, 5)
    state = stored(envs.capture())
    state.pop("options", None)
    del state["jumped"]
    for env in state.get("envs", ()):
        del env["options"], env["next_seed"]
    assert other.restore(state, SEEDS)[2] == []


@pytest.mark.parametrize("backend", ["compiled", "late/next_step", "envpool", "ale"])
def test_a_backend_that_takes_no_options_says_so(backend: str) -> None:
    envs = make(backend, EVERY_BACKEND[backend])
    envs.configure([0, 1], None)
    with pytest.raises(ConfigError, match=f"the {backend} backend takes no reset options"):
        envs.configure([0], {"low": 0.0})
    envs.close()


@pytest.mark.parametrize("backend", ["late/next_step", "envpool", "ale"])
def test_a_backend_that_cannot_jump_says_so(backend: str) -> None:
    envs = make(backend, EVERY_BACKEND[backend])
    envs.reset(SEEDS)
    with pytest.raises(ConfigError, match=f"the {backend} backend"):
        envs.snapshots([0])
    with pytest.raises(ConfigError, match=f"the {backend} backend"):
        envs.jump([0], [{}], [1])
    envs.close()


def test_atari_snapshots_are_native_and_know_sticky_actions() -> None:
    settings = ATARI | {"kwargs": {**ATARI["kwargs"], "repeat_action_probability": 0.25}}
    envs = make("sync", settings, 1)
    play(envs, 9)
    (saved,) = envs.snapshots([0])
    assert saved is not None
    assert "native" in saved["env"]
    actions, one = play(envs, 15, seed=2, start=(None, None))
    assert envs.jump([0], [stored(saved)], [5])[2] == []
    for first, second in zip(one, follow(envs, actions), strict=True):
        np.testing.assert_array_equal(first.obs["obs"], second.obs["obs"])
    # A stranger's wrapper may know more than its attributes say.
    strange = make("sync", settings | {"wrappers": ["atari", "sample_envs:Bonus"]}, 1)
    play(strange, 2)
    (other,) = strange.snapshots([0])
    assert other is not None
    assert "native" not in other["env"]
    envs.close()
    strange.close()


@pytest.mark.parametrize(
    ("settings", "native"),
    [
        ({"id": "FrozenLake-v1"}, True),
        ({"id": "Taxi-v4", "wrappers": ["sticky_actions"]}, True),  # with masks
        ({**GRID, "id": "MiniGrid-KeyCorridorS3R1-v0"}, True),
        ({**GRID, "id": "MiniGrid-ObstructedMaze-1Dlhb-v0"}, True),  # a box that holds a key
        ({**GRID, "id": "BabyAI-GoToObj-v0"}, False),
        *(({"id": f"MinAtar/{game}-v1"}, True) for game in MINATAR),
    ],
)
def test_a_native_snapshot_leads_where_a_replay_leads(settings: dict[str, Any], native: bool) -> None:
    envs, loaded, replayed = (make("sync", settings, 1) for _ in range(3))
    before = play(envs, 25)[1][-1]
    (saved,) = stored(envs.snapshots([0]))
    assert ("native" in saved["env"]) is native
    actions, _ = play(envs, 60, seed=3, start=(None, before.masks))
    bare = {**saved, "env": {name: one for name, one in saved["env"].items() if name != "native"}}
    for one, snapshot in ((loaded, saved), (replayed, bare)):
        one.reset([77])
        _, there, lost = one.jump([0], [snapshot], [5])
        assert lost == []
        np.testing.assert_array_equal(there, before.masks)
    for action in actions:
        first, second = loaded.step(action), replayed.step(action)
        np.testing.assert_array_equal(first.masks, second.masks)
        for key in first.obs:
            np.testing.assert_array_equal(first.obs[key], second.obs[key])
        assert (first.rewards, first.terminated, first.episodes) == (
            second.rewards,
            second.terminated,
            second.episodes,
        )


def test_jumped_episodes_are_no_returns() -> None:
    window = EpisodeWindow()
    window.add([Episode(0, 5.0, 5.0, 3, False), Episode(0, 500.0, 500.0, 3, False, jumped=True)])
    assert (window.total, window.best, window.mean_return) == (1, 5.0, 5.0)
    again = EpisodeWindow()
    again.load({}, stored(window.state()))
    assert again.metrics() == window.metrics()
    again.load({}, {"recent": [[0, 5.0, 5.0, 3, False, None]], "total": 1, "best": 5.0})  # of an older run
    assert again.metrics() == window.metrics()
