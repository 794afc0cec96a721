"""Judging a policy: what a routine evaluation, a long one and its confirmation prove.

A long evaluation adds further episodes to those of the routine one. It ends early once the threshold is out
of reach, and so does the confirmation on fresh seeds: a policy that is not good enough costs little time.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gymsolve.confidence import is_out_of_reach
from gymsolve.envs.contract import Episode
from gymsolve.envs.describe import describe_env
from gymsolve.errors import ConfigError
from gymsolve.experience.learner import Policy
from gymsolve.metrics.thresholds import task_thresholds
from gymsolve.settings.config import Role, TrainConfig
from gymsolve.text import count as grouped
from gymsolve.text import duration, plural
from gymsolve.training.evaluation.player import FURTHER, ROUTINE, Draw, OnStep, Player
from gymsolve.training.evaluation.result import EvalResult, join_results

__all__ = ["EvalResult", "Evaluator", "Verdict"]

_SURE = 3.0
"""Standard errors beyond which a threshold counts as out of reach: wrong in about one of a thousand proofs
that would succeed, and in two or three of a hundred where a few returns far above the others decide."""
_FIRST = 0.2
"""Share of a proof's episodes that are played in any case: fewer of them say little about the others."""


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
    played_steps: int = 0
    """Environment steps of all of it, the long evaluation and its confirmation included."""
    cut: str = ""
    """The reason why it ended early, as a sentence; empty for a whole evaluation."""
    reached: int = 0
    """How many of several tasks reached their threshold."""


class Evaluator(Player):
    """Evaluates policies of one run.

    Of several tasks, *solved* is what all of them are, or, of a curriculum, what its last stage is.
    """

    def __init__(self, config: TrainConfig, threshold: float | None, role: Role = "eval") -> None:
        super().__init__(config, role)
        self.threshold = threshold

    def evaluate(self, policy: Policy, round_number: int, on_step: OnStep | None = None) -> Verdict:
        """A routine evaluation; with the threshold in reach, the long one and its confirmation too."""
        settings = self.config.eval
        began = time.perf_counter()
        routine = result = self.play_draw(
            policy, settings.episodes, ROUTINE, steps=settings.steps, on_step=on_step
        )
        self._require_successes(result)
        played = [routine]
        missing = settings.solved_episodes - result.fewest
        if missing > 0 and self._within_reach(result):
            further = self._prove(policy, missing, FURTHER, routine, on_step)
            played.append(further)
            if further.complete and not further.lost:  # of episodes that were cut, the short ones have ended
                result = join_results(routine, further)
        there = [name for name, part in result.tasks.items() if self._reached(part, name)]
        metrics, solved = result.metrics() | self._told(result.tasks, there), False
        if self._reached(result) and result.fewest >= settings.solved_episodes:
            again = self._prove(
                policy, settings.solved_episodes, Draw("confirm", round_number), result, on_step
            )
            played.append(again)
            if not again.lost:
                metrics["eval/confirm_mean_reward"] = again.mean
                metrics["eval/confirm_episodes"] = float(len(again.episodes))
                if again.success_rate is not None:
                    metrics["eval/confirm_success_rate"] = again.success_rate
                solved = self._reached(again) and not again.hopeless
        return Verdict(
            metrics,
            result.mean,
            solved,
            result.complete,
            seconds=time.perf_counter() - began,
            faults=tuple(fault for result in played for fault in result.faults),
            void=result.lost,
            rate=result.success_rate if self._by_success else None,
            played_steps=sum(result.env_steps for result in played),
            cut=next(
                (self._why_cut(part, result) for part in played if not part.complete and not part.lost), ""
            ),
            reached=len(there),
        )

    def _told(self, tasks: Iterable[str], there: list[str]) -> dict[str, float]:
        """Which of several tasks are at their threshold, as metrics."""
        flags = {f"task_reached/{name}": float(name in there) for name in tasks}
        if not flags:
            return {}
        bars = {f"task_threshold/{name}": bar for name, bar in self._thresholds.items() if bar is not None}
        return bars | flags | {"eval/tasks_reached": float(len(there))}

    def _prove(
        self, policy: Policy, count: int, draw: Draw, before: EvalResult, on_step: OnStep | None
    ) -> EvalResult:
        """Episodes of the tasks that decide, while it is in reach; those `before` tell what to expect.

        Further ones count together with those before, a confirmation counts alone.
        """
        total, alone = self.config.eval.solved_episodes, draw.stream == "confirm"

        def hopeless(task: str, episodes: Sequence[Episode]) -> bool:
            bar, known = self._thresholds.get(task), before.tasks.get(task, before).episodes
            values = self._values(episodes if alone else [*known, *episodes])
            like = self._values(known) if alone else ()
            enough = len(values) >= _FIRST * total
            return bar is not None and enough and is_out_of_reach(values, total, bar, _SURE, like)

        tasks = (self.goal,) if self.goal else ()
        return self.play_draw(policy, count, draw, tasks=tasks, hopeless=hopeless, on_step=on_step)

    def _values(self, episodes: Sequence[Episode]) -> list[float]:
        """The numbers whose mean is compared with the threshold."""
        if not self._by_success:
            return [episode.raw_return for episode in episodes]
        successes = [float(episode.success) for episode in episodes if episode.success is not None]
        return [*successes, 0.0, 1.0]  # as `_measured` counts them

    def _why_cut(self, result: EvalResult, counted: EvalResult) -> str:
        """Why a part was cut off, and what that means for the evaluation, of which others are `counted`."""
        settings = self.config.eval
        cap = f"eval.max_seconds={settings.max_seconds:g}"
        if result.env_steps >= settings.max_steps:
            cap = f"eval.max_steps={settings.max_steps}"
        means = "it decides neither solved nor best"
        if counted.complete:
            means = f"it cannot prove solved, and the {len(counted.episodes)} episodes before it count"
        return (
            f"the evaluation was cut off by {cap}: {plural(len(result.episodes), 'episode')} had ended, "
            f"after {grouped(result.env_steps)} steps in {duration(result.seconds)}; "
            f"{means}"
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

    @cached_property
    def _thresholds(self) -> dict[str, float | None]:
        """The thresholds by task."""
        env = self.config.env
        if not env.tasks:
            return {"": self.threshold}
        return task_thresholds(self.config, describe_env(env, self.role))

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
