"""Running return and length of the episode each environment is in, and checks on what it returns."""

from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.errors import BadNumber, EnvFaultError
from gymsolve.spec import Array, Obs

ADVICE = "An environment should never return NaN or infinity; wrap or fix it."
_LARGEST = float(np.finfo(np.float32).max)
_UNSUSPICIOUS = 1e77
"""A sum of squares below this has no term that float32 cannot hold."""


class EpisodeStats:
    """Sums that belong to unfinished episodes."""

    def __init__(self, num_envs: int) -> None:
        self.returns = np.zeros(num_envs)  # [N] float64: float32 would drift over long episodes
        self.lengths = np.zeros(num_envs, dtype=np.int64)  # [N]
        self.jumped = np.zeros(num_envs, dtype=bool)  # [N]

    def clear(self) -> None:
        self.returns[:] = 0.0
        self.lengths[:] = 0
        self.jumped[:] = False

    def finish(
        self, env: int, truncated: bool, raw: float | None = None, success: bool | None = None
    ) -> Episode:
        """The episode of one environment, whose sums start again."""
        shaped, length, jumped = float(self.returns[env]), int(self.lengths[env]), bool(self.jumped[env])
        self.begin(env)
        return Episode(env, shaped if raw is None else raw, shaped, length, truncated, success, jumped)

    def begin(self, env: int, total: float = 0.0, length: int = 0, *, jumped: bool = False) -> None:
        """Another episode in one environment: a new one, or one that is under way already."""
        self.returns[env], self.lengths[env], self.jumped[env] = total, length, jumped

    def to_json(self) -> dict[str, Any]:
        return {
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            "jumped": self.jumped.tolist(),
        }

    def load(self, data: dict[str, Any], env: int) -> None:
        jumped = "jumped" in data and data["jumped"][env]  # older states know of no jumps
        self.begin(env, data["returns"][env], data["lengths"][env], jumped=jumped)


def fault(bad: BadNumber, env_id: str) -> EnvFaultError:
    """The error about a number that an environment returned."""
    return EnvFaultError(
        f"environment {bad.env} of {env_id} returned {bad.number} in {bad.place}{bad.moment}.",
        hint=ADVICE,
        bad=bad,
    )


def refuse_bad_rewards(rewards: Array, env_id: str, steps: int) -> None:
    """Rewards [N] have to be numbers that float32 can hold."""
    place = _find_bad(rewards)
    if place is not None:
        number = str(rewards[place])
        raise fault(BadNumber("reward", number, env=place[0], vec_steps=steps), env_id)


def refuse_bad_obs(obs: Obs, keys: tuple[str, ...], env_id: str, steps: int) -> None:
    """Float entries [N, …] of a batch have to be finite."""
    for key in keys:
        place = _find_bad(obs[key])
        if place is not None:
            number, (env, *element) = str(obs[key][place]), place
            bad = BadNumber("observation", number, env, key, tuple(element), vec_steps=steps)
            raise fault(bad, env_id)


def _find_bad(values: Array) -> tuple[int, ...] | None:
    """Index of the first element that is not finite, or too large for float32."""
    # One call tells, unless a number is huge.
    if float(np.vdot(values, values)) < _UNSUSPICIOUS:
        return None
    good = np.abs(values) <= _LARGEST
    return None if good.all() else tuple(np.argwhere(~good)[0].tolist())
