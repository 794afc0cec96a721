"""What an environment does under policies that know nothing: rewards, lengths, ends, speed."""

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from gymsolve.envs.contract import Envs
from gymsolve.spec import ActionSpec, Array

__all__ = ["Census", "blind_actions", "take_census"]

BlindPolicy = Literal["random", "first", "repeat"]


@dataclass(frozen=True)
class Census:
    """Counts over the steps one blind policy took."""

    policy: BlindPolicy
    env_steps: int
    episodes: int
    """Finished ones; the means below are None when there were none."""
    terminated: int
    truncated: int
    mean_return: float | None
    std_return: float | None
    mean_length: float | None
    nonzero_rewards: float
    """Share of steps whose reward was not 0."""
    min_reward: float
    max_reward: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def take_census(envs: Envs, policy: BlindPolicy, seconds: float, max_steps: int = 4000) -> Census:
    """Step until the time or the number of vector steps is used up."""
    rng = np.random.default_rng(0)
    _, masks = envs.reset(list(range(envs.num_envs)))
    returns: list[float] = []
    lengths: list[int] = []
    cut = steps = nonzero = 0
    low, high = np.inf, -np.inf
    held: Array | None = None  # [N, size]
    started = time.perf_counter()
    for _ in range(max_steps):
        if policy != "repeat" or held is None or masks is not None:
            held = blind_actions(envs.spec.action, envs.num_envs, masks, None if policy == "first" else rng)
        step = envs.step(envs.spec.action.to_env(held))
        masks = step.masks
        rewards = step.rewards[step.valid]
        if rewards.size:
            steps += rewards.size
            nonzero += int(np.count_nonzero(rewards))
            low, high = min(low, float(rewards.min())), max(high, float(rewards.max()))
        for episode in step.episodes:
            returns.append(episode.raw_return)
            lengths.append(episode.length)
            cut += episode.truncated
            held = None  # `repeat` takes another action for the next episodes
        if time.perf_counter() - started > seconds:
            break
    return Census(
        policy=policy,
        env_steps=steps,
        episodes=len(returns),
        terminated=len(returns) - cut,
        truncated=cut,
        mean_return=float(np.mean(returns)) if returns else None,
        std_return=float(np.std(returns)) if returns else None,
        mean_length=float(np.mean(lengths)) if lengths else None,
        nonzero_rewards=nonzero / steps if steps else 0.0,
        min_reward=low if steps else 0.0,
        max_reward=high if steps else 0.0,
        seconds=time.perf_counter() - started,
    )


def blind_actions(
    action: ActionSpec, count: int, masks: Array | None, rng: np.random.Generator | None
) -> Array:
    """Policy actions [count, size]: random legal ones, or without a generator the first legal ones."""
    if action.kind == "box":
        return np.zeros((count, action.size)) if rng is None else rng.uniform(-1, 1, (count, action.size))
    parts, offset = [], 0
    for choices in action.nvec:
        weights = np.ones((count, choices)) if rng is None else rng.random((count, choices)) + 1e-9
        if masks is not None:
            weights = weights * masks[:, offset : offset + choices]
        parts.append(weights.argmax(axis=1))
        offset += choices
    return np.stack(parts, axis=1)
