"""The result of an evaluation, of one task or of several."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gymsolve.envs.contract import Episode


@dataclass(frozen=True)
class EvalResult:
    """The episodes of one evaluation, and their statistics.

    Of several tasks, each counts alike: means are means of the tasks' means, spreads are those within tasks.
    With a `goal`, that task alone counts, and the others are told.
    """

    episodes: tuple[Episode, ...]
    complete: bool
    """False when a cap ended the evaluation before all episodes did."""
    env_steps: int
    seconds: float
    first_size: float | None = None
    """Size of the numbers that the network saw in first observations; None with categories only."""
    faults: tuple[str, ...] = ()
    """Sentences on what broke meanwhile."""
    lost: bool = False
    """True when faults cut episodes however often they were played: the rest is a selection and no result."""
    repeated: float | None = None
    """Share of the policy's choices that were its last choice again; None where actions are no choices."""
    hopeless: bool = False
    """True when it ended early, after whole rounds, because episodes to come could not matter."""
    goal: str = ""
    """The one of several tasks that decides, such as a curriculum's last stage; empty for all of them."""

    @cached_property
    def tasks(self) -> "dict[str, EvalResult]":
        """The result of each of several tasks by name; empty where there is one."""
        names = dict.fromkeys(episode.task for episode in self.episodes if episode.task)
        return {name: replace(self, episodes=self._of(name), goal="") for name in names}

    @property
    def deciding(self) -> "dict[str, EvalResult]":
        """Those of the tasks by which the policy is evaluated; empty where there is one task."""
        if not self.goal:
            return self.tasks
        nothing = replace(self, episodes=(), goal="")
        return {self.goal: self.tasks.get(self.goal, nothing)}

    def _of(self, task: str) -> tuple[Episode, ...]:
        return tuple(episode._replace(task="") for episode in self.episodes if episode.task == task)

    @property
    def fewest(self) -> int:
        """Episodes behind each number: of several tasks, of the one with the fewest."""
        return min((len(part.episodes) for part in self.deciding.values()), default=len(self.episodes))

    @property
    def mean(self) -> float:
        if self.deciding:
            return float(np.mean([part.mean for part in self.deciding.values()]))
        return float(np.mean([e.raw_return for e in self.episodes])) if self.episodes else float("nan")

    @property
    def std(self) -> float:
        """Spread of the returns; equal ones have none, although their mean is rounded."""
        if self.deciding:
            return float(np.sqrt(np.mean([part.std**2 for part in self.deciding.values()])))
        returns = [e.raw_return for e in self.episodes]
        if not returns:
            return float("nan")
        return 0.0 if min(returns) == max(returns) else float(np.std(returns))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        if self.deciding:
            squares = [part.standard_error**2 for part in self.deciding.values()]
            return float(np.sqrt(np.sum(squares))) / len(squares)
        return self.std / len(self.episodes) ** 0.5 if self.episodes else float("nan")

    @property
    def successes(self) -> list[bool]:
        """Of the episodes that say whether they were one."""
        return [e.success for e in self.episodes if e.success is not None]

    @property
    def success_rate(self) -> float | None:
        if self.deciding:
            rates = [part.success_rate for part in self.deciding.values()]
            known = [rate for rate in rates if rate is not None]
            return float(np.mean(known)) if len(known) == len(rates) else None
        return float(np.mean(self.successes)) if self.successes else None

    def metrics(self) -> dict[str, float]:
        """Metrics by name; exactly these numbers go into the record and beside the checkpoint."""
        counted = self.deciding[self.goal].episodes if self.goal else self.episodes
        returns = np.array([e.raw_return for e in counted])
        lengths = np.array([e.length for e in counted])
        measured = {
            "eval/mean_reward": self.mean,
            "eval/episodes": float(len(returns)),
            "eval/env_steps": float(self.env_steps),
        }
        if self.first_size is not None:
            measured["eval/first_obs_size"] = self.first_size
        if len(returns):
            measured |= {
                "eval/std_reward": self.std,
                "eval/min_reward": float(returns.min()),
                "eval/max_reward": float(returns.max()),
                "eval/mean_ep_length": float(lengths.mean()),
                "eval/reward_per_step": float(returns.sum() / lengths.sum()),
            }
        if self.success_rate is not None:
            measured["eval/success_rate"] = self.success_rate
        for name, part in self.tasks.items():
            measured |= {f"task_eval/{name}": part.mean, f"task_eval_std/{name}": part.std}
            if part.success_rate is not None:
                measured[f"task_eval_success/{name}"] = part.success_rate
        return measured


def merge_results(results: Sequence[EvalResult], goal: str = "") -> EvalResult:
    """The results of several tasks as one; `goal` decides, if there is one.

    What the network saw first differs by task, so it is left out.
    """
    return EvalResult(
        episodes=tuple(episode for result in results for episode in result.episodes),
        complete=all(result.complete for result in results),
        env_steps=sum(result.env_steps for result in results),
        seconds=sum(result.seconds for result in results),
        faults=tuple(fault for result in results for fault in result.faults),
        lost=any(result.lost for result in results),
        hopeless=any(result.hopeless for result in results),
        goal=goal,
    )


def join_results(first: EvalResult, further: EvalResult) -> EvalResult:
    """Further episodes of the same policy added to a result."""
    return replace(
        first,
        episodes=first.episodes + further.episodes,
        complete=first.complete and further.complete,
        env_steps=first.env_steps + further.env_steps,
        seconds=first.seconds + further.seconds,
        faults=first.faults + further.faults,
        lost=first.lost or further.lost,
        hopeless=first.hopeless or further.hopeless,
    )
