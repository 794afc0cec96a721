"""Judging a policy: raw returns of a fixed number of whole episodes.

The environments are built by the same function as for training, in the role `eval`; the policy's
normalisers do not move. Every environment plays a share of the episodes that is fixed before the
first step, so that long episodes count as often as short ones.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.config import TrainConfig
from gymsolve.envs.build import needs_own_process
from gymsolve.envs.contract import Envs, Episode
from gymsolve.envs.make import make_envs
from gymsolve.errors import EnvFaultError
from gymsolve.rollout.agent import Agent
from gymsolve.rollout.statistics import typical_size
from gymsolve.seeding import Stream, generator, integer_seeds
from gymsolve.text import count as grouped
from gymsolve.text import duration, plural
from gymsolve.training.engines.contract import Policy
from gymsolve.training.health.nonfinite import blame_evaluation, raise_as, require_finite_actions

__all__ = ["EvalResult", "Evaluator", "Verdict", "play_episodes"]


@dataclass(frozen=True)
class EvalResult:
    """What the episodes of one evaluation gave."""

    episodes: tuple[Episode, ...]
    complete: bool
    """False when a cap ended the evaluation before all episodes did."""
    env_steps: int
    seconds: float
    first_size: float | None = None
    """Size of the numbers that the network saw in first observations; None with categories only."""

    @property
    def mean(self) -> float:
        return float(np.mean([e.raw_return for e in self.episodes])) if self.episodes else float("nan")

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        returns = [e.raw_return for e in self.episodes]
        return float(np.std(returns) / np.sqrt(len(returns))) if returns else float("nan")

    def metrics(self) -> dict[str, float]:
        """Metrics by name; exactly these numbers go into the record and beside the checkpoint."""
        returns = np.array([e.raw_return for e in self.episodes])
        lengths = np.array([e.length for e in self.episodes])
        measured = {
            "eval/mean_reward": self.mean,
            "eval/episodes": float(len(returns)),
            "eval/env_steps": float(self.env_steps),
        }
        if self.first_size is not None:
            measured["eval/first_obs_size"] = self.first_size
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
    """How much to play, and where to stop at the latest."""

    episodes: int
    max_steps: int
    max_seconds: float
    steps: int | None = None


def play_episodes(
    policy: Policy,
    envs: Envs,
    *,
    seeds: list[int],
    rng: np.random.Generator | None,
    limits: Limits,
    on_step: Callable[[int, int], None] | None = None,
) -> EvalResult:
    """Play whole episodes; with `rng` actions are sampled, without it they are the likeliest.

    Either exactly `limits.episodes`, or as many as were begun within the first `limits.steps` steps.
    """
    quota = np.full(envs.num_envs, limits.episodes // envs.num_envs)
    quota[: limits.episodes % envs.num_envs] += 1
    played: list[list[Episode]] = [[] for _ in range(envs.num_envs)]
    still_open = {index for index in range(envs.num_envs) if quota[index]}
    started, steps, calls = time.perf_counter(), 0, 0
    try:
        obs, masks = envs.reset(seeds)
    except EnvFaultError as error:
        raise_as(blame_evaluation(error, envs.spec, calls), error)
    first_size = typical_size(policy.seen(obs))
    agent = Agent(policy, envs.num_envs)
    while still_open and steps < limits.max_steps:
        actions = agent.choose(obs, masks, rng)
        calls += 1
        require_finite_actions(policy.spec, actions, calls)
        try:
            step = envs.step(policy.spec.action.to_env(actions))
        except EnvFaultError as error:
            raise_as(blame_evaluation(error, envs.spec, calls), error)
        steps += int(np.count_nonzero(step.valid))
        for episode in step.episodes:
            if episode.env in still_open and not episode.jumped:
                played[episode.env].append(episode)
                enough = len(played[episode.env]) == quota[episode.env]
                if enough or (limits.steps is not None and steps >= limits.steps):
                    still_open.remove(episode.env)
        if agent.memory is not None:
            agent.forget(step.terminated | step.truncated | ~step.valid)
        obs, masks = step.obs, step.masks
        if on_step is not None:
            on_step(*_progress(played, steps, limits))
        if time.perf_counter() - started > limits.max_seconds:
            break
    episodes = tuple(episode for rows in played for episode in rows)
    return EvalResult(episodes, not still_open, steps, time.perf_counter() - started, first_size)


def _progress(played: list[list[Episode]], steps: int, limits: Limits) -> tuple[int, int]:
    """How much of what was asked for is done: episodes, or steps where those were asked for."""
    if limits.steps is not None:
        return min(steps, limits.steps), limits.steps
    return sum(map(len, played)), limits.episodes


@dataclass(frozen=True)
class Verdict:
    """An evaluation and whether it proves the environment solved."""

    metrics: dict[str, float]
    mean: float
    solved: bool
    complete: bool
    seconds: float
    routine_steps: int = 0
    """Environment steps of the routine evaluation."""
    played_steps: int = 0
    """Of all of it: with the long evaluation and its confirmation, if the threshold was in reach."""
    cut: str = ""
    """What ended it early, in words; empty for a whole one."""


class Evaluator:
    """Evaluates policies of one run, on the same seeds every time."""

    def __init__(self, config: TrainConfig, threshold: float | None) -> None:
        self.config, self.threshold = config, threshold
        self._envs: Envs | None = None

    def judge(
        self,
        policy: Policy,
        round_number: int,
        on_step: Callable[[int, int], None] | None = None,
    ) -> Verdict:
        """A routine evaluation; with the threshold in reach, the long one and its confirmation too."""
        settings = self.config.eval
        began = time.perf_counter()
        routine = result = self.play(policy, settings.episodes, on_step=on_step)
        played = [routine]
        if settings.episodes < settings.solved_episodes and self._within_reach(result):
            result = self.play(policy, settings.solved_episodes, on_step=on_step)
            played.append(result)
        metrics, solved = result.metrics(), False
        if self._reached(result):
            again = self.play(policy, settings.solved_episodes, fresh=round_number, on_step=on_step)
            played.append(again)
            metrics["eval/confirm_mean_reward"] = again.mean
            metrics["eval/confirm_episodes"] = float(len(again.episodes))
            solved = self._reached(again)
        return Verdict(
            metrics,
            result.mean,
            solved,
            result.complete,
            time.perf_counter() - began,
            routine_steps=routine.env_steps,
            played_steps=sum(one.env_steps for one in played),
            cut=next((self._why_cut(one) for one in played if not one.complete), ""),
        )

    def play(
        self,
        policy: Policy,
        count: int,
        *,
        fresh: int | None = None,
        steps: int | None = None,
        on_step: Callable[[int, int], None] | None = None,
    ) -> EvalResult:
        """`count` episodes (or enough for `steps`) on the evaluation seeds, or on `fresh` ones."""
        settings = self.config.eval
        envs = self.envs
        stream: Stream = "eval" if fresh is None else "confirm"
        key = 0 if fresh is None else fresh
        seeds = integer_seeds(self.config.seed, stream, envs.num_envs, key)
        rng = None if settings.deterministic else generator(self.config.seed, stream, key, 1)
        # By steps, no number of episodes is set: each environment may play as many as begin in time.
        asked = count if steps is None else steps * envs.num_envs
        limits = Limits(asked, settings.max_steps, settings.max_seconds, steps)
        return play_episodes(policy, envs, seeds=seeds, rng=rng, limits=limits, on_step=on_step)

    @property
    def envs(self) -> Envs:
        """Built when first needed: a run may end before its first evaluation."""
        if self._envs is None:
            self._envs = make_envs(self.config.env, "eval", num_envs=self._num_envs())
        return self._envs

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()
            self._envs = None

    def _why_cut(self, result: EvalResult) -> str:
        settings = self.config.eval
        cap = f"eval.max_seconds={settings.max_seconds:g}"
        if result.env_steps >= settings.max_steps:
            cap = f"eval.max_steps={settings.max_steps}"
        return (
            f"the evaluation was cut off by {cap}: {plural(len(result.episodes), 'episode')} had ended, "
            f"after {grouped(result.env_steps)} steps in {duration(result.seconds)}; "
            "it decides neither solved nor best"
        )

    def _within_reach(self, result: EvalResult) -> bool:
        """Could more episodes show that the threshold is met? A few on fixed seeds may be unlucky ones."""
        if self.threshold is None or not result.complete:
            return False
        return result.mean + 2.0 * result.standard_error >= self.threshold

    def _reached(self, result: EvalResult) -> bool:
        return self.threshold is not None and result.complete and result.mean >= self.threshold

    def _num_envs(self) -> int:
        settings, env = self.config.eval, self.config.env
        # Where each is an emulator in a process of its own, as many as train are plenty.
        most = min(env.num_envs, 32) if needs_own_process(env) else 32
        return settings.num_envs or min(settings.episodes, most)


def result_json(result: EvalResult, checkpoint: str, env_steps: int) -> dict[str, Any]:
    """The object that `eval --json` prints."""
    measured = {name.removeprefix("eval/"): value for name, value in result.metrics().items()}
    return measured | {
        "episodes": len(result.episodes),
        "env_steps": env_steps,
        "checkpoint": checkpoint,
        "complete": result.complete,
    }
