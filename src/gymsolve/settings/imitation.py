"""Settings of imitation: the section `imitate`."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from gymsolve.settings.kinds import Model, Positive, Rate, listed
from gymsolve.settings.schedules import Schedule


class ImitateConfig(Model):
    """Behaviour cloning: learn the actions of recorded episodes. `imitate: RUN` is short for its episodes."""

    episodes: Annotated[tuple[str, ...], BeforeValidator(listed), Field(min_length=1)]
    """Runs whose recorded episodes are cloned (`gymsolve record RUN --data`), or files in .npz format."""
    coef: Rate = Schedule.constant(1.0)
    """Weight of the cloning loss beside the algorithm's own; `1 -> 0` lets it fade."""
    rollouts: bool = True
    """Learn from the run's own rollouts too; false learns from the episodes alone."""
    batch_size: Positive = 256
    """Recorded steps in every gradient step."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return {"episodes": value} if isinstance(value, str | list | tuple) else value
