"""The live objects of a training process.

`Trainer` is data: the loop in `loop.py` moves it, `build.py` makes it, `restore.py` continues a checkpoint.
Its policy and its parts own all that must survive a restart; a trainer that was restored from a checkpoint
continues as if nothing had happened.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.envs.contract import Envs
from gymsolve.experience.collect import Collector
from gymsolve.experience.episodes import EpisodeWindow
from gymsolve.experience.learner import Learner, Policy
from gymsolve.extensions.extension import Extension, Stages
from gymsolve.parts import Part
from gymsolve.seeding import RandomStreams
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array
from gymsolve.training.counters import Counters
from gymsolve.training.engines.contract import Engine
from gymsolve.training.health.probe import Probe
from gymsolve.training.records import Averager, Clock
from gymsolve.training.sitting import Sitting
from gymsolve.training.time_limit import TimeLimit

FORMAT = 2
"""Format of the trainer's files in a checkpoint: `format` in trainer.json; 1 where that is missing."""


@dataclass
class Trainer:
    """One run's live objects. What must survive a restart is in the policy and in `parts` alone."""

    config: TrainConfig
    collector: Collector
    engine: Engine
    learner: Learner
    threshold: float | None
    """Mean raw return, or share of successes (`solved_by`), that counts as solved."""
    streams: RandomStreams
    alerts: AlertTracker
    """Follows the records; it saves no state, since the records are on disk."""
    probe: Probe
    """Observations that the policy is measured with; taken at the beginning."""
    window: EpisodeWindow
    """The newest episodes of training."""
    extensions: dict[str, Extension] = field(default_factory=dict)
    """By name, in the order in which the loop calls them."""
    counters: Counters = field(default_factory=Counters)
    averager: Averager = field(default_factory=Averager)
    clock: Clock = field(default_factory=Clock)
    evaluation: dict[str, float] | None = None
    """Metrics of the newest evaluation; `counters.last_eval` says which step it evaluated."""
    saved_step: int | None = None
    """Step of the newest checkpoint that this process wrote or started from."""
    unsaved_verdict: bool = False
    """An evaluation has ended since the newest checkpoint was written."""
    sitting: Sitting = field(default_factory=Sitting)
    """The ends that this sitting may have before the budget is spent."""
    undo: Callable[[], None] | None = None
    """Puts weights and statistics back to before the iteration under way; None between iterations."""

    @property
    def policy(self) -> Policy:
        policy: Policy = self.learner.policy
        return policy

    @property
    def envs(self) -> Envs:
        return self.collector.envs

    @property
    def stages(self) -> Stages | None:
        """The extension that divides the run into stages; None without one."""
        staged = (extension for extension in self.extensions.values() if isinstance(extension, Stages))
        return next(staged, None)

    @property
    def parts(self) -> dict[str, Part]:
        """The owners of all state beside the policy's own, by the name they have in checkpoints."""
        own: dict[str, Part] = {
            "counters": self.counters,
            "algorithm": self.learner,
            "engine": self.engine,
            "random": self.streams,
            "window": self.window,
            "averager": self.averager,
            "probe": self.probe,
            "collector": self.collector,
        }
        for further in (self.learner.optimizers, self.learner.parts, self.extensions):
            # An auxiliary loss may be an extension, too.
            clash = [name for name, part in further.items() if own.get(name, part) is not part]
            assert not clash, f"two parts have the name {clash}"
            own = {**own, **further}
        own["collector"] = own.pop("collector")  # last: an archive must be there before episodes begin
        return own

    @property
    def return_threshold(self) -> float | None:
        """Mean raw return that counts as solved; None where the share of successes decides."""
        return self.threshold if self.config.solved_by == "return" else None

    @property
    def success_threshold(self) -> float | None:
        """Share of successes that counts as solved; None where the return decides."""
        return self.threshold if self.config.solved_by == "success_rate" else None

    @property
    def taken(self) -> int:
        """Steps so far in the unit of the budget."""
        counters = self.counters
        return counters.vec_steps if self.config.budget_in == "vec_steps" else counters.env_steps

    @property
    def is_finally_solved(self) -> bool:
        """It is solved, and training is to end with that."""
        return self.counters.solved and self.config.eval.stop_when_solved

    @property
    def budget_is_spent(self) -> bool:
        until = self.sitting.until
        ends_here = until is not None and self.counters.env_steps >= until
        return ends_here or self.taken >= self.config.steps or self.is_paused

    @property
    def is_paused(self) -> bool:
        """The sitting of a trial has come to its pause, and there is budget left."""
        judged, wanted = self.counters.last_eval, self.sitting.pause_at
        return (
            wanted is not None
            and judged is not None
            and judged >= wanted
            and judged == self.counters.env_steps
            and self.taken < self.config.steps
        )

    @property
    def progress(self) -> Progress:
        return Progress(self.taken, self.config.steps)

    @property
    def time_is_up(self) -> bool:
        limit = self.sitting.time_limit
        return limit is not None and limit.is_over

    @property
    def evaluates_no_more(self) -> bool:
        """The rest of the time limit is for the report and the videos."""
        limit = self.sitting.time_limit
        return limit is not None and limit.is_nearly_over

    def limit_time(self, began: float) -> None:
        """The command began at this moment; its settings may limit its time."""
        if self.config.max_seconds is not None:
            self.sitting.time_limit = TimeLimit(self.config.max_seconds, began)

    def position(self) -> dict[str, Any]:
        """Where the run is, as every record says it."""
        return {
            "env_steps": self.counters.env_steps,
            "vec_steps": self.counters.vec_steps,
            "updates": self.counters.updates,
            "progress": self.progress.fraction,
        }

    def arrays(self) -> dict[str, Array]:
        """The arrays of all parts, next to the policy's own."""
        return {
            f"{owner}/{name}": array
            for owner, part in self.parts.items()
            for name, array in part.arrays().items()
        }

    def state(self) -> dict[str, Any]:
        """The rest, JSON-ready."""
        states = {owner: part.state() for owner, part in self.parts.items()}
        return {"format": FORMAT, "parts": {owner: state for owner, state in states.items() if state}}

    def write_files(self, folder: Path) -> dict[str, list[str]]:
        """Let parts write files of their own; the names of those that each needs."""
        needed = {owner: part.write_files(folder) for owner, part in self.parts.items()}
        return {owner: names for owner, names in needed.items() if names}

    def rollback_point(self) -> Callable[[], None]:
        """A function that puts the policy and all parts back to where they are now."""
        points = [self.policy.rollback_point(), *(part.rollback_point() for part in self.parts.values())]

        def put_back() -> None:
            for undo in points:
                undo()

        return put_back

    def reassign_copies(self) -> None:
        """Between two rollouts, give each stage as many environments as it should have."""
        stages = self.stages
        if stages is not None and stages.copies != self.collector.copies:
            self.begin(self.collector.reassign(stages.copies))

    def begin(self, rows: list[int]) -> None:
        """These environments began other episodes, and those under way had no end: no sum goes on."""
        for extension in self.extensions.values():
            extension.begin(rows)

    def reseed(self) -> None:
        """Keep weights and statistics, and draw everything random anew from the seed in the settings."""
        for part in self.parts.values():
            part.reseed(self.config.seed, self.counters.env_steps)
