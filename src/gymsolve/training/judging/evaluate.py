"""Judging a policy: raw returns of a fixed number of whole episodes.

The environments are built by the same function as for training, in the role `eval`, or in the role `train` to
see what wrappers of training alone change; the policy's normalisers do not move. Every environment plays a
share of the episodes that is fixed before the first step, so that long episodes count as often as short ones.

An episode that a fault cut, such as the death of a worker, is played again from the same seed. It is never
left out: faults may well have to do with how an episode goes, and what remains would be a selection.
"""

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gymsolve.config import Role, TrainConfig
from gymsolve.envs.build import needs_own_process
from gymsolve.envs.contract import Envs, Episode, Step
from gymsolve.envs.describe import describe_env
from gymsolve.envs.make import make_envs, make_joined
from gymsolve.errors import ConfigError, EnvFaultError, EnvLostError
from gymsolve.metrics.thresholds import task_thresholds
from gymsolve.rollout.agent import Agent
from gymsolve.rollout.statistics import typical_size
from gymsolve.seeding import Stream, generator, integer_seeds
from gymsolve.spec import Array
from gymsolve.text import count as grouped
from gymsolve.text import duration, plural
from gymsolve.training.engines.contract import Policy
from gymsolve.training.health.nonfinite import blame_evaluation, raise_as, require_finite_actions
from gymsolve.training.judging.result import EvalResult, merge_results

__all__ = ["EvalResult", "Evaluator", "Verdict", "play_episodes"]

_TRIES = 3
"""How often episodes are played that faults cut."""
_SHARES, _LONG = 4, 1000
"""By steps, every copy has room for at least four of the longest episodes (a thousand steps where they have
no limit): the last one of each goes beyond what was asked for, by a quarter at most, or by one episode."""


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

    Either exactly `limits.episodes`, or as many as it takes: every environment plays until its whole episodes
    have lasted its share of `limits.steps`. That depends on no other environment, so no length is favoured.
    """
    quota = np.full(envs.num_envs, limits.episodes // envs.num_envs)
    quota[: limits.episodes % envs.num_envs] += 1
    share = None if limits.steps is None else -(-limits.steps // envs.num_envs)
    started = time.perf_counter()
    table = _Table(quota, share, started + limits.max_seconds)
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
    )


class _Table:
    """What an evaluation has so far, environment by environment, over all tries."""

    def __init__(self, quota: Array, share: int | None, deadline: float) -> None:
        self.quota = quota  # [N] episodes that each environment plays
        self.share = share
        """Steps that its episodes last together instead, where steps were asked for."""
        self.deadline = deadline
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
        """Another try: whoever has played its share would play the same again."""
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

    def _enough(self, index: int) -> bool:
        """Has an environment played what it was to play?"""
        episodes = self.played[index]
        if self.share is None:
            return len(episodes) == int(self.quota[index])
        return sum(episode.length for episode in episodes) >= self.share


def _play_once(
    policy: Policy,
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


@dataclass(frozen=True)
class Verdict:
    """An evaluation and whether it proves the environment solved."""

    metrics: dict[str, float]
    mean: float
    solved: bool
    complete: bool
    seconds: float
    faults: tuple[str, ...] = ()
    """Sentences on what broke meanwhile."""
    void: bool = False
    """True when faults left nothing to judge by: then nothing else here means anything."""
    rate: float | None = None
    """Share of successes, where that is what is judged."""
    routine_steps: int = 0
    """Environment steps of the routine evaluation."""
    played_steps: int = 0
    """Of all of it: with the long evaluation and its confirmation, if the threshold was in reach."""
    cut: str = ""
    """What ended it early, in words; empty for a whole one."""
    reached: int = 0
    """How many of several tasks reached their threshold."""


class Evaluator:
    """Evaluates policies of one run, on the same seeds every time.

    Of several tasks, each is played alone, with as many episodes; *solved* is what all of them are, or, of a
    curriculum, what its last stage is.
    """

    def __init__(self, config: TrainConfig, threshold: float | None, role: Role = "eval") -> None:
        self.config, self.threshold, self._role = config, threshold, role
        self._envs: dict[str, Envs] = {}

    def judge(
        self,
        policy: Policy,
        round_number: int,
        on_step: Callable[[int, int], None] | None = None,
    ) -> Verdict:
        """A routine evaluation; with the threshold in reach, the long one and its confirmation too."""
        settings = self.config.eval
        began = time.perf_counter()
        routine = result = self.play(policy, settings.episodes, steps=settings.steps, on_step=on_step)
        self._require_successes(result)
        played = [routine]
        if result.fewest < settings.solved_episodes and self._within_reach(result):
            longer = self.play(policy, settings.solved_episodes, proving=True, on_step=on_step)
            played.append(longer)
            result = result if longer.lost else longer
        tasks = routine.tasks | result.tasks
        there = [name for name, one in tasks.items() if self._reached(one, name)]
        metrics, solved = routine.metrics() | result.metrics() | self._told(tasks, there), False
        if self._reached(result) and result.fewest >= settings.solved_episodes:
            again = self.play(
                policy, settings.solved_episodes, fresh=round_number, proving=True, on_step=on_step
            )
            played.append(again)
            if not again.lost:
                metrics["eval/confirm_mean_reward"] = again.mean
                metrics["eval/confirm_episodes"] = float(len(again.episodes))
                if again.success_rate is not None:
                    metrics["eval/confirm_success_rate"] = again.success_rate
                solved = self._reached(again)
        return Verdict(
            metrics,
            result.mean,
            solved,
            result.complete,
            seconds=time.perf_counter() - began,
            faults=tuple(fault for one in played for fault in one.faults),
            void=result.lost,
            rate=result.success_rate if self._by_success else None,
            routine_steps=routine.env_steps,
            played_steps=sum(one.env_steps for one in played),
            cut=next((self._why_cut(one) for one in played if not one.complete and not one.lost), ""),
            reached=len(there),
        )

    def _told(self, tasks: Iterable[str], there: list[str]) -> dict[str, float]:
        """Which of several tasks are at their threshold, as metrics."""
        flags = {f"task_reached/{name}": float(name in there) for name in tasks}
        if not flags:
            return {}
        bars = {f"task_threshold/{name}": bar for name, bar in self._thresholds.items() if bar is not None}
        return bars | flags | {"eval/tasks_reached": float(len(there))}

    def play(
        self,
        policy: Policy,
        count: int,
        *,
        fresh: int | None = None,
        held_out: bool = False,
        steps: int | None = None,
        proving: bool = False,
        on_step: Callable[[int, int], None] | None = None,
    ) -> EvalResult:
        """`count` episodes (or enough for `steps`) on the evaluation seeds, or on `fresh` ones.

        Those `held_out` have chosen no checkpoint and proved nothing. `proving` plays only what decides.
        """
        asked = partial(
            self._play, policy, count, fresh=fresh, held_out=held_out, steps=steps, on_step=on_step
        )
        goal = self._goal
        names = [goal] if goal and proving else [*self.config.env.tasks]
        return merge_results([asked(task=name) for name in names], goal) if names else asked(task="")

    def _play(
        self,
        policy: Policy,
        count: int,
        *,
        task: str,
        fresh: int | None,
        held_out: bool,
        steps: int | None,
        on_step: Callable[[int, int], None] | None,
    ) -> EvalResult:
        """The episodes of one task; its name is empty where there is one."""
        settings = self.config.eval
        envs = self._envs_of(task)
        stream: Stream = "held_out" if held_out else "eval" if fresh is None else "confirm"
        key = 0 if fresh is None else fresh
        seeds = integer_seeds(self.config.seed, stream, envs.num_envs, key)
        rng = None if settings.deterministic else generator(self.config.seed, stream, key, 1)
        # By steps, no number of episodes is set: every environment plays.
        asked = count if steps is None else envs.num_envs
        limits = Limits(asked, settings.max_steps, settings.max_seconds, steps)
        return play_episodes(policy, envs, seeds=seeds, rng=rng, limits=limits, on_step=on_step)

    def _envs_of(self, task: str) -> Envs:
        """Built when first needed: a run may end before its first evaluation."""
        if task not in self._envs:
            env, count = self.config.env, self._num_envs()
            self._envs[task] = (
                make_joined(env, self._role, num_envs=count, task=task)
                if task
                else make_envs(env, self._role, num_envs=count)
            )
        return self._envs[task]

    def close(self) -> None:
        for envs in self._envs.values():
            envs.close()
        self._envs = {}

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

    def _within_reach(self, result: EvalResult, task: str = "") -> bool:
        """Could more episodes show that the threshold is met? A few on fixed seeds may be unlucky ones."""
        if result.tasks:
            return all(self._within_reach(one, name) for name, one in result.deciding.items())
        threshold = self._thresholds.get(task)
        if threshold is None or not result.complete:
            return False
        value, error = self._measured(result)
        return value + 2.0 * error >= threshold

    def _reached(self, result: EvalResult, task: str = "") -> bool:
        if result.tasks:
            return all(self._reached(one, name) for name, one in result.deciding.items())
        threshold = self._thresholds.get(task)
        return threshold is not None and result.complete and self._measured(result)[0] >= threshold

    @property
    def _goal(self) -> str:
        """The last stage of a curriculum; empty without one."""
        stages = self.config.curriculum.names
        return stages[-1] if stages else ""

    @cached_property
    def _thresholds(self) -> dict[str, float | None]:
        """What counts as solved, by task."""
        env = self.config.env
        if not env.tasks:
            return {"": self.threshold}
        return task_thresholds(self.config, describe_env(env, self._role))

    def _measured(self, result: EvalResult) -> tuple[float, float]:
        """What is judged, and its standard error."""
        if not self._by_success:
            return result.mean, result.standard_error
        rate = result.success_rate or 0.0
        # Counted with one success and one failure more: a few alike leave no doubt only in appearance.
        number = len(result.successes) + 2
        smooth = (sum(result.successes) + 1) / number
        return rate, float(np.sqrt(smooth * (1.0 - smooth) / number))

    @property
    def _by_success(self) -> bool:
        return self.config.solved_by == "success_rate"

    def _require_successes(self, result: EvalResult) -> None:
        if self._by_success and result.episodes and result.success_rate is None:
            raise ConfigError(
                f"none of {len(result.episodes)} evaluation episodes ended with info['is_success'], so there "
                "is no share of successes to judge by.",
                where="solved_by",
                hint="Let the environment's last step say so in its info, or use solved_by=return.",
            )

    def _num_envs(self) -> int:
        settings, env = self.config.eval, self.config.env
        # Where each is an emulator in a process of its own, as many as train are plenty.
        most = min(env.num_envs, 32) if needs_own_process(env) else 32
        if settings.num_envs is not None:
            return settings.num_envs
        if settings.steps is None:
            return min(settings.episodes, most)
        longest = describe_env(env, self._role).max_episode_steps or _LONG
        return max(1, min(most, settings.steps // (_SHARES * longest)))
