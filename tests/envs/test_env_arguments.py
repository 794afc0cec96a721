"""Wrong `env.kwargs`: whoever raises and wherever, one sentence names the argument, its value and the fix."""

import re
from typing import Any

import gymnasium as gym
import pytest
from gymnasium import spaces

from gymsolve.envs.arguments import check_types
from gymsolve.envs.build import build_env, digest_settings
from gymsolve.envs.describe import describe, describe_env
from gymsolve.envs.families import GENERIC, families, find_creator, find_family
from gymsolve.errors import ConfigError, EnvFaultError
from gymsolve.settings.config import EnvConfig


class Picky(gym.Env[Any, Any]):
    """Every argument has a way of its own to be wrong."""

    observation_space = spaces.Box(-1, 1, (2,))

    def __init__(
        self,
        size: int = 3,
        flag: bool = False,
        scale: "float | None" = 0.5,
        word: str = "north",
        loose=1,  # type: ignore[no-untyped-def]
        broken: object = None,
        box: object = False,
    ) -> None:
        self.action_space: Any = spaces.Box(-1, 1, (1,)) if box else spaces.Discrete(2)
        if size < 3:
            raise ValueError("Too small.")
        if broken == "always" or (size > 10 and flag):
            raise RuntimeError("Out of fuel.")
        self.word, self.loose = word, loose

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        {"north": 0, "south": 1}[self.word]
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, False, False, {}


gym.register("Picky-v0", Picky)


def refused(env_id: str, kwargs: dict[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        describe(EnvConfig.model_validate({"id": env_id, "kwargs": kwargs}), "train")
    assert "\n" not in str(told.value)
    return told.value


@pytest.mark.parametrize(
    ("env_id", "name", "value", "words"),
    [
        ("ALE/Pong-v5", "mode", 99, "cannot be built with 99: RuntimeError: Invalid game mode requested"),
        ("ALE/Pong-v5", "difficulty", 9, "cannot be built with 9: RuntimeError: Invalid difficulty"),
        ("MiniGrid-Empty-5x5-v0", "size", 2, "with 2: AssertionError at `assert width >= 3`"),
        ("MiniGrid-DoorKey-5x5-v0", "size", 2, "leave it out for 5."),
        ("MiniGrid-DoorKey-5x5-v0", "size", "big", "should be a number; got 'big'."),
        ("HalfCheetah-v5", "reset_noise_scale", "x", "should be a number; got 'x'."),
        ("HalfCheetah-v5", "reset_noise_scale", -3.0, "cannot be reset with -3.0: .*leave it out for 0.1."),
        ("LunarLander-v3", "gravity", 5, "with 5: AssertionError: gravity .* must be between -12 and 0"),
        ("LunarLander-v3", "wind_power", "x", "should be a number; got 'x'."),
        ("FrozenLake-v1", "map_name", "9x9", "with '9x9': KeyError: '9x9'.* leave it out for '4x4'."),
        ("FrozenLake-v1", "is_slippery", "perhaps", "should be true or false; got 'perhaps'."),
        ("FrozenLake-v1", "success_rate", 5, "should be a probability from 0 to 1; got 5."),
        ("Taxi-v4", "fickle_probability", -1, "should be a probability from 0 to 1; got -1."),
        ("Blackjack-v1", "natural", "no", "should be true or false; got 'no'."),
        ("BipedalWalker-v3", "hardcore", "maybe", "should be true or false; got 'maybe'."),
        ("CarRacing-v3", "lap_complete_percent", 95, "should be a share from 0 to 1; got 95."),
        ("CartPole-v1", "max_episode_steps", "x", "with 'x': TypeError: Expect the `max_episode_steps`"),
        ("CartPole-v1", "sutton_barto_reward", "x", "should be true or false; got 'x'."),
        ("Pendulum-v1", "g", "x", "should be a number; got 'x'."),
        ("MountainCar-v0", "goal_velocity", "x", "should be a number; got 'x'."),
        ("MinAtar/Breakout-v1", "difficulty_ramping", "x", "should be true or false; got 'x'."),
        ("VizdoomBasic-v1", "doom_skill", 9, "got 9"),
        ("Retro/MeadowRun-Nes-v0", "state", "Nowhere", "has no state 'Nowhere'"),
        ("Retro/MeadowRun-Nes-v0", "scenario", "Nowhere", "has no scenario 'Nowhere'. It has scenario"),
        ("Picky-v0", "size", 2, "with 2: ValueError: Too small .*leave it out for 3."),
        ("Picky-v0", "size", "x", "should be a number; got 'x'."),
        ("LunarLander-v3", "gravity", True, "should be a number; got True."),
        ("Picky-v0", "flag", "no", "should be true or false; got 'no'."),
        ("LunarLander-v3", "continuous", 2, "should be true or false; got 2."),
        ("LunarLander-v3", "wind_power", [1], r"should be a number; got \[1\]."),
        ("Picky-v0", "word", "up", "cannot be reset with 'up': KeyError: 'up' .*leave it out for 'north'."),
    ],
)
def test_a_wrong_argument_is_named_with_its_value(env_id: str, name: str, value: Any, words: str) -> None:
    told = refused(env_id, {name: value})
    assert told.where == f"env.kwargs.{name}"
    assert re.search(words, str(told)), str(told)


def test_it_is_found_among_arguments_that_are_fine() -> None:
    told = refused("ALE/Pong-v5", {"frameskip": [2, 5], "mode": 99, "repeat_action_probability": 0.0})
    assert told.where == "env.kwargs.mode"
    told = refused("Picky-v0", {"flag": True, "box": True, "word": "up", "size": 4})
    assert told.where == "env.kwargs.word"  # nothing else resets an environment with Box actions so early


def test_where_no_single_one_is_to_blame_all_are_shown() -> None:
    together = refused("Picky-v0", {"size": 11, "flag": True})
    assert together.where == "env.kwargs"
    assert "Picky-v0 cannot be built with size=11, flag=True: RuntimeError: Out of fuel (" in str(together)
    both = refused("Picky-v0", {"size": 2, "broken": "always"})
    assert "with size=2, broken='always': ValueError: Too small (" in str(both)


def test_a_task_says_which_of_them_it_is() -> None:
    tasks = {"small": {"kwargs": {"size": 2}}, "large": {"kwargs": {"size": 4}}}
    config = EnvConfig.model_validate({"id": "Picky-v0", "tasks": tasks})
    with pytest.raises(ConfigError, match="cannot be built with 2") as told:
        describe_env(config)
    assert told.value.where == "env.tasks.small.kwargs.size"


def test_an_environment_that_breaks_whatever_it_is_given_blames_no_argument() -> None:
    class Broken(Picky):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            raise RuntimeError("Out of fuel.")

    gym.register("PickyBroken-v0", Broken)
    config = EnvConfig.model_validate({"id": "PickyBroken-v0", "kwargs": {"size": 4}})
    with pytest.raises(EnvFaultError, match="raised RuntimeError: Out of fuel"):
        describe(config, "train")


@pytest.mark.parametrize(
    "kwargs",
    [
        {"flag": 1},
        {"scale": 2},
        {"scale": None},
        {"size": 3.5},
        {"loose": "text"},
        {"scale": [1, 2]},
        {"flag": 2},
    ],
)
def test_what_python_takes_for_the_same_is_taken(kwargs: dict[str, Any]) -> None:
    build_env(EnvConfig.model_validate({"id": "Picky-v0", "kwargs": kwargs}), "train")


def test_no_registration_of_any_family_is_refused() -> None:
    for family in families():
        family.register()
    # Every console game is registered alike.
    known = [one for env_id, one in gym.registry.items() if not env_id.startswith("Retro/")]
    owned = [one for one in known if find_family(one.id) is not GENERIC]
    for registered in owned:
        check_types(registered.kwargs, find_creator(registered.entry_point), known=True)
    assert len(owned) > 200


def test_settings_of_an_environment_are_told_apart_whatever_its_arguments_are() -> None:
    """In another order they are the same; objects count by their kind, and may stand anywhere."""

    def digest(**kwargs: Any) -> str:
        return digest_settings(EnvConfig.model_construct(id="Picky-v0", kwargs=kwargs))

    odd = {"map": {(0, 1): 5, "a": [1, {2, 3}], 3: None}, "space": spaces.Discrete(2), "size": 4}
    assert digest(**odd) == digest(**dict(reversed(odd.items())))
    assert digest(**odd) == digest(**odd | {"space": spaces.Discrete(3)})
    others = [{"size": 5}, {"map": {(0, 1): 6}}, {"space": None}, {"flag": False}]
    assert len({digest(**odd), *(digest(**odd | other) for other in others)}) == 5
    stepped = EnvConfig.model_validate(
        {"id": "Picky-v0", "num_envs": 3, "backend": "async", "frame_stack": 1}
    )
    assert digest_settings(stepped) == digest()
