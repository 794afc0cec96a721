"""What is said of a metric."""

from dataclasses import dataclass
from typing import Literal

Better = Literal["up", "down"]


ACTOR_CRITICS = "ppo, a2c, reinforce"
ACTION_VALUES = "pqn, dqn"
WITH_CREDIT = "ppo, a2c, reinforce, pqn"
"""Algorithms that say what each step of a rollout was worth."""


@dataclass(frozen=True)
class Metric:
    """One name that a record may hold; a name that ends in `<…>` stands for all with its prefix."""

    name: str
    meaning: str
    by: str = "all"
    """Who emits it: `all` algorithms, some of them, `evaluation` records, or `both` kinds of record."""
    unit: str = ""
    better: Better | None = None
    low: float | None = None
    """Bounds that hold whatever the settings; `catalog.derived_bounds` knows more of a given run."""
    high: float | None = None
    priority: int = 2
    """1 belongs in every summary, 2 in a full table, 3 is detail."""
    precision: int = 4
    """Significant digits worth showing."""
    condition: str = ""
    """When it is there; empty means always."""
    may_be_nan: bool = False
    """NaN is an answer (nothing varied), not a fault."""


@dataclass(frozen=True)
class Group:
    """Metrics that are read together."""

    title: str
    metrics: tuple[Metric, ...]
    about: str = ""
