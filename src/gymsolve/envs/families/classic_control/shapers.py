"""Shapers of classic control: what an episode of CartPole or MountainCar can be paid for besides its task.

CartPole pays 1 for every step until the pole falls, so a policy that sways along the edge is as good as one
that stands still; how far it leans and how far it is from the middle tell them apart. MountainCar pays -1 for
every step until the flag, so nothing tells a swinging car from a still one. Height and speed together do: a
car that swings gains both in turn, and loses neither by rolling back.
"""

import math
from typing import Any

import gymnasium as gym
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv

from gymsolve.envs.wrappers.potential import Discount, Potential
from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped

_GRAVITY = 0.0025
"""Of both environments; one of them keeps it in its code only."""


class PoleCentring(gym.Wrapper[Any, Any, Any, Any]):
    """Says in `info` how far CartPole is from standing upright in the middle.

    `tilt` is the pole's angle and `offset` the cart's place, both from 0 to 1, where the episode ends. Pay
    for them with negative weights whose sum is above -1: then every step is still worth living for.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, CartPoleEnv):
            raise ValueError("CartPole is needed.")
        self._game: Any = env.unwrapped

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        game = self._game
        place, _, angle, _ = game.state
        info["tilt"] = min(abs(float(angle)) / game.theta_threshold_radians, 1.0)
        info["offset"] = min(abs(float(place)) / game.x_threshold, 1.0)
        return obs, reward, terminated, truncated, info


class HillEnergy(Potential):
    """Says in `info["energy"]` what a step of MountainCar brought of the energy that the flag needs.

    It is potential-based: a weight of any size leaves the best policy what it was. `gamma` has to be
    `algo.gamma`; put it above `frame_skip`.
    """

    key = "energy"

    def __init__(self, env: AnyEnv, gamma: Discount = 0.99) -> None:
        if not isinstance(env.unwrapped, MountainCarEnv | Continuous_MountainCarEnv):
            raise ValueError("MountainCar is needed.")
        super().__init__(env, gamma)
        self._game: Any = env.unwrapped
        self._needed = _energy(float(self._game.goal_position), 0.0)

    def potential(self) -> float:
        """From -1 where the car rests at the bottom to 0 where it has what the flag needs."""
        place, speed = self._game.state
        bottom = _energy(-math.pi / 6, 0.0)
        return (_energy(float(place), float(speed)) - self._needed) / (self._needed - bottom)


def _energy(place: float, speed: float) -> float:
    """Per unit of mass: the hill is a sine, and the pull along it gravity times its slope."""
    return speed * speed / 2.0 + _GRAVITY / 3.0 * math.sin(3.0 * place)
