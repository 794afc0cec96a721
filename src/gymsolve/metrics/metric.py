"""The record that describes a metric, and short forms for rows of tables."""

from dataclasses import dataclass, replace
from typing import Any, Literal

Better = Literal["up", "down"]

ACTOR_CRITICS = "ppo, a2c, reinforce"
EPSILON_GREEDY = "pqn, dqn"
ENTROPIES = "sac, tqc"
CONTINUOUS = "sac, td3, tqc"
"""Algorithms for boxes of actions that learn from critics and a replay buffer."""
REPLAYING = f"dqn, {CONTINUOUS}"
ACTION_VALUES = f"{EPSILON_GREEDY}, {CONTINUOUS}"
WITH_CREDIT = "ppo, a2c, reinforce, pqn"
"""Algorithms that say what each step of a rollout was worth."""


@dataclass(frozen=True)
class Metric:
    """One name that a record may hold; a name that ends in `<…>` stands for all with its prefix."""

    name: str
    meaning: str
    by: str = "all"
    """The algorithms that emit it, `evaluation` for records of evaluations, `both` for both kinds."""
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
    """When records hold it; empty means always."""
    may_be_nan: bool = False
    """NaN is an answer (nothing varied), not a fault."""


@dataclass(frozen=True)
class Group:
    """Metrics that are read together."""

    title: str
    metrics: tuple[Metric, ...]
    about: str = ""


def share(name: str, meaning: str, by: str = "all", **more: Any) -> Metric:
    """A metric between 0 and 1."""
    return Metric(name, meaning, by, unit="share", low=0, high=1, **more)


def with_defaults(*metrics: Metric, by: str, condition: str = "") -> tuple[Metric, ...]:
    """The metrics of a table; `by` and `condition` hold for those that set none of their own."""
    return tuple(
        replace(metric, by=by if metric.by == "all" else metric.by, condition=metric.condition or condition)
        for metric in metrics
    )
