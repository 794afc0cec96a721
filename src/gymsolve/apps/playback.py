"""Plays whole episodes, one moment at a time; the caller decides which moments to draw."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from gymsolve.envs.render_env import RenderEnv, Scene
from gymsolve.experience.agent import Agent
from gymsolve.experience.learner import Policy
from gymsolve.spec import Array


class Start(NamedTuple):
    """The middle of an episode, from which the environment goes on instead of a reset."""

    step: int
    scene: Scene
    memory: Array | None  # [1, M]


@dataclass(frozen=True)
class Moment:
    """The state after a step, or at an episode's start."""

    episode: int
    """Counted from 1."""
    step: int
    """Steps taken in this episode; 0 at its start."""
    action: Array | None  # as the environment takes it
    """The action that led here; None at the start."""
    scene: Scene
    memory: Array | None = None  # [1, M]
    """The policy's memory of the episode before this moment."""
    chosen: Array | None = None  # [1, A]
    """The action that led here, as the policy emits it."""

    @property
    def over(self) -> bool:
        return self.scene.terminated or self.scene.truncated

    @property
    def end(self) -> Literal["terminated", "truncated", "cut"]:
        """The end of an episode whose last moment this is."""
        if self.scene.terminated:
            return "terminated"
        return "truncated" if self.scene.truncated else "cut"


def play(
    policy: Policy,
    render_env: RenderEnv,
    *,
    seed: int,
    rng: np.random.Generator | None,
    episodes: int | None = None,
    force: Callable[[int, Array], Array] | None = None,
    start: Start | None = None,
) -> Iterator[Moment]:
    """Play so many `episodes`, or without end; with `rng` actions are sampled, else the likeliest are taken.

    `render_env` is in the state of a moment until the next one is asked for. `force` gets the number of a
    step, counted from 0, and the policy's action [1, A], and returns the action to take. With a `start`, the
    first episode goes on from there.
    """
    for episode in itertools.count(1) if episodes is None else range(1, episodes + 1):
        agent = Agent(policy, 1)
        if start is None:
            scene, step = render_env.reset(seed if episode == 1 else None), 0
        else:
            step, scene, agent.memory = start
            start = None
        moment = Moment(episode, step, None, scene, agent.memory)
        yield moment
        while not moment.over:
            chosen = agent.choose(moment.scene.obs, moment.scene.masks, rng)
            if force is not None:
                chosen = force(step, chosen)
                agent.override_action(chosen)
            action = policy.spec.action.to_env(chosen)  # [1, *shape]
            step += 1
            scene = render_env.step(action)
            agent.hear(np.array([scene.reward]))
            moment = Moment(episode, step, action[0], scene, agent.memory, chosen)
            yield moment
