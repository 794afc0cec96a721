"""Compares what critics said of actions with the discounted rewards that followed until the episode's end.

Every step keeps its value from the time at which it was collected. When its episode ends, what it earned is
known, except for what lies beyond a time limit: there the value of the last observation stands for the rest,
so only steps far enough before the limit count.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.experience.rollout import Rollout
from gymsolve.parts import Part
from gymsolve.spec import Array

_EPISODES = 10
_BEYOND = 0.4
"""Steps count if what lies beyond a time limit has at most this share of its value for them."""


class ObtainedReturns(Part):
    """Errors of values, in the newest episodes of all environments."""

    def __init__(self) -> None:
        self._running: list[Array] = []  # of each environment: steps of its episode [3, steps]
        self._ended: deque[tuple[float, float, float]] = deque(maxlen=_EPISODES)

    def add(self, rollout: Rollout, extra: Array, gamma: float) -> None:
        """Take a rollout; `extra` [T, N] is earned besides the rewards by the step, after its own value."""
        if len(self._running) != rollout.num_envs:
            self._running = [_NOTHING] * rollout.num_envs
        for env in rollout.anew:
            self._running[env] = _NOTHING
        for env in range(rollout.num_envs):
            self._follow(env, rollout, extra[:, env], gamma)

    def _follow(self, env: int, rollout: Rollout, extra: Array, gamma: float) -> None:
        valid = rollout.valid[:, env]
        rows = np.stack([rollout.values[:, env], rollout.rewards[:, env], extra]).astype(np.float64)
        start = 0
        for t in np.flatnonzero(rollout.done[:, env] & valid).tolist():
            steps = np.concatenate(
                [self._running[env], rows[:, start : t + 1][:, valid[start : t + 1]]], axis=1
            )
            rest = 0.0 if rollout.terminated[t, env] else float(rollout.next_values[t, env])
            self._end(steps, rest, gamma, cut=not rollout.terminated[t, env])
            self._running[env], start = _NOTHING, t + 1
        left = rows[:, start:][:, valid[start:]]
        self._running[env] = np.concatenate([self._running[env], left], axis=1)

    def _end(self, steps: Array, rest: float, gamma: float, *, cut: bool) -> None:
        """An episode has ended, and `rest` is the value of what comes after a time limit."""
        values, rewards, extra = steps
        obtained = np.empty(len(values))
        future = rest
        for k in range(len(values) - 1, -1, -1):
            obtained[k] = rewards[k] + gamma * future
            future = obtained[k] + extra[k]  # the value of an action leaves out what its own entropy earns
        if cut:
            counts = gamma ** np.arange(len(values), 0, -1) <= _BEYOND
            values, obtained = values[counts], obtained[counts]
        if len(values):
            self._ended.append(
                (float(np.mean(values - obtained)), float(np.mean(obtained**2)), float(len(values)))
            )

    def metrics(self) -> dict[str, float]:
        """The mean error of values, and its share of the size of what was obtained; none before any."""
        if not self._ended:
            return {}
        errors, squares, counts = np.array(self._ended).T
        bias, size = float(np.average(errors, weights=counts)), float(np.average(squares, weights=counts))
        share = bias / size**0.5 if size else 0.0
        return {"train/q_bias": bias, "train/overestimation": share}

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        lengths = np.array([steps.shape[1] for steps in self._running], np.int64)
        running = np.concatenate([_NOTHING, *self._running], axis=1)
        return {"lengths": lengths, "running": running, "ended": np.array(self._ended).reshape(-1, 3)}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self._running, self._ended = [], deque(maxlen=_EPISODES)
        if arrays:
            ends = np.cumsum(arrays["lengths"])
            self._running = np.split(arrays["running"], ends[:-1], axis=1) if len(ends) else []
            self._ended.extend((float(a), float(b), float(c)) for a, b, c in arrays["ended"])
        return []

    def rollback_point(self) -> Callable[[], None]:
        running, ended = list(self._running), tuple(self._ended)  # their arrays are never changed

        def put_back() -> None:
            self._running, self._ended = list(running), deque(ended, maxlen=_EPISODES)

        return put_back


_NOTHING = np.empty((3, 0))
