"""Settings of exploration: the section `explore`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from gymsolve.errors import did_you_mean
from gymsolve.settings.kinds import Model, Names, Positive, Rate, Share, not_bool
from gymsolve.settings.schedules import Schedule

GO_EXPLORE = "go_explore"
"""`explore: go_explore` is short for an archive with its defaults."""

Bonuses = Literal["none", "counts", "episodic", "rnd", "noveld", "icm", "forward", "rarity"]
COUNTING = ("counts", "episodic", "noveld")
"""Bonuses that count visits to cells."""
LEARNING = ("rnd", "noveld", "icm", "forward")
"""Bonuses that are the error of a network."""


class ArchiveConfig(Model):
    """Go-Explore: episodes of training begin at places of an archive; its best trajectories are learned."""

    cells: Literal["auto", "frames", "exact", "bins", "hash", "state"] = "auto"
    """Two places are the same cell by pictures shrunk to a few grey levels (`frames`), equal observations,
    `explore.bins`, `explore.bits` of a random projection, or the environment's own full state. `auto` takes
    frames for pictures, then the full state where the family gives it."""
    width: Annotated[Positive, Field(le=256)] = 11
    """For `frames`: columns of the shrunken picture."""
    height: Annotated[Positive, Field(le=256)] = 8
    """For `frames`: rows of it."""
    levels: Annotated[Positive, Field(ge=2, le=256)] = 8
    """For `frames`: grey levels."""
    adapt: bool = True
    """For `frames`: whenever the steps have doubled, choose width, height and levels again, so that recent
    frames make an eighth as many cells; false keeps those given here."""
    capacity: Annotated[Positive, Field(le=10_000_000)] = 50_000
    """Cells of each task, at most; a full archive still takes better trajectories to the cells it has."""
    true_starts: Annotated[float, BeforeValidator(not_bool), Field(ge=0, le=1)] = 0.3
    """Share of episodes that begin at a reset. It grows to 1 as these succeed: they reach the goal that the
    environment reports, or the return that counts as solved. Each task has its own share."""
    recall: Annotated[Positive, Field(le=100_000)] = 512
    """With `net.memory`: before an episode starts at a place, this many of the last steps that led there are
    replayed through the policy, so that it remembers them; shorter trajectories are replayed as a whole."""
    leave_after: Positive = 100
    """Steps after its start from the archive at which an episode is abandoned, when the rollout ends."""
    learn_from: Literal["self_imitation", "rapid", "nothing"] = "self_imitation"
    """How the best finished trajectories are learned. `self_imitation` takes those with a reward above 0,
    where their returns exceed the value function; `rapid` clones those that paid and explored most."""
    learn_every: Positive = 1
    """Rollouts between two such lessons."""
    learn_epochs: Positive = 4
    """Passes of a lesson over the best trajectories, or over 2048 steps drawn from them, as many of each
    task."""
    trajectories: Annotated[Positive, Field(le=100_000)] = 50
    """Best finished trajectories, of each task, that are kept to learn from."""
    rollouts: Literal[True, False, "found"] = True
    """Learn from rollouts too. False learns from the archive alone; `found` does so until every task that is
    played has a trajectory that paid, since rollouts without rewards only reduce exploration."""

    @model_validator(mode="after")
    def _learns_somehow(self) -> "ArchiveConfig":
        if self.rollouts is not True and self.learn_from == "nothing":
            raise ValueError("rollouts: nothing else would be learned from; leave it true, or set learn_from")
        return self


class ExploreConfig(Model):
    """How the run explores: a bonus beside the rewards, or an archive of places to start from.

    `explore: rnd` is short for `{bonus: rnd}`, `explore: go_explore` for an archive.
    """

    bonus: Bonuses = "none"
    """The bonus pays for rarely seen cells (`counts`), cells not seen in this episode (`episodic`), errors of
    a network (`rnd`, `noveld`, `icm`, `forward`), or rare events in `info` (`rarity`)."""
    coef: Rate = Schedule.constant(0.5)
    """Weight of the bonus's advantages beside the task's, whose weight is 1; 0 learns as without a bonus."""
    gamma: Share = Schedule.constant(0.99)
    """Discount of the bonus; the task has `algo.gamma`."""
    across_ends: bool = True
    """Bonuses of the next episode count too, so that ending an episode costs nothing; false cuts at ends."""
    scale: bool = True
    """Divide the bonus by the running spread of its discounted sum."""
    cells: Literal["auto", "exact", "bins", "hash", "state"] = "auto"
    """Two observations are the same to `counts`, `episodic` and `noveld` if they are equal, lie in the same
    bins, have the same random bits, or have the same full state of the environment (MiniGrid, ALE)."""
    bins: Annotated[Positive, Field(le=10_000)] = 50
    """For `cells: bins`: parts into which each number's range is cut."""
    bits: Annotated[Positive, Field(le=62)] = 24
    """For `cells: hash`: signs of random projections; more tells more apart."""
    entries: Names = ()
    """Entries of the observation that the bonus uses; empty means all."""
    events: Names = ()
    """For `rarity`: keys of `info` whose rise is an event; `-name` counts its fall."""
    hidden: tuple[Annotated[Positive, Field(le=16_384)], ...] = (64, 64)
    """Sizes of the fully connected layers of the bonus's own networks, its value function included."""
    features: Annotated[Positive, Field(le=16_384)] = 32
    """Numbers that such a network predicts."""
    learning_rate: Rate = Schedule.constant(3e-4)
    """Size of gradient steps of the networks whose error is the bonus; too high, and nothing stays new. The
    value function of the bonus learns at `algo.learning_rate`."""
    num_epochs: Positive = 1
    """Passes of the bonus's own networks over each rollout."""
    num_minibatches: Positive = 4
    """Gradient steps per pass, at most: minibatches have at least 128 rows."""
    share: Annotated[float, BeforeValidator(not_bool), Field(gt=0, le=1)] = 1.0
    """Share of the steps that the predictor learns from; less keeps things new for longer."""
    repeat: Annotated[float, BeforeValidator(not_bool), Field(ge=0, lt=1)] = 0.0
    """Probability that a step in training repeats the last action, whatever the policy chose: repetitions
    have a geometric length of 1 / (1 - repeat) on average. Evaluation has no repetitions."""
    archive: ArchiveConfig | None = None
    """Begin episodes at places that earlier ones reached (Go-Explore); null for none."""

    @property
    def asked(self) -> bool:
        """True if these settings change anything in a training."""
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
