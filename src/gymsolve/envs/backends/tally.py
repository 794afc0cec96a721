"""Running return and length of the episode each environment is in, and checks on what it returns."""

import math
from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.errors import EnvFaultError
from gymsolve.spec import Array, Obs

__all__ = ["Tally", "refuse_bad_obs", "refuse_nonfinite"]


class Tally:
    """Sums that belong to unfinished episodes."""

    def __init__(self, num_envs: int) -> None:
        self.returns = np.zeros(num_envs)  # [N] float64: float32 would drift over long episodes
        self.lengths = np.zeros(num_envs, dtype=np.int64)  # [N]

    def clear(self) -> None:
        self.returns[:] = 0.0
        self.lengths[:] = 0

    def finish(
        self, env: int, truncated: bool, raw: float | None = None, success: bool | None = None
    ) -> Episode:
        """The episode of one environment, whose sums start again."""
        shaped, length = float(self.returns[env]), int(self.lengths[env])
        self.returns[env] = 0.0
        self.lengths[env] = 0
        return Episode(env, shaped if raw is None else raw, shaped, length, truncated, success)

    def to_json(self) -> dict[str, Any]:
        return {"returns": self.returns.tolist(), "lengths": self.lengths.tolist()}

    def load(self, data: dict[str, Any], env: int) -> None:
        self.returns[env] = data["returns"][env]
        self.lengths[env] = data["lengths"][env]


def refuse_nonfinite(name: str, values: Array, env_id: str, steps: int) -> None:
    """NaN or infinity in an array [N, …]: say which environment, which element, and when."""
    # The sum of squares is finite whenever all elements are and none is huge; it costs one call.
    if math.isfinite(np.vdot(values, values)) or np.isfinite(values).all():
        return
    place = np.argwhere(~np.isfinite(values))[0]
    env = int(place[0])
    element = f" (element {', '.join(str(i) for i in place[1:])})" if len(place) > 1 else ""
    raise EnvFaultError(
        f"environment {env} of {env_id} returned {values[tuple(place)]} in {name}{element} "
        f"at vector step {steps}.",
        hint="An environment should never return NaN or infinity; wrap or fix it.",
    )


def refuse_bad_obs(obs: Obs, keys: tuple[str, ...], env_id: str, steps: int) -> None:
    """Float entries of a batch have to be finite."""
    for key in keys:
        refuse_nonfinite(f"the observation entry {key!r}", obs[key], env_id, steps)
