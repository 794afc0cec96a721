"""Settings of evaluations: the section `eval`."""

from typing import Annotated

from pydantic import Field

from gymsolve.settings.kinds import Model, Positive, Seconds, Whole
from gymsolve.settings.schedules import Steps


class EvalConfig(Model):
    """How the policy is evaluated: by raw returns of whole episodes, on seeds of their own."""

    every: Annotated[Steps, Field(ge=0)] = 0
    """Environment steps between evaluations; 0 means a twentieth of the budget."""
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of the time that evaluations take at most, besides the one that proves `solved`: where episodes
    are long, evaluations are put off. None means 0.25 if `every` is 0, and no limit otherwise."""
    cost: Annotated[float, Field(gt=0)] = 1.0
    """Time of an environment step in evaluation, in steps of training, which `share` counts with. Recipes
    without a cadence of their own have measured values; it is about 1 where simulating takes nearly all of
    the time."""
    episodes: Positive = 20
    """Episodes of a routine evaluation, on the same seeds each time."""
    steps: Annotated[Steps, Field(gt=0)] | None = None
    """Instead of `episodes`: whole episodes of this many steps together, and a quarter or an episode more."""
    warmup: Annotated[Steps, Field(ge=0)] = 0
    """No evaluation before this many steps."""
    start_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """No evaluation before the training return reaches this fraction of the threshold."""
    deterministic: bool = True
    """Take the likeliest action instead of sampling."""
    solved_episodes: Annotated[Whole, Field(ge=100)] = 100
    """Episodes that decide whether a run is solved, and again as many on fresh seeds to confirm it."""
    stop_when_solved: bool = True
    """End the run once solved is confirmed."""
    num_envs: Annotated[Positive, Field(le=65_536)] | None = None
    """Copies used for evaluation; None uses up to 32, or as many as train where these are more."""
    max_steps: Annotated[Steps, Field(gt=0)] = 2_000_000
    """Hard cap on the environment steps of an evaluation; the further episodes that prove `solved`, and those
    that confirm it, each have as many again, and so has each of several tasks."""
    max_seconds: Seconds = 600.0
    """The same in seconds: 90, 10min."""
    asynchronous: bool = False
    """Evaluate in another process while training goes on."""

    @property
    def greatest_share(self) -> float | None:
        """The share of the time that evaluations may take; None without a limit."""
        return self.share or (None if self.every else 0.25)
