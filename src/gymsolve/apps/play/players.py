"""Players besides the person: a policy, or chance."""

from typing import Protocol

import numpy as np

from gymsolve.envs.random_policy import random_actions
from gymsolve.envs.render_env import Scene
from gymsolve.experience.agent import Agent
from gymsolve.experience.learner import Policy
from gymsolve.settings.config import NetConfig
from gymsolve.spec import ActionSpec, Array


class Player(Protocol):
    """A player that chooses actions."""

    def begin(self) -> None:
        """An episode begins."""

    def choose(self, scene: Scene) -> Array:
        """Choose an action [1, *shape], as the environment takes it; the player remembers the scene."""

    def see(self, action: Array) -> None:
        """Tell the player that another action [1, *shape] was taken than it chose."""

    def hear(self, reward: float) -> None:
        """Tell the player the reward of the last step."""

    def value(self, scene: Scene) -> float | None:
        """The expected return from here; None without a value function."""


class PolicyPlayer:
    """A policy with its memory of the episode."""

    def __init__(self, policy: Policy, rng: np.random.Generator | None) -> None:
        self.policy = policy
        self.rng = rng
        """Samples actions; None takes the likeliest."""
        self._agent = Agent(policy, 1)
        memory = NetConfig.model_validate_json(policy.metadata()["net"]).memory
        self._inputs = () if memory is None else memory.inputs

    def begin(self) -> None:
        self._agent.forget(np.ones(1, bool))

    def choose(self, scene: Scene) -> Array:
        return self.policy.spec.action.to_env(self._agent.choose(scene.obs, scene.masks, self.rng))

    def see(self, action: Array) -> None:
        if self._agent.memory is None or "action" not in self._inputs:
            return
        spec = self.policy.spec.action
        columns = _encode(action, spec)
        first = self._agent.memory.shape[1] - self.policy.memory_inputs
        self._agent.memory[0, first : first + columns.size] = columns

    def hear(self, reward: float) -> None:
        self._agent.hear(np.array([reward]))

    def value(self, scene: Scene) -> float | None:
        return float(self._agent.values(scene.obs)[0])


class Chance:
    """Legal actions, each as likely as any other."""

    def __init__(self, action: ActionSpec, rng: np.random.Generator) -> None:
        self._action, self._rng = action, rng

    def begin(self) -> None: ...

    def choose(self, scene: Scene) -> Array:
        return self._action.to_env(random_actions(self._action, 1, scene.masks, self._rng))

    def see(self, action: Array) -> None: ...

    def hear(self, reward: float) -> None: ...

    def value(self, scene: Scene) -> float | None:
        return None


def _encode(action: Array, spec: ActionSpec) -> Array:
    """An action as a policy's memory holds it: one-hot choices, or box actions between -1 and 1."""
    values = np.ravel(action)
    if spec.nvec:
        chosen = values.astype(np.int64) - np.asarray(spec.start)
        return np.concatenate(
            [np.eye(choices)[choice] for choices, choice in zip(spec.nvec, chosen, strict=True)]
        )
    if not spec.bounded:
        return values
    low, high = np.asarray(spec.low), np.asarray(spec.high)
    unit: Array = 2.0 * (values - low) / (high - low) - 1.0
    return unit
