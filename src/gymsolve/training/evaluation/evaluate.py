"""Judging a policy: what a routine evaluation, a long one and its confirmation prove.

The environments are built by the same function as for training, in the role `eval`, or in the role `train` to
see what wrappers of training alone change; the policy's normalisers do not move. `episodes.py` plays.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gymsolve.envs.build import needs_own_process
from gymsolve.envs.contract import Envs
from gymsolve.envs.describe import describe_env
from gymsolve.envs.make import make_envs, make_joined
from gymsolve.errors import ConfigError
from gymsolve.experience.learner import Policy
from gymsolve.metrics.thresholds import task_thresholds
from gymsolve.seeding import Stream, generator, integer_seeds
from gymsolve.settings.config import Role, TrainConfig
from gymsolve.text import count as grouped
from gymsolve.text import duration, plural
from gymsolve.training.evaluation.episodes import Limits, play_episodes
from gymsolve.training.evaluation.result import EvalResult, merge_results

__all__ = ["EvalResult", "Evaluator", "Verdict"]

_SHARES, _LONG = 4, 1000
"""By steps, every copy has room for at least four of the longest episodes (a thousand steps where they have
no limit): the last one of each goes beyond what was asked for, by a quarter at most, or by one episode."""


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
    """True when faults left no episode: then nothing else here means anything."""
    rate: float | None = None
    """Share of successes, where that decides."""
    routine_steps: int = 0
    """Environment steps of the routine evaluation."""
    played_steps: int = 0
    """Of all of it: with the long evaluation and its confirmation, if the threshold was in reach."""
    cut: str = ""
    """The reason why it ended early, as a sentence; empty for a whole evaluation."""
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

    def evaluate(
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
        there = [name for name, result in tasks.items() if self._reached(result, name)]
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
            faults=tuple(fault for result in played for fault in result.faults),
            void=result.lost,
            rate=result.success_rate if self._by_success else None,
            routine_steps=routine.env_steps,
            played_steps=sum(result.env_steps for result in played),
            cut=next((self._why_cut(part) for part in played if not part.complete and not part.lost), ""),
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
            return all(self._within_reach(part, name) for name, part in result.deciding.items())
        threshold = self._thresholds.get(task)
        if threshold is None or not result.complete:
            return False
        value, error = self._measured(result)
        return value + 2.0 * error >= threshold

    def _reached(self, result: EvalResult, task: str = "") -> bool:
        if result.tasks:
            return all(self._reached(part, name) for name, part in result.deciding.items())
        threshold = self._thresholds.get(task)
        return threshold is not None and result.complete and self._measured(result)[0] >= threshold

    @property
    def _goal(self) -> str:
        """The last stage of a curriculum; empty without one."""
        stages = self.config.curriculum.names
        return stages[-1] if stages else ""

    @cached_property
    def _thresholds(self) -> dict[str, float | None]:
        """The thresholds by task."""
        env = self.config.env
        if not env.tasks:
            return {"": self.threshold}
        return task_thresholds(self.config, describe_env(env, self._role))

    def _measured(self, result: EvalResult) -> tuple[float, float]:
        """The number that is compared with the threshold, and its standard error."""
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
