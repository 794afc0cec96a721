"""Numbers that shapers say in `info`, on transitions made by hand, and what paying for them leaves alone."""

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymsolve.envs.build import build_env
from gymsolve.envs.make import make_envs
from gymsolve.envs.wrappers.potential import Potential
from gymsolve.errors import ConfigError
from gymsolve.recipes import resolve
from gymsolve.settings.config import EnvConfig


def build(env_id: str, *wrappers: Any, **more: Any) -> Any:
    return build_env(EnvConfig.model_validate({"id": env_id, "wrappers": wrappers, **more}), "train").env


# ----------------------------------------------------------------------------------- CartPole


@pytest.mark.parametrize(
    ("state", "tilt", "offset"),
    [
        ((0.0, 0.0, 0.0, 0.0), 0.0, 0.0),  # at rest a push moves speeds only
        ((1.2, 0.0, 0.0, 0.0), 0.0, 0.5),
        ((-1.2, 0.0, 0.0, 0.0), 0.0, 0.5),
        ((0.0, 0.0, np.radians(3.0), 0.0), 0.25, 0.0),
        ((0.0, 0.0, -np.radians(9.0), 0.0), 0.75, 0.0),
        ((2.39, 30.0, np.radians(11.9), 30.0), 1.0, 1.0),  # beyond both ends
    ],
)
def test_a_pole_is_paid_by_how_far_it_is_from_the_middle(state: Any, tilt: float, offset: float) -> None:
    env = build("CartPole-v1", "pole_centring")
    env.reset(seed=0)
    env.unwrapped.state = np.array(state)
    _, reward, terminated, _, info = env.step(1)
    assert (info["tilt"], info["offset"]) == (pytest.approx(tilt), pytest.approx(offset))
    assert (reward, terminated) == (1.0, tilt == 1.0)


def test_a_centred_pole_is_judged_by_the_task_and_paid_by_the_shaper() -> None:
    config = resolve("CartPole-v1:ppo_centred").config.env.model_copy(update={"num_envs": 2})
    envs = make_envs(config, "eval")
    assert envs.spec.components == ("base", "tilt", "offset")
    envs.reset([1, 2])
    steps = [envs.step(np.array([step % 2, 1])) for step in range(60)]
    envs.close()
    episodes = [one for step in steps for one in step.episodes]
    assert episodes
    for one in episodes:
        assert one.raw_return == one.length
        assert 0.25 * one.length < one.shaped_return < one.length  # no step costs more than it pays


# -------------------------------------------------------------------------------- MountainCar

FLAG, BOTTOM = 0.5, -np.pi / 6


@pytest.mark.parametrize(
    ("place", "speed", "expected"),
    [
        (BOTTOM, 0.0, -1.0),
        (FLAG, 0.0, 0.0),
        (BOTTOM, np.sqrt(0.005 / 3 * (np.sin(1.5) + 1)), 0.0),  # fast enough to roll up to the flag
    ],
)
def test_the_energy_of_a_car(place: float, speed: float, expected: float) -> None:
    env = build("MountainCar-v0", "hill_energy")
    env.reset(seed=0)
    env.unwrapped.state = (place, speed)
    assert env.potential() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "MountainCarContinuous-v0"])
def test_a_car_that_rolls_freely_keeps_its_energy(env_id: str) -> None:
    env = build(env_id, "hill_energy", max_episode_steps=10_000)
    env.reset(seed=0)
    env.unwrapped.state = (-0.9, 0.0)
    before = env.potential()
    idle = 1 if env_id == "MountainCar-v0" else np.zeros(1, np.float32)
    kept = []
    for _ in range(120):  # to and fro
        env.step(idle)
        kept.append(env.potential())
    assert np.ptp([before, *kept]) < 0.05  # steps of time are not infinitely small


def swing(state: Any) -> int:
    """Push where the car rolls: this reaches the flag."""
    return 2 if state[1] >= 0 else 0


@pytest.mark.parametrize("gamma", [0.9, 0.99, 1.0])
def test_what_an_episode_is_paid_for_energy_depends_on_its_ends_alone(gamma: float) -> None:
    rng = np.random.default_rng(0)
    policies = {"flag": swing, "idle": lambda state: 1, "random": lambda state: int(rng.integers(3))}
    reached = set()
    for name, policy in policies.items():
        env = build("MountainCar-v0", {"hill_energy": {"gamma": gamma}})
        state, _ = env.reset(seed=3)
        first, paid, discount, ended = env.potential(), 0.0, 1.0, False
        while not ended:
            state, _, terminated, truncated, info = env.step(policy(state))
            paid += discount * info["energy"]
            discount *= gamma
            ended = terminated or truncated
        rest = 0.0 if terminated else discount * env.potential()
        assert paid == pytest.approx(rest - first)
        reached |= {name} if terminated else set()
    assert reached == {"flag"}


class Walk(gym.Env[Any, Any]):
    """Three places in a row: beyond the last lies a prize, before the first a pit that pays too."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)
    place = 1

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 1 if options is None else options["place"]
        return self.place + 1, {}

    def step(self, action: Any) -> Any:
        self.place += 1 if action else -1
        over = self.place in (-1, 3)
        return self.place + 1, {-1: 0.5, 3: 1.0}.get(self.place, -0.1), over, False, {}


class Misleading(Potential):
    """A potential that praises the wrong end, to see that not even this changes what is best."""

    key = "praise"

    def potential(self) -> float:
        return {-1: 70.0, 0: 40.0, 1: -20.0, 2: -30.0, 3: -90.0}[self.unwrapped.place]  # type: ignore[attr-defined]


def play_out(env: Any, policy: tuple[int, ...], start: int, gamma: float, weight: float) -> float:
    """The discounted return of a policy from a place; the longest are as good as endless."""
    env.reset(options={"place": start})
    total, discount = 0.0, 1.0
    for _ in range(400):
        _, reward, terminated, _, info = env.step(policy[env.unwrapped.place])
        total += discount * (float(reward) + weight * info["praise"])
        discount *= gamma
        if terminated:
            break
    return total


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_no_weight_of_a_potential_changes_which_policy_is_best(gamma: float) -> None:
    env = Misleading(Walk(), gamma)
    for start in range(3):
        raw, paid = [], []
        for policy in itertools.product((0, 1), repeat=3):
            raw.append(play_out(env, policy, start, gamma, 0.0))
            paid.append(play_out(env, policy, start, gamma, 1.0))
        env.reset(options={"place": start})
        # Every policy gains the same, so that their order is what it was.
        np.testing.assert_allclose(np.array(paid) - raw, -env.potential(), atol=1e-6)
        assert int(np.argmax(paid)) == int(np.argmax(raw))


def test_a_shaper_refuses_another_environment() -> None:
    with pytest.raises(ConfigError, match="MountainCar is needed"):
        build("CartPole-v1", "hill_energy")
    with pytest.raises(ConfigError, match="CartPole is needed"):
        build("MountainCar-v0", "pole_centring")
