"""Agents: the only code that acts, for collecting, evaluating, filming and users.

A policy is a function; an agent is a policy with a memory for each of its environments. Without a recurrent
cell the memory is None.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from gymsolve.spec import Array, EnvSpec, Obs


class Acted(NamedTuple):
    """The actions of a policy for a batch of observations, with what learning needs."""

    actions: Array  # [N, A] sampled
    log_probs: Array  # [N]
    values: Array  # [N]
    memory: Array | None = None  # [N, M] after these observations


class Chosen(NamedTuple):
    """The likeliest actions, without what learning needs."""

    actions: Array  # [N, A]
    memory: Array | None = None  # [N, M] after these observations


class Rows(Protocol):
    """An entry of observations [T, …] that may still be packed."""

    def __getitem__(self, some: slice, /) -> Array:
        """Unpacked rows."""


class Prefix(NamedTuple):
    """The steps of an earlier trajectory, in order."""

    obs: Mapping[str, Rows]  # [T, …] at the beginning of each step
    actions: Array  # [T, A]
    rewards: Array  # [T] as the agent saw them


class Considered(NamedTuple):
    """Distributions and values of a policy for steps that were taken, to inspect episodes."""

    params: Array  # [B, choices of all parts] probabilities; of a box [B, A] means, in the policy's units
    log_probs: Array  # [B] of the actions that were taken
    entropy: Array  # [B]
    values: Array  # [B] in units of reward


class Actor(Protocol):
    """The interface of a policy to an agent: arrays in, arrays out."""

    spec: EnvSpec

    def act(
        self, obs: Obs, masks: Array | None, rng: np.random.Generator, memory: Array | None = None
    ) -> Acted:
        """Sampled actions, their log-probabilities and the state values."""

    def choose(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Chosen:
        """The likeliest actions."""

    def values(self, obs: Obs, memory: Array | None = None) -> Array:
        """State values [N]."""

    def first_memory(self, num_envs: int) -> Array | None:
        """Memory [N, M] at the start of an episode; None without a recurrent cell."""

    def override_action(self, memory: Array, actions: Array) -> Array:
        """Memory [N, M] after other actions [N, A] than the policy's were taken in the last step."""

    def hear(self, memory: Array, rewards: Array) -> Array:
        """Memory [N, M] with the rewards [N] of the last step."""

    def remember(self, prefixes: Sequence[Prefix], memory: Array | None = None) -> Array:
        """Memory [S, M] after replaying these steps, by default from the start of an episode."""


class Memoryless:
    """The memory of a policy without a recurrent cell: none."""

    def first_memory(self, num_envs: int) -> Array | None:
        return None

    def override_action(self, memory: Array, actions: Array) -> Array:
        return memory

    def hear(self, memory: Array, rewards: Array) -> Array:
        return memory

    def remember(self, prefixes: Sequence[Prefix], memory: Array | None = None) -> Array:
        raise AssertionError("a policy without a recurrent cell remembers nothing")


class Agent:
    """A policy with a memory of the current episode of each environment."""

    def __init__(self, policy: Actor, num_envs: int) -> None:
        self.policy = policy
        self.memory = policy.first_memory(num_envs)  # [N, M]

    def act(self, obs: Obs, masks: Array | None, rng: np.random.Generator) -> Acted:
        """Sample actions, and update the memory."""
        acted = self.policy.act(obs, masks, rng, self.memory)
        self.memory = acted.memory
        return acted

    def choose(self, obs: Obs, masks: Array | None, rng: np.random.Generator | None) -> Array:
        """Actions [N, A], sampled with `rng` or the likeliest without; updates the memory."""
        if rng is not None:
            return self.act(obs, masks, rng).actions
        chosen = self.policy.choose(obs, masks, self.memory)
        self.memory = chosen.memory
        return chosen.actions

    def values(self, obs: Obs, rows: Array | None = None) -> Array:
        """State values of all environments, or of those in `rows`; the memory stays as it is."""
        memory = self.memory if self.memory is None or rows is None else self.memory[rows]
        return self.policy.values(obs, memory)

    def override_action(self, actions: Array) -> None:
        """Remember that other actions [N, A] were taken than those just chosen."""
        if self.memory is not None:
            self.memory = self.policy.override_action(self.memory, actions)

    def hear(self, rewards: Array) -> None:
        """Remember the rewards [N] of the last step, if they are inputs of the policy."""
        if self.memory is not None:
            self.memory = self.policy.hear(self.memory, rewards)

    def forget(self, ended: Array) -> None:
        """Clear the memory of environments whose episode ended, `ended` [N] bool."""
        if self.memory is None:
            return
        first = self.policy.first_memory(len(ended))
        assert first is not None
        self.memory = np.where(ended[:, None], first, self.memory)

    def recall(self, prefixes: Mapping[int, Prefix]) -> None:
        """Replay the steps that led to the places where environments were put, with the present policy."""
        if self.memory is not None and prefixes:
            memory = self.memory.copy()
            memory[list(prefixes)] = self.policy.remember(list(prefixes.values()))
            self.memory = memory
