"""Plays policies that know nothing and counts rewards and ends of episodes (`Census`).

These counts decide settings (`algo.num_steps: auto`, derived recipes), so budgets are counted in steps and
episodes: the same question has the same answer on any machine. Only an environment whose steps take
milliseconds meets a limit in seconds, and then the count is marked as cut. Images take longer to make and get
fewer steps. Once enough episodes have ended, more of them would say the same.

A reward that is the same in every step tells nothing, be it 0 or -1. So "how often an environment pays"
counts rewards that differ from the usual one. Where every step pays alike and not 0, it counts the ends of
episodes, since only their length makes a difference.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from gymsolve.envs.contract import Envs
from gymsolve.spec import ActionSpec, Array, EnvSpec, Obs

SimplePolicy = Literal["random", "first", "repeat"]
Tell = Callable[[int, int], None]

PAY_COPIES = 8
_PAY_STEPS = 2048
_CENSUS_STEPS = 2000
_ENOUGH_EPISODES, _ENOUGH_STEPS = 16, 1000
"""Ended episodes, and steps of all copies, after which a census is over."""
_ENOUGH_PAY = 64
"""Rewards that tell something, and as many ended episodes, after which pay is known."""
_MOST_SECONDS = 30.0
"""A slow environment is measured for so long; the caller then says that it was cut short."""
_IMAGE_SHARE = 0.125
"""Share of these vector steps that is taken where observations have images."""


@dataclass(frozen=True)
class Census:
    """Counts over the steps of one policy that knows nothing."""

    policy: SimplePolicy
    env_steps: int
    episodes: int
    """Number of finished episodes; the means below are None when there were none."""
    terminated: int
    truncated: int
    mean_return: float | None
    std_return: float | None
    mean_length: float | None
    nonzero_rewards: float
    """Share of steps whose reward was not 0."""
    telling_rewards: float
    """Share of steps with another reward than the usual one; where that is not 0, ends of episodes count."""
    min_reward: float
    max_reward: float
    image_values: dict[str, tuple[float, bool]]
    """By entry that is an image: the largest value seen, and whether all were whole numbers."""
    one_hot: tuple[str, ...] = ()
    """Entries that are vectors of zeros with a single 1 in them, if any: categories in disguise."""
    cut: bool = False
    """The environment is so slow that time ran out before enough was seen."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def take_census(
    envs: Envs, policy: SimplePolicy, vec_steps: int | None = None, *, tell: Tell | None = None
) -> Census:
    """Take so many vector steps at the most, by default fewer where observations have images.

    `tell` hears (done, total) after each of them.
    """
    watch = _Watch(vec_steps or _budget(envs.spec, _CENSUS_STEPS), tell)
    rng = np.random.default_rng(0)
    obs, masks = envs.reset(list(range(envs.num_envs)))
    images, codes = _ImageValues(envs.spec, obs), _OneHot(envs.spec, obs)
    returns: list[float] = []
    lengths: list[int] = []
    paid: dict[float, int] = {}
    cut = 0
    held: Array | None = None  # [N, size]
    while watch.goes_on():
        if policy != "repeat" or held is None or masks is not None:
            held = random_actions(envs.spec.action, envs.num_envs, masks, None if policy == "first" else rng)
        step = envs.step(envs.spec.action.to_env(held))
        masks = step.masks
        images.look(step.obs)
        codes.look(step.obs)
        for reward in step.rewards[step.valid].tolist():
            paid[reward] = paid.get(reward, 0) + 1
        for episode in step.episodes:
            returns.append(episode.raw_return)
            lengths.append(episode.length)
            cut += episode.truncated
            held = None  # `repeat` takes another action for the next episodes
        if len(returns) >= _ENOUGH_EPISODES and sum(paid.values()) >= _ENOUGH_STEPS:
            break
    steps, usual = sum(paid.values()), max(paid, key=lambda reward: paid[reward], default=0.0)
    telling = steps - paid.get(usual, 0) + (len(returns) - cut if usual else 0)
    return Census(
        policy=policy,
        env_steps=steps,
        episodes=len(returns),
        terminated=len(returns) - cut,
        truncated=cut,
        mean_return=float(np.mean(returns)) if returns else None,
        std_return=float(np.std(returns)) if returns else None,
        mean_length=float(np.mean(lengths)) if lengths else None,
        nonzero_rewards=1.0 - paid.get(0.0, 0) / steps if steps else 0.0,
        telling_rewards=telling / steps if steps else 0.0,
        min_reward=min(paid, default=0.0),
        max_reward=max(paid, default=0.0),
        image_values=images.seen,
        one_hot=codes.keys,
        cut=watch.cut,
    )


class _ImageValues:
    """The largest value of each image so far, and whether all were whole numbers."""

    def __init__(self, spec: EnvSpec, obs: Obs) -> None:
        keys = [key for key, entry in spec.obs.items() if entry.kind == "image"]
        self.seen = dict.fromkeys(keys, (-np.inf, True))
        self.look(obs)

    def look(self, obs: Obs) -> None:
        for key, (high, whole) in self.seen.items():
            values = obs[key]
            integral = values.dtype == np.uint8 or bool((values == np.rint(values)).all())
            self.seen[key] = max(high, float(values.max())), whole and integral


class _OneHot:
    """The vectors of at least two numbers that have been one-hot so far.

    All zeros may mean an end, or nothing. But lights that are never on, and a vector that never changes, are
    no categories: at least two places must hold the 1, and half of the vectors must have one.
    """

    def __init__(self, spec: EnvSpec, obs: Obs) -> None:
        sizes = {key: math.prod(entry.shape) for key, entry in spec.obs.items() if entry.kind == "vector"}
        self._seen = {key: np.zeros(size + 1, np.int64) for key, size in sizes.items() if size > 1}
        """How often each place held the 1, and after them how often none did."""
        self.look(obs)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(
            key
            for key, (*ones, zeros) in self._seen.items()
            if np.count_nonzero(ones) >= 2 and sum(ones) >= zeros
        )

    def look(self, obs: Obs) -> None:
        for key in list(self._seen):
            rows = obs[key].reshape(len(obs[key]), -1)
            ones = rows == 1
            if ((rows == 0) | ones).all() and (ones.sum(axis=1) <= 1).all():
                self._seen[key] += [*ones.sum(axis=0), np.count_nonzero(~ones.any(axis=1))]
            else:
                del self._seen[key]


class _Watch:
    """Counts vector steps up to a limit, and looks at the clock."""

    def __init__(self, most: int, tell: Tell | None) -> None:
        self.most, self.done, self.cut = most, 0, False
        self._tell, self._until = tell, time.monotonic() + _MOST_SECONDS

    def goes_on(self) -> bool:
        """May another step be taken? Asked before each, and at least one is."""
        if self._tell is not None and self.done:
            self._tell(self.done, self.most)
        if self.done >= self.most:
            return False
        self.cut = self.done > 0 and time.monotonic() > self._until
        self.done += not self.cut
        return not self.cut


def random_actions(
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


@dataclass(frozen=True)
class Pay:
    """How often an environment pays under random actions; counts over all copies."""

    env_steps: int
    usual: float
    """The commonest reward."""
    other: int
    """Steps that paid something else."""
    episodes: int
    terminated: int
    mean_length: float | None
    """Mean length of finished episodes; None without any."""
    limit: int | None
    """Steps after which an episode is cut."""
    cut: bool = False
    """The environment is so slow that time ran out before enough was seen."""

    @property
    def between(self) -> float | None:
        """Mean number of steps from one reward that tells something to the next; None if none was seen."""
        telling = self.other + (self.terminated if self.usual else 0)
        return self.env_steps / telling if telling else None

    @property
    def longest(self) -> float | None:
        """How long an episode is, as far as it is known."""
        return self.mean_length or self.limit


def measure_pay(envs: Envs, tell: Tell | None = None) -> Pay:
    """Act at random in copies (`PAY_COPIES` is a good number) of the environment as the agent sees it."""
    rng, action = np.random.default_rng(0), envs.spec.action
    counts: dict[float, int] = {}
    lengths: list[int] = []
    cut = 0
    masks = envs.reset(list(range(envs.num_envs)))[1]
    watch = _Watch(_budget(envs.spec, _PAY_STEPS), tell)
    while watch.goes_on():
        step = envs.step(action.to_env(random_actions(action, envs.num_envs, masks, rng)))
        masks = step.masks
        for reward in step.rewards[step.valid].tolist():
            counts[reward] = counts.get(reward, 0) + 1
        lengths += [episode.length for episode in step.episodes]
        cut += sum(episode.truncated for episode in step.episodes)
        if len(lengths) >= _ENOUGH_PAY and sum(counts.values()) - max(counts.values()) >= _ENOUGH_PAY:
            break
    total, usual = sum(counts.values()), max(counts, key=lambda reward: counts[reward])
    return Pay(
        env_steps=total,
        usual=usual,
        other=total - counts[usual],
        episodes=len(lengths),
        terminated=len(lengths) - cut,
        mean_length=float(np.mean(lengths)) if lengths else None,
        limit=envs.spec.max_episode_steps,
        cut=watch.cut,
    )


def _budget(spec: EnvSpec, vec_steps: int) -> int:
    images = any(entry.kind == "image" for entry in spec.obs.values())
    return int(vec_steps * _IMAGE_SHARE) if images else vec_steps
