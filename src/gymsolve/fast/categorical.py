"""Independent categorical choices: Discrete, MultiDiscrete and MultiBinary actions, with masks."""

from typing import NamedTuple

import numpy as np

from gymsolve.spec import ActionSpec, Array

ILLEGAL = -1e9
"""Logit of an illegal choice: its probability underflows to exactly 0, and no NaN can arise."""


class _Choices(NamedTuple):
    """Probabilities of every choice."""

    log_p: Array  # [parts, choices, B]
    p: Array  # [parts, choices, B]


class CategoricalHead:
    """Independent categorical parts, padded with illegal choices to the widest."""

    def __init__(self, action: ActionSpec) -> None:
        self._parts, self._widest = len(action.nvec), max(action.nvec)
        layout = np.zeros((self._parts, self._widest), np.intp)
        padding = np.ones((self._parts, self._widest), bool)
        start = 0
        for part, choices in enumerate(action.nvec):
            layout[part, :choices] = np.arange(start, start + choices)
            padding[part, :choices] = False
            start += choices
        self._layout, self._padding = layout, padding
        self._real = np.flatnonzero(~padding)  # where each choice of the layer sits in the padded layout

    def illegal(self, masks: Array | None) -> Array | None:
        if masks is None:
            return None
        padded = masks[:, self._layout.reshape(-1)]
        return np.ascontiguousarray(~padded | self._padding.reshape(-1))  # [B, parts × choices]

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.gumbel(size=(count, self._parts, self._widest)).astype(np.float32)

    def forward(self, outputs: Array, illegal: Array | None) -> _Choices:
        log_p = outputs.take(self._layout, axis=0)
        log_p[self._padding] = ILLEGAL
        if illegal is not None:
            np.copyto(log_p, ILLEGAL, where=illegal.T.reshape(log_p.shape))
        log_p -= np.maximum.reduce(log_p, axis=1, keepdims=True)
        p = np.exp(log_p)
        total = np.add.reduce(p, axis=1, keepdims=True)  # [parts, 1, B]
        p /= total
        log_p -= np.log(total)
        return _Choices(log_p, p)

    def sample(self, given: _Choices, noise: Array) -> Array:
        # Gumbel-max: exact, and an illegal choice cannot win by rounding.
        actions: Array = (given.log_p.transpose(2, 0, 1) + noise).argmax(axis=2)
        return actions

    def mode(self, given: _Choices) -> Array:
        actions: Array = given.log_p.transpose(2, 0, 1).argmax(axis=2)
        return actions

    def log_prob(self, given: _Choices, actions: Array) -> Array:
        picked = np.take_along_axis(given.log_p, actions.T[:, None], axis=1)  # [parts, 1, B]
        total: Array = np.add.reduce(picked, axis=(0, 1))
        return total

    def entropy(self, given: _Choices) -> Array:
        parts = -np.add.reduce(given.p * given.log_p, axis=1)  # [parts, B]
        total: Array = np.add.reduce(parts, axis=0)
        return total

    def params(self, given: _Choices) -> Array:
        return given.p.reshape(-1, given.p.shape[2])[self._real].T.copy()
