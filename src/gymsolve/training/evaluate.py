"""Judging a policy: raw returns of a fixed number of whole episodes.

The environments are built by the same function as for training, in the role `eval`; the policy's
normalisers do not move. Every environment plays a share of the episodes that is fixed before the
first step, so that long episodes count as often as short ones.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gymsolve.config import TrainConfig
from gymsolve.envs.contract import Envs, Episode
from gymsolve.envs.make import make_envs
from gymsolve.rollout.collect import Actor
from gymsolve.seeding import Stream, generator, integer_seeds
from gymsolve.spec import Array, Obs

__all__ = ["EvalResult", "Evaluator", "Player", "Verdict", "play_episodes"]


class Player(Actor, Protocol):
    """A policy that can also be asked for its likeliest actions."""

    def greedy(self, obs: Obs, masks: Array | None) -> Array:
        """The likeliest actions [N, A]."""


@dataclass(frozen=True)
class EvalResult:
    """What the episodes of one evaluation gave."""

    episodes: tuple[Episode, ...]
    asked: int
    env_steps: int
    seconds: float

    @property
    def complete(self) -> bool:
        """False when a cap ended the evaluation before all episodes did."""
        return len(self.episodes) == self.asked

    @property
    def mean(self) -> float:
        return float(np.mean([e.raw_return for e in self.episodes])) if self.episodes else float("nan")

    def metrics(self) -> dict[str, float]:
        """By metric name; exactly these numbers go to the record and beside the checkpoint."""
        returns = np.array([e.raw_return for e in self.episodes])
        lengths = np.array([e.length for e in self.episodes])
        measured = {
            "eval/mean_reward": self.mean,
            "eval/episodes": float(len(returns)),
            "eval/env_steps": float(self.env_steps),
        }
        if len(returns):
            measured |= {
                "eval/std_reward": float(returns.std()),
                "eval/min_reward": float(returns.min()),
                "eval/max_reward": float(returns.max()),
                "eval/mean_ep_length": float(lengths.mean()),
                "eval/reward_per_step": float(returns.sum() / lengths.sum()),
            }
        successes = [e.success for e in self.episodes if e.success is not None]
        if successes:
            measured["eval/success_rate"] = float(np.mean(successes))
        return measured


@dataclass(frozen=True)
class Limits:
    """Where an evaluation ends at the latest."""

    max_steps: int
    max_seconds: float


def play_episodes(
    policy: Player,
    envs: Envs,
    count: int,
    *,
    seeds: list[int],
    rng: np.random.Generator | None,
    limits: Limits,
    on_step: Callable[[int, int], None] | None = None,
) -> EvalResult:
    """Play exactly `count` episodes; with `rng` actions are sampled, without it they are the likeliest."""
    quota = np.full(envs.num_envs, count // envs.num_envs)
    quota[: count % envs.num_envs] += 1
    played: list[list[Episode]] = [[] for _ in range(envs.num_envs)]
    started, steps, remaining = time.perf_counter(), 0, count
    obs, masks = envs.reset(seeds)
    while remaining and steps < limits.max_steps:
        actions = policy.greedy(obs, masks) if rng is None else policy.act(obs, masks, rng)[0]
        step = envs.step(policy.spec.action.to_env(actions))
        steps += int(np.count_nonzero(step.valid))
        for episode in step.episodes:
            if len(played[episode.env]) < quota[episode.env]:
                played[episode.env].append(episode)
                remaining -= 1
        obs, masks = step.obs, step.masks
        if on_step is not None:
            on_step(count - remaining, count)
        if time.perf_counter() - started > limits.max_seconds:
            break
    episodes = tuple(episode for rows in played for episode in rows)
    return EvalResult(episodes, count, steps, time.perf_counter() - started)


@dataclass(frozen=True)
class Verdict:
    """An evaluation and whether it proves the environment solved."""

    metrics: dict[str, float]
    mean: float
    solved: bool
    complete: bool
    seconds: float


class Evaluator:
    """Evaluates policies of one run, on the same seeds every time."""

    def __init__(self, config: TrainConfig, threshold: float | None) -> None:
        self.config, self.threshold = config, threshold
        self._envs: dict[int, Envs] = {}

    def judge(
        self,
        policy: Player,
        round_number: int,
        on_step: Callable[[int, int], None] | None = None,
    ) -> Verdict:
        """A routine evaluation; when it reaches the threshold, the long one and its confirmation too."""
        settings = self.config.eval
        began = time.perf_counter()
        result = self.play(policy, settings.episodes, on_step=on_step)
        if self._reached(result) and settings.episodes < settings.solved_episodes:
            result = self.play(policy, settings.solved_episodes, on_step=on_step)
        metrics, solved = result.metrics(), False
        if self._reached(result):
            again = self.play(policy, settings.solved_episodes, fresh=round_number, on_step=on_step)
            metrics["eval/confirm_mean_reward"] = again.mean
            metrics["eval/confirm_episodes"] = float(len(again.episodes))
            solved = self._reached(again)
        return Verdict(metrics, result.mean, solved, result.complete, time.perf_counter() - began)

    def play(
        self,
        policy: Player,
        count: int,
        *,
        fresh: int | None = None,
        on_step: Callable[[int, int], None] | None = None,
    ) -> EvalResult:
        """`count` episodes on the evaluation seeds, or on seeds never used before (`fresh`)."""
        settings = self.config.eval
        envs = self._envs_for(count)
        stream: Stream = "eval" if fresh is None else "confirm"
        key = 0 if fresh is None else fresh
        seeds = integer_seeds(self.config.seed, stream, envs.num_envs, key)
        rng = None if settings.deterministic else generator(self.config.seed, stream, key, 1)
        limits = Limits(settings.max_steps, settings.max_seconds)
        return play_episodes(policy, envs, count, seeds=seeds, rng=rng, limits=limits, on_step=on_step)

    def close(self) -> None:
        for envs in self._envs.values():
            envs.close()
        self._envs.clear()

    def _reached(self, result: EvalResult) -> bool:
        return self.threshold is not None and result.complete and result.mean >= self.threshold

    def _envs_for(self, count: int) -> Envs:
        num_envs = min(count, self.config.eval.num_envs or 32)
        if num_envs not in self._envs:
            self._envs[num_envs] = make_envs(self.config.env, "eval", num_envs=num_envs)
        return self._envs[num_envs]


def result_json(result: EvalResult, checkpoint: str, env_steps: int) -> dict[str, Any]:
    """The object that `eval --json` prints."""
    measured = {name.removeprefix("eval/"): value for name, value in result.metrics().items()}
    return measured | {
        "episodes": len(result.episodes),
        "env_steps": env_steps,
        "checkpoint": checkpoint,
        "complete": result.complete,
    }
