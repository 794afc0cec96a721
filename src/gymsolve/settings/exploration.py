"""Settings of exploration: the section `explore` of a run.

A module beside `config.py` because that file is long enough.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gymsolve.errors import did_you_mean
from gymsolve.settings.schedules import Schedule, within

GO_EXPLORE = "go_explore"
"""`explore: go_explore` is short for an archive with its defaults."""

Bonuses = Literal["none", "counts", "episodic", "rnd", "noveld", "icm", "forward", "rarity"]
COUNTING = ("counts", "episodic", "noveld")
"""Bonuses that tell states apart, by the cells they lie in."""
LEARNING = ("rnd", "noveld", "icm", "forward")
"""Bonuses that are the error of a network."""


def _not_bool(value: Any) -> Any:
    if isinstance(value, bool):  # Python would take `true` for 1
        raise ValueError(f"should be a number, not {str(value).lower()}")
    return value


def _listed(value: Any) -> Any:
    """`kills,health` as people type it."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


Whole = Annotated[int, BeforeValidator(_not_bool)]
Positive = Annotated[Whole, Field(gt=0)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class ArchiveConfig(BaseModel):
    """Go-Explore: an archive of places, where episodes of training begin, and whose best ways are learned."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    cells: Literal["auto", "frames", "exact", "bins", "hash", "state"] = "auto"
    """What makes two places the same: pictures shrunk to a few grey levels (`frames`), equal observations,
    `explore.bins`, `explore.bits` of a random projection, or the environment's own full state. `auto` takes
    frames for pictures, then the full state where the family tells it."""
    width: Annotated[Positive, Field(le=256)] = 11
    """For `frames`: columns of the shrunken picture."""
    height: Annotated[Positive, Field(le=256)] = 8
    """For `frames`: rows of it."""
    levels: Annotated[Positive, Field(ge=2, le=256)] = 8
    """For `frames`: grey levels."""
    adapt: bool = True
    """For `frames`: choose width, height and levels anew, so that an eighth of recent frames are cells of
    their own, whenever the steps have doubled; false keeps those given here."""
    capacity: Annotated[Positive, Field(le=10_000_000)] = 50_000
    """Cells at most, of each task; a full archive still takes better ways to the cells it has."""
    true_starts: Annotated[float, BeforeValidator(_not_bool), Field(ge=0, le=1)] = 0.3
    """Share of episodes that begin at a reset; it grows to 1 as these reach the goal that the environment
    reports, or the return that counts as solved, each task by itself."""
    recall: Annotated[Positive, Field(le=100_000)] = 512
    """With `net.memory`: last steps of the way to a place that the policy goes through again before it starts
    there, so that it remembers them; shorter ways are gone as a whole."""
    leave_after: Positive = 100
    """Steps from the archive after which an episode is left when the rollout ends."""
    learn_from: Literal["self_imitation", "rapid", "nothing"] = "self_imitation"
    """How the best finished trajectories are learned: those with a reward above 0, where they did better than
    the value function thought; or by cloning those that paid and explored most (RAPID)."""
    learn_every: Positive = 1
    """Rollouts from one such lesson to the next."""
    learn_epochs: Positive = 4
    """Passes of a lesson over the best trajectories, or over 2048 steps drawn from them, as many of each
    task."""
    trajectories: Annotated[Positive, Field(le=100_000)] = 50
    """Best finished trajectories, of each task, that are kept to learn from."""
    rollouts: Literal[True, False, "found"] = True
    """Learn from rollouts too; false learns from the archive alone, and `found` does so until a trajectory is
    found that paid, in every task that is played: before, a policy would only lose its curiosity."""

    @model_validator(mode="after")
    def _learns_somehow(self) -> "ArchiveConfig":
        if self.rollouts is not True and self.learn_from == "nothing":
            raise ValueError("rollouts: nothing else would be learned from; leave it true, or set learn_from")
        return self


class ExploreConfig(BaseModel):
    """How the run finds something new: a bonus that it pays itself, or an archive of places to start from.

    `explore: rnd` is short for `{bonus: rnd}`, `explore: go_explore` for an archive.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    bonus: Bonuses = "none"
    """What is new: rarely seen cells (`counts`), cells not seen in this episode (`episodic`), what a network
    predicts badly (`rnd`, `noveld`, `icm`, `forward`), rare events in `info` (`rarity`)."""
    coef: Annotated[Schedule, within(0.0)] = Schedule.constant(0.5)
    """Weight of the bonus's advantages beside the task's, whose weight is 1; 0 learns as without a bonus."""
    gamma: Annotated[Schedule, within(0.0, 1.0)] = Schedule.constant(0.99)
    """Discount of the bonus; the task has `algo.gamma`."""
    across_ends: bool = True
    """What the next episode finds counts too, so that ending an episode costs nothing; false cuts at ends."""
    scale: bool = True
    """Divide the bonus by the running spread of its discounted sum."""
    cells: Literal["auto", "exact", "bins", "hash", "state"] = "auto"
    """What makes two observations the same to `counts`, `episodic` and `noveld`: being equal, lying in the
    same bins, having the same random bits, or the environment's own full state (MiniGrid, ALE)."""
    bins: Annotated[Positive, Field(le=10_000)] = 50
    """For `cells: bins`: parts into which each number's range is cut."""
    bits: Annotated[Positive, Field(le=62)] = 24
    """For `cells: hash`: signs of random projections; more tells more apart."""
    entries: Names = ()
    """Entries of the observation that the bonus looks at; empty means all."""
    events: Names = ()
    """For `rarity`: keys of `info` whose rise is an event; `-name` counts its fall."""
    hidden: tuple[Annotated[Positive, Field(le=16_384)], ...] = (64, 64)
    """Sizes of the fully connected layers of the bonus's own networks, its value function included."""
    features: Annotated[Positive, Field(le=16_384)] = 32
    """Numbers that such a network predicts."""
    learning_rate: Annotated[Schedule, within(0.0)] = Schedule.constant(3e-4)
    """Size of gradient steps of the networks whose error is paid; too high, and nothing stays new. The
    bonus's value function learns at `algo.learning_rate`."""
    num_epochs: Positive = 1
    """Passes of the bonus's own networks over each rollout."""
    num_minibatches: Positive = 4
    """Gradient steps per pass, at most: minibatches have at least 128 rows."""
    share: Annotated[float, BeforeValidator(_not_bool), Field(gt=0, le=1)] = 1.0
    """Share of the steps that the predictor learns from; less keeps things new for longer."""
    repeat: Annotated[float, BeforeValidator(_not_bool), Field(ge=0, lt=1)] = 0.0
    """Probability that a step in training repeats the last action, whatever the policy chose: runs of actions
    of geometric length, 1 / (1 - repeat) on average. Evaluation plays without."""
    archive: ArchiveConfig | None = None
    """Begin episodes where others got to (Go-Explore); null for none."""

    @property
    def asked(self) -> bool:
        """Does it change anything in a training?"""
        return self.bonus != "none" or self.archive is not None or bool(self.repeat)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if value == GO_EXPLORE:
            return {"archive": {}}
        bonus = value.get("bonus") if isinstance(value, dict) else value
        if isinstance(bonus, str) and did_you_mean(bonus, [GO_EXPLORE]) is not None:
            raise ValueError(f"{bonus!r} is no bonus; for an archive of places write explore={GO_EXPLORE}")
        return {"bonus": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _events_fit(self) -> "ExploreConfig":
        if self.bonus == "rarity" and not self.events:
            raise ValueError("events: name the keys of info whose changes are events, such as [kills]")
        if self.events and self.bonus != "rarity":
            raise ValueError(f"events: the bonus {self.bonus!r} takes none; only `rarity` does")
        return self
