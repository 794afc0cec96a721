"""Plays the episodes of a run's evaluations, on the same seeds every time.

The environments are built by the same function as for training, in the role `eval`, or in the role `train` to
see what wrappers of training alone change; the policy's normalisers do not move. `episodes.py` plays,
`evaluate.py` judges.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gymsolve.envs.build import needs_own_process
from gymsolve.envs.contract import Envs, Episode
from gymsolve.envs.describe import describe_env
from gymsolve.envs.make import make_envs, make_joined
from gymsolve.seeding import Stream, generator, integer_seeds
from gymsolve.settings.config import Role, TrainConfig
from gymsolve.training.evaluation.episodes import Limits, Played, play_episodes
from gymsolve.training.evaluation.result import EvalResult, join_results, merge_results

OnStep = Callable[[int, int], None]
"""Hears how much is done, and of how much."""
Hopeless = Callable[[str, Sequence[Episode]], bool]
"""Says of a task and its episodes so far that those to come cannot matter."""

_USUAL = 32
"""Copies that evaluate, unless more train."""
_SHARES, _LONG = 4, 1000
"""By steps, every copy has room for at least four of the longest episodes (a thousand steps where they have
no limit): the last one of each goes beyond what was asked for, by a quarter at most, or by one episode."""


@dataclass(frozen=True)
class Draw:
    """Which seeds episodes are played on."""

    stream: Stream = "eval"
    key: int = 0


ROUTINE, FURTHER, HELD_OUT = Draw(), Draw(key=1), Draw("held_out")
"""The episodes of each routine evaluation; those that a long one adds; those that have chosen no checkpoint
and proved nothing."""


class Player:
    """Plays the evaluation episodes of one run. Of several tasks, each is played alone, with as many."""

    def __init__(self, config: TrainConfig, role: Role = "eval") -> None:
        self.config, self.role = config, role
        self._envs: dict[tuple[str, int], Envs] = {}

    def play(
        self, policy: Played, count: int, *, steps: int | None = None, on_step: OnStep | None = None
    ) -> EvalResult:
        """`count` episodes, or enough for `steps`: those of a routine evaluation first, as in training."""
        settings = self.config.eval
        usual = settings.episodes if settings.steps is None and steps is None else count
        first = self.play_draw(policy, min(count, usual), ROUTINE, steps=steps, on_step=on_step)
        if count <= usual:
            return first
        return join_results(first, self.play_draw(policy, count - usual, FURTHER, on_step=on_step))

    def play_draw(
        self,
        policy: Played,
        count: int,
        draw: Draw,
        *,
        steps: int | None = None,
        tasks: Sequence[str] = (),
        hopeless: Hopeless | None = None,
        on_step: OnStep | None = None,
    ) -> EvalResult:
        """`count` episodes, or enough for `steps`, of each of these tasks or of all."""
        results: list[EvalResult] = []
        for task in tasks or [*self.config.env.tasks] or [""]:
            ends = None if hopeless is None else partial(hopeless, task)
            results.append(self._play(policy, count, draw, task, steps, ends, on_step))
            if results[-1].hopeless:  # so are all together
                break
        return merge_results(results, self.goal) if self.config.env.tasks else results[0]

    @property
    def goal(self) -> str:
        """The last stage of a curriculum; empty without one."""
        stages = self.config.curriculum.names
        return stages[-1] if stages else ""

    def close(self) -> None:
        for envs in self._envs.values():
            envs.close()
        self._envs = {}

    def _play(
        self,
        policy: Played,
        count: int,
        draw: Draw,
        task: str,
        steps: int | None,
        hopeless: Callable[[Sequence[Episode]], bool] | None,
        on_step: OnStep | None,
    ) -> EvalResult:
        """The episodes of one task; its name is empty where there is one."""
        settings = self.config.eval
        envs = self._envs_of(task, self._num_envs(count, steps))
        seeds = integer_seeds(self.config.seed, draw.stream, envs.num_envs, draw.key)
        rng = None if settings.deterministic else generator(self.config.seed, draw.stream, draw.key, 1)
        # By steps, no number of episodes is set: every environment plays.
        asked = count if steps is None else envs.num_envs
        limits = Limits(asked, settings.max_steps, settings.max_seconds, steps, hopeless)
        return play_episodes(policy, envs, seeds=seeds, rng=rng, limits=limits, on_step=on_step)

    def _envs_of(self, task: str, count: int) -> Envs:
        """Built when first needed: a run may end before its first evaluation."""
        env, key = self.config.env, (task, count)
        if key not in self._envs:
            self._envs[key] = (
                make_joined(env, self.role, num_envs=count, task=task)
                if task
                else make_envs(env, self.role, num_envs=count)
            )
        return self._envs[key]

    def _num_envs(self, count: int, steps: int | None) -> int:
        """So many copies that the last round of episodes keeps nearly all of them busy."""
        settings, env = self.config.eval, self.config.env
        if settings.num_envs is not None:
            return settings.num_envs
        most = max(_USUAL, env.num_envs)
        if needs_own_process(env):  # the same copies for all: each is an emulator in a process of its own
            return min(env.num_envs, _USUAL, settings.episodes)
        if steps is None:
            return math.ceil(count / math.ceil(count / most))
        longest = describe_env(env, self.role).max_episode_steps or _LONG
        return max(1, min(most, steps // (_SHARES * longest)))
