"""The observations of a rollout, each once, with the places of each step's beginning and end among them.

Bonuses compute a number per observation and use it for a step's beginning and for its end. A rollout stores
the beginnings of steps, and separately the observations after the last step and at the ends of episodes.
"""

import numpy as np

from gymsolve.experience.rollout import Rollout
from gymsolve.spec import Array, Obs


class Transitions:
    """Observations [M, …], and places [T, N] among them."""

    def __init__(self, rollout: Rollout) -> None:
        self.rollout = rollout
        steps, envs = rollout.vec_steps, rollout.num_envs
        size = steps * envs
        self.here = np.arange(size).reshape(steps, envs)
        """The place of each step's beginning."""
        last = size + np.arange(envs)  # [N] after the last step
        self.there = np.concatenate([self.here[1:], last[None]])
        """The place of each step's end: at the end of an episode its true last observation."""
        ended = np.argwhere(rollout.done & rollout.valid).tolist()
        ends = [(step, env) for step, env in ended if step in rollout.final_obs]
        for place, (step, env) in enumerate(ends):
            self.there[step, env] = size + envs + place
        self.onward = self._onward(last)
        """The place of the next valid step's beginning, also in the next episode."""
        self.rows = self._rows(size, ends)

    def _onward(self, following: Array) -> Array:
        onward = np.empty_like(self.here)
        for step in range(len(onward) - 1, -1, -1):
            onward[step] = following
            following = np.where(self.rollout.valid[step], self.here[step], following)
        return onward

    def _rows(self, size: int, ends: list[tuple[int, int]]) -> Obs:
        rollout = self.rollout
        observations = rollout.seen(np.arange(size))
        for key, rows in observations.items():
            final = [rollout.final_obs[step][key][env] for step, env in ends]
            more = np.stack(final) if final else rows[:0]
            observations[key] = np.concatenate([rows, rollout.last_obs[key], more])
        return observations

    @property
    def valid(self) -> Array:
        """Steps [T, N] that happened: no resets."""
        return self.rollout.valid

    def take(self, places: Array) -> Obs:
        """Observations at these places."""
        return {key: rows[places] for key, rows in self.rows.items()}
