"""Who acts in a session besides the person: a policy, or chance."""

from typing import Protocol

import numpy as np

from gymsolve.envs.random_policy import random_actions
from gymsolve.envs.single_env import Scene
from gymsolve.rollout.agent import Agent
from gymsolve.spec import ActionSpec, Array
from gymsolve.training.engines.contract import Policy

__all__ = ["Chance", "Player", "PolicyPlayer"]


class Player(Protocol):
    """Somebody who chooses actions."""

    def begin(self) -> None:
        """An episode begins."""

    def choose(self, scene: Scene) -> Array:
        """An action [1, *shape], as the environment takes it; and remember having seen the scene."""

    def hear(self, reward: float) -> None:
        """What the last step paid."""

    def value(self, scene: Scene) -> float | None:
        """The return that is expected from here; None from those who expect nothing."""


class PolicyPlayer:
    """A policy with its memory of the episode."""

    def __init__(self, policy: Policy, rng: np.random.Generator | None) -> None:
        self.policy = policy
        self.rng = rng
        """What samples actions; None for the likeliest."""
        self._agent = Agent(policy, 1)

    def begin(self) -> None:
        self._agent.forget(np.ones(1, bool))

    def choose(self, scene: Scene) -> Array:
        return self.policy.spec.action.to_env(self._agent.choose(scene.obs, scene.masks, self.rng))

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

    def hear(self, reward: float) -> None: ...

    def value(self, scene: Scene) -> float | None:
        return None
