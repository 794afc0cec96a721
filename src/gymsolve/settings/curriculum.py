"""Settings of a curriculum: the section `curriculum`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from gymsolve.confidence import fewest_for, highest_share, z_of
from gymsolve.errors import did_you_mean
from gymsolve.settings.environment import TaskConfig
from gymsolve.settings.kinds import Model, Positive, not_bool
from gymsolve.settings.schedules import Steps

_Number = Annotated[float, BeforeValidator(not_bool)]


class StageConfig(Model):
    """One stage: the name of a task, or `{name: …}` with the conditions under which it ends."""

    name: str
    """A task of `env.tasks`."""
    promote_at: _Number | None = None
    """Instead of `curriculum.promote_at`."""
    steps: Annotated[Steps, Field(gt=0)] | None = None
    """The most steps in this stage; then the next one begins, whatever its episodes achieved."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_serializer
    def _write(self) -> Any:
        given = {"promote_at": self.promote_at, "steps": self.steps}
        more = {name: value for name, value in given.items() if value is not None}
        return {"name": self.name, **more} if more else self.name


class CurriculumConfig(Model):
    """One policy learns several stages, in order or by how much each still teaches."""

    stages: tuple[StageConfig, ...] = ()
    """Tasks of `env.tasks` in order, each a name or `{name: …, promote_at: …, steps: …}`; empty: no
    curriculum, all tasks at once."""
    choice: Literal["ladder", "plr"] = "ladder"
    """How stages follow: `ladder` goes up one by one, `plr` draws them by the size of their advantages."""
    promote_at: _Number | None = None
    """A stage is done once the lower bound of its last training episodes (see `by`) reaches this; None takes
    the `solved_at` of its task."""
    by: Literal["return", "success_rate"] | None = None
    """Whether promote_at is a return or a share of successes; None takes `solved_by`."""
    episodes: Annotated[Positive, Field(ge=2, le=100_000)] = 100
    """Episodes that the bound is computed from, at least and at most."""
    confidence: Annotated[_Number, Field(gt=0.5, lt=1)] = 0.95
    """Confidence of the bound. It is checked after every rollout, so some stages end by luck."""
    rehearsal: Annotated[_Number, Field(ge=0, lt=1)] = 0.25
    """Share of the copies that go on playing earlier stages, so that the policy does not forget them."""
    demote_below: Annotated[_Number, Field(ge=0, lt=1)] = 0.5
    """Demote when the upper bound of a rehearsed stage falls below this share of promote_at; 0 disables."""
    redraw: Positive = 20
    """Updates after which copies are assigned again: by `plr`, or in turns where more stages are rehearsed
    than there are copies."""
    temperature: Annotated[_Number, Field(gt=0)] = 0.1
    """For `plr`: near 0, the stage with the largest advantages is played nearly always."""
    staleness: Annotated[_Number, Field(ge=0, le=1)] = 0.1
    """For `plr`: share of the draws that prefer stages which were not played for long."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return {"stages": value} if isinstance(value, list | tuple) else value

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    def promotes_by_success(self, solved_by: str) -> bool:
        """True if shares of successes promote to the next stage, and not returns."""
        return (self.by or solved_by) == "success_rate"

    def is_judged_alike(self, solved_by: str) -> bool:
        """True if stages and the run are judged by the same measure: returns, or successes."""
        return self.promotes_by_success(solved_by) == (solved_by == "success_rate")

    def bar(self, stage: StageConfig, solved_by: str, solved_at: float | None) -> float | None:
        """The value that the lower bound of a stage must reach; `solved_at` is the threshold of its task."""
        given = (stage.promote_at, self.promote_at, solved_at if self.is_judged_alike(solved_by) else None)
        return next((bar for bar in given if bar is not None), None)

    def find_fault(self, tasks: Mapping[str, TaskConfig], solved_by: str, budget: int) -> str | None:
        """The first setting that cannot work, as `setting: sentence`; None where all can."""
        if not self.stages:
            return None
        fault = self._contradiction(tasks)
        if fault is not None:
            return fault
        # The thresholds of the environments are not known here: `CurriculumSetup` checks again with them.
        bars = {stage.name: self.bar(stage, solved_by, tasks[stage.name].solved_at) for stage in self.stages}
        given = {name: bar for name, bar in bars.items() if bar is not None}
        return self.find_dead_end(given, by_success=self.promotes_by_success(solved_by), budget=budget)

    def _contradiction(self, tasks: Mapping[str, TaskConfig]) -> str | None:
        names = self.names
        if len(names) < 2:
            return "stages: a curriculum needs two stages at least; one task alone needs none"
        if not tasks:
            return "stages: they are tasks, and there are none; name them in env.tasks"
        for name in names:
            if name not in tasks:
                near = did_you_mean(name, tasks) or f"the tasks are: {', '.join(tasks)}"
                return f"stages: {name!r} is no task of env.tasks; {near[:1].lower()}{near[1:].rstrip('.')}"
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            return f"stages: {twice!r} is there twice"
        left = [name for name in tasks if name not in names]
        if left:
            return (
                f"stages: the task {left[0]!r} is no stage, so it would never be played; add it or remove it"
            )
        uneven = [name for name, task in tasks.items() if task.share != 1.0]
        if uneven:
            return (
                f"stages: the curriculum decides how many copies a task has, and env.tasks.{uneven[0]}.share "
                "does too; remove one"
            )
        return None

    def find_dead_end(self, bars: Mapping[str, float | None], *, by_success: bool, budget: int) -> str | None:
        """The reason why a stage can never end, as `setting: sentence`; None where each can.

        `bars` has the value that each stage must reach, or None; stages that it leaves out are not checked.
        """
        if self.choice == "plr":
            given = [stage.name for stage in self.stages if (stage.promote_at, stage.steps) != (None, None)]
            if given or self.promote_at is not None:
                return (
                    "choice: plr draws stages and promotes none; remove promote_at and steps, or use ladder"
                )
            return None
        spent, z = 0, z_of(self.confidence)
        for stage in (s for s in self.stages[:-1] if s.name in bars or s.steps is not None):
            bar = bars.get(stage.name)
            if bar is None and stage.steps is None:
                return (
                    f"stages: nothing ever promotes from {stage.name!r}; give it promote_at or steps, "
                    "or set curriculum.promote_at"
                )
            if by_success and bar is not None and stage.steps is None:
                highest = highest_share(self.episodes, z)
                if not 0 < bar < 1:
                    return f"promote_at: no bound of a share of successes reaches {bar:g}; use less than 1"
                if bar > highest:
                    return (
                        f"episodes: {self.episodes} successes in a row prove a share of {highest:.3f} at "
                        f"most, so {stage.name!r} never reaches {bar:g}; use {fewest_for(bar, z)} episodes "
                        "or more"
                    )
            spent += stage.steps or 0
            if bar is None and spent >= budget:
                return (
                    f"stages: {stage.name!r} ends after {spent} steps at the earliest, and the budget is "
                    f"{budget}; raise steps"
                )
        return None
