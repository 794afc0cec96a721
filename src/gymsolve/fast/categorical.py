"""Independent categorical choices: Discrete, MultiDiscrete and MultiBinary actions, with masks."""

from dataclasses import dataclass

import numpy as np

from gymsolve.fast.heads import Linear
from gymsolve.fast.parameters import Parameters
from gymsolve.spec import ActionSpec, Array

ILLEGAL = -1e9
"""Logit of an illegal choice: its probability underflows to exactly 0, and no NaN can arise."""


@dataclass
class _CategoricalWork:
    raw: Array  # [choices of all parts, B]
    log_p: Array  # [parts, choices, B]
    p: Array
    p_log_p: Array
    part_entropy: Array  # [parts, 1, B]
    d: Array  # [parts, choices, B]
    base: Array  # [parts, B] flat position of the first choice of each part and row
    chosen: Array  # [parts, B] flat position of the action
    illegal: Array | None = None


class CategoricalHead:
    """Independent categorical parts, padded with illegal choices to the widest."""

    def __init__(self, parameters: Parameters, action: ActionSpec) -> None:
        self._linear = Linear(parameters)
        self._parts, self._widest = len(action.nvec), max(action.nvec)
        layout = np.zeros((self._parts, self._widest), np.intp)
        padding = np.ones((self._parts, self._widest), bool)
        start = 0
        for part, choices in enumerate(action.nvec):
            layout[part, :choices] = np.arange(start, start + choices)
            padding[part, :choices] = False
            start += choices
        self._layout, self._padding = layout, padding
        self._ragged = bool(padding.any())
        self._real = np.flatnonzero(~padding)  # where each choice of the layer sits in the padded layout

    def allocate(self, batch: int) -> _CategoricalWork:
        shape = (self._parts, self._widest, batch)
        raw = np.empty((self._linear.outputs, batch), np.float32)
        log_p = np.empty(shape, np.float32) if self._ragged else raw.reshape(shape)
        p, p_log_p, d = (np.empty(shape, np.float32) for _ in range(3))
        first = np.arange(self._parts)[:, None] * (self._widest * batch) + np.arange(batch)
        entropy = np.empty((self._parts, 1, batch), np.float32)
        return _CategoricalWork(raw, log_p, p, p_log_p, entropy, d, first, np.empty_like(first))

    def illegal(self, masks: Array | None) -> Array | None:
        if masks is None:
            return None
        padded = masks[:, self._layout.reshape(-1)]
        return np.ascontiguousarray(~padded | self._padding.reshape(-1))  # [B, parts × choices]

    def forward(self, features: Array, illegal: Array | None, work: _CategoricalWork) -> None:
        self._linear.forward(features, work.raw)
        log_p, p = work.log_p, work.p
        if self._ragged:
            np.take(work.raw, self._layout, axis=0, out=log_p, mode="clip")
            if illegal is None:
                log_p[self._padding] = ILLEGAL
        work.illegal = None
        if illegal is not None:
            work.illegal = illegal.T.reshape(log_p.shape)
            np.copyto(log_p, ILLEGAL, where=work.illegal)
        log_p -= np.maximum.reduce(log_p, axis=1, keepdims=True)
        np.exp(log_p, out=p)
        total = np.add.reduce(p, axis=1, keepdims=True)  # [parts, 1, B]
        p /= total
        log_p -= np.log(total)

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.gumbel(size=(count, self._parts, self._widest)).astype(np.float32)

    def sample(self, work: _CategoricalWork, noise: Array) -> Array:
        # Gumbel-max: exact, and an illegal choice cannot win by rounding.
        actions: Array = (work.log_p.transpose(2, 0, 1) + noise).argmax(axis=2)
        return actions

    def mode(self, work: _CategoricalWork) -> Array:
        actions: Array = work.log_p.transpose(2, 0, 1).argmax(axis=2)
        return actions

    def log_prob(self, work: _CategoricalWork, actions: Array) -> Array:
        np.multiply(actions.T, len(actions), out=work.chosen)
        work.chosen += work.base
        picked = work.log_p.reshape(-1).take(work.chosen)  # [parts, B]
        found: Array = picked[0] if self._parts == 1 else np.add.reduce(picked, axis=0)
        return found

    def entropy(self, work: _CategoricalWork) -> Array:
        np.multiply(work.p, work.log_p, out=work.p_log_p)
        np.add.reduce(work.p_log_p, axis=1, keepdims=True, out=work.part_entropy)
        np.negative(work.part_entropy, out=work.part_entropy)
        total: Array = np.add.reduce(work.part_entropy, axis=(0, 1))
        return total

    def params(self, work: _CategoricalWork) -> Array:
        return work.p.reshape(-1, work.p.shape[2])[self._real].T.copy()

    def backward(
        self, features: Array, work: _CategoricalWork, d_log_prob: Array, d_entropy: float, d: Array
    ) -> None:
        """∂ log p(a) = [a] − p and ∂H = −p (log p + H), per part, with respect to the logits."""
        slope = work.d
        np.multiply(work.p, -d_log_prob, out=slope)
        flat = slope.reshape(-1)
        flat[work.chosen] += d_log_prob
        if d_entropy:
            spread = work.p * work.part_entropy
            spread += work.p_log_p
            spread *= -d_entropy
            slope += spread
        if work.illegal is not None:  # matters only where nothing at all is legal
            np.copyto(slope, 0.0, where=work.illegal)
        logits = slope.reshape(-1, slope.shape[2])
        self._linear.backward(features, logits.take(self._real, axis=0) if self._ragged else logits, d)
