"""Step the environments with the policy and write down what happened.

The one place where policy and environment meet during training. It knows nothing of learning: an
actor goes in, a rollout comes out.
"""

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from gymsolve.envs.contract import Envs
from gymsolve.rollout.rollout import Rollout, allocate
from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["Actor", "Collector"]


class Actor(Protocol):
    """A policy as the collector sees it: arrays in, arrays out."""

    spec: EnvSpec

    def act(self, obs: Obs, masks: Array | None, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Sampled actions [N, A], their log-probabilities [N] and state values [N]."""

    def values(self, obs: Obs) -> Array:
        """State values [N]."""


class Collector:
    """Keeps the environments' current observations between rollouts."""

    def __init__(self, envs: Envs, num_steps: int, seeds: list[int], frame_stack: int = 1) -> None:
        self.envs = envs
        self.rollout = allocate(envs.spec, num_steps, envs.num_envs, frame_stack)
        self.obs, self.masks = envs.reset(seeds)
        self.filled = False
        self.begun = 0
        """Steps of the rollout under way that were begun; 0 between rollouts."""

    def collect(
        self,
        actor: Actor,
        rng: np.random.Generator,
        on_step: Callable[[int, int], None] | None = None,
    ) -> Rollout:
        """Fill the rollout with the next `num_steps` steps of every environment.

        `on_step` is told after each of them how many are done, and of how many.
        """
        out, to_env = self.rollout, actor.spec.action.to_env
        out.episodes, out.faults = [], []
        out.bootstrapped, out.env_seconds = 0, 0.0
        self.filled = False  # a fault half-way leaves a mixture of two rollouts
        for t in range(out.vec_steps):
            actions, log_probs, values = actor.act(self.obs, self.masks, rng)
            for key, array in self.obs.items():
                out.obs[key][t] = array
            if out.masks is not None:
                out.masks[t] = self.masks
            out.actions[t], out.log_probs[t], out.values[t] = actions, log_probs, values

            taken = to_env(actions)
            self.begun = t + 1
            began = time.perf_counter()
            step = self.envs.step(taken)
            out.env_seconds += time.perf_counter() - began
            out.rewards[t], out.valid[t] = step.rewards, step.valid
            out.terminated[t], out.truncated[t] = step.terminated, step.truncated
            if out.components is not None:
                out.components[t] = step.components
            if step.final_obs is not None and step.truncated.any():
                cut = np.flatnonzero(step.truncated)
                last = {key: array[cut] for key, array in step.final_obs.items()}
                out.next_values[t, cut] = actor.values(last)
                out.bootstrapped += len(cut)
            out.episodes += step.episodes
            out.faults += step.faults
            self.obs, self.masks = step.obs, step.masks
            if on_step is not None:
                on_step(t + 1, out.vec_steps)

        # Where an episode was not cut, the successor is simply the next row.
        following = np.concatenate([out.values[1:], actor.values(self.obs)[None]])  # [T, N]
        np.copyto(out.next_values, following, where=~out.truncated)
        self.filled, self.begun = True, 0
        return out
