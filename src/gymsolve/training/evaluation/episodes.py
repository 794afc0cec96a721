"""Plays the whole episodes of an evaluation: how many, in which environment, and what happens to cut ones.

Every environment plays a share of the episodes that is fixed before the first step, so that long episodes
count as often as short ones.

An episode that a fault cut, such as the death of a worker, is played again from the same seed. It is never
left out: faults may well have to do with how an episode goes, and what remains would be a selection.

An evaluation that cannot prove anything any more ends early. That is asked after each round, when every
environment has played one more episode, and only whole rounds count: of a round under way, the short episodes
come first.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gymsolve.envs.contract import Envs, Episode, Step
from gymsolve.errors import EnvFaultError, EnvLostError
from gymsolve.experience.agent import Actor, Agent
from gymsolve.experience.statistics import typical_size
from gymsolve.spec import Array, Obs
from gymsolve.training.evaluation.result import EvalResult
from gymsolve.training.health.nonfinite import blame_evaluation, raise_as, require_finite_actions

_TRIES = 3
"""How often episodes are played that faults cut."""


class Played(Actor, Protocol):
    """A policy that can be evaluated."""

    def seen(self, obs: Obs) -> dict[str, Array]:
        """Inputs of the network for observations [B, …]: numbers [B, size] by entry, without categories."""


@dataclass(frozen=True)
class Limits:
    """How much to play, and where to stop at the latest."""

    episodes: int
    max_steps: int
    max_seconds: float
    steps: int | None = None
    hopeless: Callable[[Sequence[Episode]], bool] | None = None
    """Asked with the episodes of whole rounds; the evaluation ends with them where it answers True."""


def play_episodes(
    policy: Played,
    envs: Envs,
    *,
    seeds: list[int],
    rng: np.random.Generator | None,
    limits: Limits,
    on_step: Callable[[int, int], None] | None = None,
) -> EvalResult:
    """Play whole episodes; with `rng` actions are sampled, without it they are the likeliest.

    Either exactly `limits.episodes`, or as many as it takes: every environment plays until its whole episodes
    have lasted its share of `limits.steps`. That depends on no other environment, so no length is favoured.
    """
    quota = np.full(envs.num_envs, limits.episodes // envs.num_envs)
    quota[: limits.episodes % envs.num_envs] += 1
    share = None if limits.steps is None else -(-limits.steps // envs.num_envs)
    started = time.perf_counter()
    table = _Table(quota, share, started + limits.max_seconds, limits.hopeless)
    for _ in range(_TRIES):
        try:
            _play_once(policy, envs, seeds, copy.deepcopy(rng), limits, table, on_step)
        except EnvLostError as error:
            table.give_up(str(error))
            break
        if not table.cut or time.perf_counter() > table.deadline or table.steps >= limits.max_steps:
            break
    episodes = tuple(episode for rows in table.played for episode in rows)
    seconds = time.perf_counter() - started
    complete = not table.missing
    return EvalResult(
        episodes,
        complete,
        table.steps,
        seconds,
        table.first_size,
        tuple(table.faults),
        bool(table.cut),
        table.repeated_share,
        table.ended_early,
    )


class _Table:
    """The episodes that an evaluation has so far, by environment, over all tries."""

    def __init__(
        self,
        quota: Array,
        share: int | None,
        deadline: float,
        hopeless: Callable[[Sequence[Episode]], bool] | None,
    ) -> None:
        self.quota = quota  # [N] episodes that each environment plays
        self.share = share
        """Steps that its episodes last together instead, where steps were asked for."""
        self.deadline = deadline
        self.hopeless = hopeless
        self.ended_early = False
        self.rounds = 0
        """Episodes that every environment has played, as far as its quota goes."""
        self.played: list[list[Episode]] = [[] for _ in quota]
        self.missing = {index for index, count in enumerate(quota) if count}
        """Environments that have not played their share."""
        self.cut: set[int] = set()
        """Those of them that a fault has cut in this try."""
        self.steps = 0
        self.first_size: float | None = None
        self.faults: list[str] = []
        self._chosen: Array | None = None
        self._compared = self._repeated = 0

    def begin(self) -> None:
        """Begin another try; an environment that has played its share does not play again."""
        self.cut = set()
        self._chosen = None
        for index in self.missing:
            self.played[index] = []

    def give_up(self, why: str) -> None:
        """Nobody who is missing will ever play its share."""
        self.faults.append(why)
        self.cut = set(self.missing)

    @property
    def still_open(self) -> bool:
        return len(self.missing) > len(self.cut)

    def compare(self, actions: Array, began: Array) -> None:
        """Count choices like the last one; environments that `began` an episode have made none yet."""
        if self._chosen is not None:
            same = (actions == self._chosen).reshape(len(actions), -1).all(axis=1)
            self._repeated += int(np.count_nonzero(same & ~began))
            self._compared += int(np.count_nonzero(~began))
        self._chosen = actions

    @property
    def repeated_share(self) -> float | None:
        return self._repeated / self._compared if self._compared else None

    def add(self, step: Step) -> None:
        """The outcome of a step."""
        self.faults += step.faults
        if step.cut is not None:
            self.cut |= self.missing & set(np.flatnonzero(step.cut).tolist())
        for episode in step.episodes:
            index = episode.env
            if index in self.missing and index not in self.cut and not episode.jumped:
                self.played[index].append(episode)
                if self._enough(index):
                    self.missing.remove(index)
        if self.hopeless is not None and step.episodes:
            self._end_if_hopeless(self.hopeless)

    def _end_if_hopeless(self, hopeless: Callable[[Sequence[Episode]], bool]) -> None:
        """After each whole round, ask whether the episodes still to come can matter."""
        rounds = min((len(self.played[index]) for index in self.missing), default=0)
        if rounds <= self.rounds:
            return
        self.rounds = rounds
        whole = [episodes[:rounds] for episodes in self.played]
        if hopeless([episode for episodes in whole for episode in episodes]):
            self.played, self.missing, self.ended_early = whole, set(), True

    def _enough(self, index: int) -> bool:
        """Has an environment played what it was to play?"""
        episodes = self.played[index]
        if self.share is None:
            return len(episodes) == int(self.quota[index])
        return sum(episode.length for episode in episodes) >= self.share


def _play_once(
    policy: Played,
    envs: Envs,
    seeds: list[int],
    rng: np.random.Generator | None,
    limits: Limits,
    table: _Table,
    on_step: Callable[[int, int], None] | None,
) -> None:
    """Play from the seeds until everybody has played its share, was cut, or a cap is met."""
    table.begin()
    steps, calls = 0, 0
    try:
        obs, masks = envs.reset(seeds)
    except EnvFaultError as error:
        raise_as(blame_evaluation(error, envs.spec, calls), error)
    table.first_size = typical_size(policy.seen(obs))
    agent = Agent(policy, envs.num_envs)
    ended, choices = np.ones(envs.num_envs, bool), policy.spec.action.kind != "box"
    while table.still_open and table.steps < limits.max_steps:
        actions = agent.choose(obs, masks, rng)
        calls += 1
        require_finite_actions(policy.spec, actions, calls)
        if choices:
            table.compare(actions, ended)
        try:
            step = envs.step(policy.spec.action.to_env(actions))
        except EnvFaultError as error:
            raise_as(blame_evaluation(error, envs.spec, calls), error)
        valid = int(np.count_nonzero(step.valid))
        steps += valid
        table.steps += valid
        table.add(step)
        ended = step.terminated | step.truncated | ~step.valid
        if agent.memory is not None:
            agent.hear(step.rewards)
            agent.forget(ended)
        obs, masks = step.obs, step.masks
        if on_step is not None:
            on_step(*_progress(table.played, steps, limits))
        if time.perf_counter() > table.deadline:
            break


def _progress(played: list[list[Episode]], steps: int, limits: Limits) -> tuple[int, int]:
    """How much of what was asked for is done: episodes, or steps where those were asked for."""
    if limits.steps is not None:
        return min(steps, limits.steps), limits.steps
    return sum(map(len, played)), limits.episodes
