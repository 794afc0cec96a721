"""The present stage of a run, and the stage that each copy plays.

After every update, `advance` takes the episodes and advantages of the rollout. It returns a change of stage,
if there is reason for one. All of it is state of the run: a resumed curriculum moves at the same steps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gymsolve.envs.contract import Episode
from gymsolve.envs.describe import describe_env
from gymsolve.errors import ConfigError
from gymsolve.experience.credit import Credit
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.curriculum.ladder import Ladder, Move, Rung, ladder_copies
from gymsolve.extensions.curriculum.levels import Levels
from gymsolve.extensions.extension import Change, EnvRequest, Setup, Site, Stages
from gymsolve.metrics.thresholds import task_thresholds
from gymsolve.parts import rollback_state
from gymsolve.seeding import generator, restore_generator, save_generator
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import Array


class Curriculum(Stages):
    """Stages of one run."""

    def __init__(self, config: TrainConfig, bars: Mapping[str, float | None]) -> None:
        """`bars` has the threshold of each stage."""
        settings = config.curriculum
        self.stages, self.settings = settings.names, settings
        self.num_envs = config.env.num_envs
        self.by_success = settings.promotes_by_success(config.solved_by)
        rungs = [Rung(stage.name, bars[stage.name], stage.steps) for stage in settings.stages]
        self.ladder = Ladder(
            rungs,
            by_success=self.by_success,
            episodes=settings.episodes,
            confidence=settings.confidence,
            demote_below=settings.demote_below,
        )
        levels = Levels(len(rungs), temperature=settings.temperature, staleness=settings.staleness)
        self.levels = levels if settings.choice == "plr" else None
        self.rng = generator(config.seed, "curriculum")
        self.turn = 0
        self.updates = 0
        """Updates since copies were assigned."""
        self.history: list[dict[str, Any]] = []
        """The event of every move so far."""
        self.masters: dict[str, int] = {}
        """Steps of the checkpoint at the end of each stage."""
        self.counts = self._hand_out()

    @property
    def stage(self) -> int:
        """The stage that is being learned; the last one where stages are drawn."""
        return len(self.stages) - 1 if self.levels is not None else self.ladder.stage

    @property
    def copies(self) -> dict[str, int]:
        """Number of copies of each stage."""
        return dict(zip(self.stages, self.counts, strict=True))

    def stage_at(self, env_steps: int) -> int:
        if self.levels is not None:
            return len(self.stages) - 1
        moves = [move for move in self.history if move["env_steps"] <= env_steps]
        return self.stages.index(moves[-1]["next"]) if moves else 0

    def note_best(self, stage: int, env_steps: int) -> str | None:
        """Remember the best checkpoint of the last stage; returns its name if it is that stage."""
        if stage + 1 < len(self.stages):
            return None
        self.masters[self.stages[-1]] = env_steps
        return self.stages[-1]

    def success_bars(self) -> dict[str, float]:
        if self.by_success:
            return {}
        return {rung.name: rung.promote_at for rung in self.ladder.rungs if rung.promote_at is not None}

    def spare_checkpoints(self) -> set[int]:
        return set(self.masters.values())

    def advance(
        self, rollout: Rollout, credit: Credit | None, *, taken: int, env_steps: int
    ) -> Change | None:
        numbers = rollout.task_numbers
        assert numbers is not None
        assert credit is not None, "tasks are learned by algorithms that give credit"
        self.take(rollout.episodes, rollout.tasks, numbers[credit.rows], credit.advantages[credit.rows])
        move = self.decide(taken)
        if move is None:
            return None
        facts = move.describe(self.stages, env_steps, by_success=self.by_success)
        self.history.append(facts)
        if move.kind == "promoted":
            self.masters[self.stages[move.before]] = env_steps
        return Change(move.kind, facts)

    def take(
        self, episodes: Iterable[Episode], names: Sequence[str], tasks: Array, advantages: Array
    ) -> None:
        """Take in a rollout: its finished episodes, and by step [B] the task and the advantage.

        `names` are the tasks by number.
        """
        place = {name: index for index, name in enumerate(self.stages)}
        silent = []
        for episode in episodes:
            achieved = episode.success if self.by_success else episode.raw_return
            if achieved is None:
                silent.append(episode.task)
            elif not episode.jumped:
                self.ladder.add(place[episode.task], float(achieved))
        self._require_successes(silent)
        if self.levels is not None:
            for number, name in enumerate(names):
                self.levels.add(place[name], advantages[tasks == number])
        self.updates += 1

    def _require_successes(self, silent: Sequence[str]) -> None:
        """Refuse a stage that only successes can end, and whose first episodes do not report them."""
        for index, stage in enumerate(self.ladder.rungs[:-1]):
            waits = self.levels is None and stage.promote_at is not None and stage.steps is None
            judged = index < self.ladder.highest or self.ladder.seen(index)[0]
            if waits and stage.name in silent and not judged:
                raise ConfigError(
                    f"no episode of the stage {stage.name!r} ended with info['is_success'], so there is no "
                    "share of successes to promote by.",
                    where="curriculum.by",
                    hint="Let the environment's last step say so in its info, or use curriculum.by=return.",
                )

    def decide(self, taken: int) -> Move | None:
        """Change the stage if there is reason to, and assign the copies again when that is due."""
        move = None if self.levels is not None else self.ladder.decide(taken)
        if move is not None or self.updates >= self.settings.redraw:
            self.turn = 0 if move is not None else self.turn + 1
            self.updates = 0
            self.counts = self._hand_out()
        return move

    def _hand_out(self) -> list[int]:
        if self.levels is not None:
            return self.levels.draw(self.num_envs, self.rng)
        place, rehearsal = self.ladder.stage, self.settings.rehearsal
        return ladder_copies(self.num_envs, len(self.stages), place, rehearsal, self.turn)

    def metrics(self) -> dict[str, float]:
        """Stage, shares of copies and bounds; stages count from 1."""
        metrics = {f"curriculum/share/{name}": count / self.num_envs for name, count in self.copies.items()}
        if self.levels is not None:
            scores = zip(self.stages, self.levels.scores, strict=True)
            return metrics | {f"curriculum/score/{name}": float(score) for name, score in scores}
        metrics["curriculum/stage"] = float(self.stage + 1)
        count, mean = self.ladder.seen(self.stage)
        if mean is not None:
            metrics["curriculum/achieved"] = mean
        if count > 1:
            metrics["curriculum/lower_bound"] = self.ladder.bounds(self.stage)[0]
        return metrics

    def state(self) -> dict[str, Any]:
        return {
            "ladder": self.ladder.state(),
            "levels": None if self.levels is None else self.levels.state(),
            "rng": save_generator(self.rng),
            "turn": self.turn,
            "updates": self.updates,
            "counts": list(self.counts),
            "history": list(self.history),
            "masters": dict(self.masters),
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if not state:
            return ["the checkpoint knows no curriculum: it begins with its first stage"]
        counts = [int(count) for count in state["counts"]]
        if len(counts) != len(self.stages) or min(counts) < 0:
            raise ValueError(f"copies {counts} of {len(self.stages)} stages")
        self.ladder.load({}, state["ladder"])
        if self.levels is not None:
            self.levels.load({}, state["levels"])
        self.rng = restore_generator(state["rng"])
        self.turn, self.updates = int(state["turn"]), int(state["updates"])
        self.counts = counts if sum(counts) == self.num_envs else self._hand_out()  # of another number
        self.history, self.masters = list(state["history"]), dict(state["masters"])
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)

    def reseed(self, seed: int, env_steps: int) -> None:
        self.rng = generator(seed, "curriculum", env_steps)


class CurriculumSetup(Setup):
    """The setup for `curriculum.stages`; refuses a stage that could never end."""

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        settings = config.curriculum
        solved = task_thresholds(config, describe_env(config.env, "eval"))
        bars = {
            stage.name: settings.bar(stage, config.solved_by, solved[stage.name]) for stage in settings.stages
        }
        by_success = settings.promotes_by_success(config.solved_by)
        fault = settings.find_dead_end(bars, by_success=by_success, budget=config.steps)
        if fault is not None:
            where, _, text = fault.partition(": ")
            raise ConfigError(f"{text}.", where=f"curriculum.{where}")
        self.curriculum = Curriculum(config, bars)

    def ask(self, request: EnvRequest) -> EnvRequest:
        """Play the first of ordered stages alone."""
        curriculum = self.curriculum
        return request if curriculum.stage else request._replace(task=curriculum.stages[0])

    def build(self, site: Site) -> Curriculum:
        return self.curriculum
