"""Numbers about what happens in an environment that neither the policy nor the reward sees.

Bonuses for exploring read them (`explore/`); the trainer adds this wrapper where one needs it.
"""

import hashlib
import math
from typing import Any

import gymnasium as gym

from gymsolve.envs.families import find_family
from gymsolve.envs.wrappers.components import is_number
from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped
from gymsolve.errors import ConfigError, did_you_mean

STATE = "state"
"""Name of the number that stands for the full state."""


class Watch(gym.Wrapper[Any, Any, Any, Any]):
    """Tells bonuses by how much numbers in `info` rose (`-name`: fell) and, with `state`, the full state.

    Bonuses for exploring add it themselves; it changes neither observation nor reward.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, events: list[str] | None = None, state: bool = False) -> None:
        super().__init__(env)
        self._events = [
            (name.removeprefix("-"), -1.0 if name.startswith("-") else 1.0) for name in events or ()
        ]
        self._state = _find_state(env) if state else None
        self.names = (*(events or ()), *((STATE,) if state else ()))
        """Names of the numbers that `take` returns, in this order."""
        self._last: list[float | None] = [None] * len(self._events)
        self._told = [0.0] * len(self._events)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        values = [info.get(key) for key, _ in self._events]
        self._last = [float(value) if is_number(value) else None for value in values]  # type: ignore[arg-type]
        self._told = [0.0] * len(self._events)
        return obs, info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        for place, (key, sign) in enumerate(self._events):
            now, before = self._number(key, info), self._last[place]
            if before is not None:
                self._told[place] += max(0.0, sign * (now - before))
            self._last[place] = now
        return obs, reward, terminated, truncated, info

    def take(self) -> list[float]:
        """Events since the last call, and the state now."""
        numbers, self._told = self._told, [0.0] * len(self._events)
        return numbers if self._state is None else [*numbers, _number_of(self._state(self.env))]

    def _number(self, key: str, info: dict[str, Any]) -> float:
        value = info.get(key)
        if is_number(value) and math.isfinite(float(value)):  # type: ignore[arg-type]
            return float(value)  # type: ignore[arg-type]
        offered = [other for other, number in info.items() if is_number(number) and other != key]
        nothing = "It has no numbers at all; use another bonus, such as explore=rnd."
        listed = f"Its numbers are: {', '.join(offered)}." if offered else nothing
        what = f"is {value!r}, not a finite number" if key in info else "is not there"
        raise ConfigError(
            f'info["{key}"] {what}, so its changes cannot be events.',
            where="explore.events",
            hint=did_you_mean(key, offered) or listed,
        )


def _find_state(env: AnyEnv) -> Any:
    name = "" if env.spec is None else env.spec.id
    state = find_family(name).state
    if state is None:
        raise ConfigError(
            f"gymsolve does not know how to read the full state of {name}.",
            where="explore.cells",
            hint="Use explore.cells=exact, bins or hash, which go by the observation.",
        )
    return state


def _number_of(state: bytes) -> float:
    """52 bits of a digest: a float holds them exactly."""
    return float(int.from_bytes(hashlib.blake2b(state, digest_size=8).digest(), "big") >> 12)
