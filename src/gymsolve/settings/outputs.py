"""Settings of the files that a run saves: the sections `checkpoint` and `video`."""

from typing import Annotated

from pydantic import Field

from gymsolve.settings.kinds import Model, Positive, Seconds
from gymsolve.settings.schedules import Steps


class CheckpointConfig(Model):
    """Checkpoints, which hold the whole state of a run."""

    every: Annotated[Steps, Field(ge=0)] = 0
    """Environment steps between checkpoints; 0 means a tenth of the budget."""
    keep: Positive | None = 5
    """At most this many stay: the two newest, others spread over the run; best, last and the last before an
    alert always stay."""


class VideoConfig(Model):
    """The videos of a run, where its environment can be drawn."""

    enabled: bool = True
    """Leave an mp4 of the best and of the final policy when training has ended by itself."""
    episodes: Positive = 1
    """Episodes per video, at least; short ones are followed by others until it lasts five seconds."""
    max_seconds: Seconds = 20.0
    """Length at which a video ends, even within an episode."""
    every: Annotated[Steps, Field(ge=0)] = 0
    """Environment steps between further videos, made from checkpoints by another process; 0 makes none."""
