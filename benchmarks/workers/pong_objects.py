"""Pong's objects as a Gymnasium wrapper, for tools that do not know gymsolve: what a user would write.

`tests/benchmarks/test_bench_pong_objects.py` compares it with the wrapper `atari_objects`.
"""

from typing import Any

import gymnasium as gym
import numpy as np

__all__ = ["PongObjects", "make_pong"]


class PongObjects(gym.ObservationWrapper):
    """Height, speed and presence of both paddles; the ball's place, speed and presence."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (11,), np.float32)
        self.before: list[Any] = [None, None, None]

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.before = [None, None, None]
        return super().reset(**options)

    def observation(self, ram: Any) -> Any:
        found = [_paddle(int(ram[51]), 13), _paddle(int(ram[50]), 15), _ball(ram)]
        player, enemy, ball = (_moved(now, last) for now, last in zip(found, self.before, strict=True))
        self.before = found
        return np.array(
            [*(player or (105, 0, 0)), *(enemy or (105, 0, 0)), *(ball or (80, 105, 0, 0, 0))], np.float32
        )


def _paddle(byte: int, offset: int) -> tuple[int, ...] | None:
    return (byte - offset,) if byte and 18 < byte - offset < 194 else None


def _ball(ram: Any) -> tuple[int, ...] | None:
    x, y = int(ram[49]) - 49, int(ram[54]) - 14
    return (x, y) if ram[54] and 0 <= x <= 158 and 30 < y < 194 else None


def _moved(now: Any, before: Any) -> tuple[int, ...] | None:
    if now is None:
        return None
    speeds = [a - b for a, b in zip(now, before or now, strict=True)]
    if len(now) == 2 and max(map(abs, speeds)) > 40:
        speeds = [0, 0]
    return (*now, *speeds, 1)


def make_pong(**options: Any) -> gym.Env:
    import ale_py

    gym.register_envs(ale_py)
    return PongObjects(gym.make("ALE/Pong-v5", obs_type="ram", repeat_action_probability=0.0, **options))
