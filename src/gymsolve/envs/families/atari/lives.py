"""Lives and points as episodes of one game."""

from typing import Any

import gymnasium as gym

from gymsolve.envs.wrappers.rewards import AnyEnv, RawReturn, Stepped


class _Parts(gym.Wrapper[Any, Any, Any, Any]):
    """Episodes end within a game, and the next one goes on in it."""

    changes_reward = False
    training_only = True

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        made = env.unwrapped.spec.kwargs if env.unwrapped.spec else {}
        if "game" not in made:
            raise ValueError("an Atari game is needed.")
        self._lives = 0
        self._goes_on = False
        self._last: Any = None
        self._raw = _find_raw(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if self._goes_on and seed is None:
            self._goes_on = False
            if self._raw is not None:
                self._raw.total = 0.0
            return self._last, {"lives": self._lives}
        self._goes_on = False
        obs, info = self.env.reset(seed=seed, options=options)
        self._lives = info["lives"]
        return obs, info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        over = self._is_over(float(reward), info["lives"])
        self._goes_on = over and not (terminated or truncated)
        self._lives = info["lives"]
        if self._goes_on:
            self._last = obs
        return obs, reward, terminated or self._goes_on, truncated, info

    def _is_over(self, reward: float, lives: int) -> bool:
        raise NotImplementedError


class EpisodicLife(_Parts):
    """A lost life ends the episode, and the next one goes on in the same game; in training only.

    Evaluation and videos play whole games, whatever `roles` says.
    """

    def _is_over(self, reward: float, lives: int) -> bool:
        return lives < self._lives


class EpisodicPoint(_Parts):
    """A reward ends the episode, and the next one goes on in the same game; in training only.

    For games whose points have nothing to do with each other, as in Pong: a stroke is worth the point that it
    wins or loses, and none of those after it. Evaluation and videos play whole games, whatever `roles` says.
    """

    def _is_over(self, reward: float, lives: int) -> bool:
        return reward != 0.0


def _find_raw(env: AnyEnv) -> RawReturn | None:
    """The sum of raw rewards below, which does not hear of episodes that begin here."""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, RawReturn):
            return env
        env = env.env
    return None
