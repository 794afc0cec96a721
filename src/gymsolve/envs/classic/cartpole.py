"""CartPole paid for calm: how far the pole leans and how far the cart is from the middle.

The task pays 1 for every step until the pole falls, so a policy that sways along the edge is as good as one
that stands still. These numbers tell them apart; `reward_components` turns them into a reward.
"""

from typing import Any

import gymnasium as gym
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped

__all__ = ["PoleCentring"]


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
