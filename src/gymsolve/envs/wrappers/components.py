"""Rewards made of named parts: the environment's own, and numbers from `info`, each with a weight.

A wrapper of one's own names a part by putting a number into `info` below this one.
"""

import math
import re
from typing import Any

import gymnasium as gym
import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped
from gymsolve.errors import ConfigError, EnvFaultError, did_you_mean

BASE = "base"
"""The part that is the reward from below."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Component(BaseModel):
    """One part: the key of `info` it is read from (by default its name), and its weight."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    key: str | None = None
    weight: float = 1.0

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"weight": value}
        if not isinstance(value, dict):
            raise ValueError("a component is a weight, or `{key: …, weight: …}`")
        unknown = sorted(set(value) - set(cls.model_fields))
        if unknown:
            raise ValueError(f"a component has no {unknown[0]!r}, only `key` and `weight`")
        return value


class RewardComponents(gym.Wrapper[Any, Any, Any, Any]):
    """Adds weighted numbers from `info` to the reward, which itself counts `base` times.

    A component is `name: weight`, or `name: {key: …, weight: …}` where the key of `info` has another name;
    what each pays is recorded as `reward/<name>`.
    """

    changes_reward = True

    def __init__(self, env: AnyEnv, components: dict[str, Component], base: float = 1.0) -> None:
        super().__init__(env)
        if not components:
            raise ValueError("components should name at least one key of info.")
        if not math.isfinite(base):
            raise ValueError("base should be a finite number.")
        for name in components:
            if name == BASE or not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a component; take letters, digits, `_`, `.` and `-`.")
        self._base = base
        self._parts = [(name, part.key or name, part.weight) for name, part in components.items()]
        self.names = (*((BASE,) if base else ()), *components)
        """Names of the parts, in the order in which `take` gives them; a base without weight is no part."""
        self._paid = [0.0] * len(self.names)
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._paid = [0.0] * len(self.names)
        self._steps = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        parts = [self._base * float(reward)] if self._base else []
        parts += [weight * self._number(name, key, info) for name, key, weight in self._parts]
        # Summed until taken: a frame skip above makes several steps of one.
        self._paid = [before + part for before, part in zip(self._paid, parts, strict=True)]
        return obs, sum(parts), terminated, truncated, info

    def take(self) -> list[float]:
        """The reward of each part since the last call."""
        paid, self._paid = self._paid, [0.0] * len(self.names)
        return paid

    def _number(self, name: str, key: str, info: dict[str, Any]) -> float:
        value = info.get(key)
        if type(value) is not float and not is_number(value):
            raise self._misfit(name, key, info)
        number = float(value)  # type: ignore[arg-type]
        if math.isfinite(number):
            return number
        raise EnvFaultError(
            f'info["{key}"] was {number} in step {self._steps} of an episode.',
            where=_where(name),
            hint="A part of the reward has to be finite; wrap or fix the environment.",
        )

    def _misfit(self, name: str, key: str, info: dict[str, Any]) -> ConfigError:
        offered = [other for other, value in info.items() if is_number(value)]
        listed = f"Its numbers are: {', '.join(offered)}." if offered else "It has no numbers at all."
        what = f"is {info[key]!r}, not a number" if key in info else "is not there"
        return ConfigError(
            f'info["{key}"] {what} in step {self._steps} of an episode.',
            where=_where(name),
            hint=did_you_mean(key, [other for other in offered if other != key]) or listed,
        )


def is_number(value: Any) -> bool:
    """A plain number, a flag, or an array without axes that holds one."""
    if isinstance(value, np.ndarray):
        return value.shape == () and value.dtype.kind in "biuf"
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating)


def _where(name: str) -> str:
    return f"env.wrappers.reward_components.components.{name}"
