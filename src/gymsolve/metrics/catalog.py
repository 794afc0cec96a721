"""All metrics by name, their bounds in a given run, and the check for undeclared names."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gymsolve.errors import UndeclaredMetricError, did_you_mean
from gymsolve.metrics.metric import Metric as Metric
from gymsolve.metrics.tables import GROUPS as GROUPS
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig

Bounds = dict[str, tuple[float, float]]
_CLIPPED = 10.0
"""The largest observation that running statistics let through."""
_DRAWABLE = 1e4
"""Larger spaces give no bounds of charts: a curve between them would be a flat line."""

CATALOG: dict[str, Metric] = {metric.name: metric for group in GROUPS for metric in group.metrics}
"""Metrics by name; the names of patterns end in `<…>`."""
_PATTERNS = {name.partition("<")[0]: metric for name, metric in CATALOG.items() if name.endswith(">")}
_ORDER = {name: index for index, name in enumerate(CATALOG)}


def find_metric(name: str) -> Metric | None:
    """The metric that declares a name; None when no metric does."""
    if name in CATALOG:
        return CATALOG[name]
    return next((metric for prefix, metric in _PATTERNS.items() if name.startswith(prefix)), None)


def undeclared(names: Iterable[str]) -> list[str]:
    """The names (or keys of a record) that the catalogue does not declare."""
    return [name for name in names if name not in CATALOG and find_metric(name) is None]


def require_declared(record: Iterable[str]) -> None:
    """Refuse a record with a name that no table, chart or rule could explain."""
    unknown = undeclared(record)
    if unknown:
        hint = did_you_mean(unknown[0], CATALOG) or "Declare it in gymsolve/metrics/tables."
        message = f"the metric '{unknown[0]}' is not in the catalogue."
        raise UndeclaredMetricError(message, where="metrics", hint=hint)


def by_priority(names: Iterable[str]) -> list[str]:
    """Names in the order in which they are shown; undeclared ones come last."""

    def key(name: str) -> tuple[int, int, str]:
        metric = find_metric(name)
        return (9, 0, name) if metric is None else (metric.priority, _ORDER[metric.name], name)

    return sorted(names, key=key)


def hard_bounds() -> Bounds:
    """Bounds that hold in every run, by exact name."""
    return {
        name: (
            -math.inf if metric.low is None else metric.low,
            math.inf if metric.high is None else metric.high,
        )
        for name, metric in CATALOG.items()
        if metric.low is not None or metric.high is not None
    }


def derived_bounds(config: "TrainConfig", spec: EnvSpec | None) -> Bounds:
    """Bounds that follow from the settings and spaces of a run, with room for rounding."""
    bounds: Bounds = {}
    if config.env.max_episode_steps is not None and spec is None:
        bounds["rollout/ep_len_mean"] = (0.0, float(config.env.max_episode_steps))
    if spec is None:
        return bounds
    limit = spec.max_episode_steps
    if limit is not None:
        alike = all(len(wrapper.roles) == 3 for wrapper in config.env.wrappers)
        names = ("rollout/ep_len_mean", "eval/mean_ep_length") if alike else ("rollout/ep_len_mean",)
        bounds |= dict.fromkeys(names, (0.0, float(limit)))
    highest = max_entropy(spec)
    if highest is not None:
        bounds["train/entropy"] = (-1e-4, highest * 1.001 + 1e-4)
    bounds |= _action_bounds(spec.action)
    if config.algo.scales_rewards:
        # The scaler clips to ±10 (`rollout.moments.RewardScaler`), so no spread can be larger.
        bounds["rollout/reward_std"] = (0.0, 10.0)
    return bounds


def chart_bounds(config: "TrainConfig", spec: EnvSpec) -> Bounds:
    """Exact bounds for charts, from the spaces of a run; trackers use them too.

    They are bounds of entropies, and of the means of actions and of the network's observations.
    """
    bounds: Bounds = {}
    highest = max_entropy(spec)
    if highest is not None:
        bounds = {"train/entropy": (0.0, highest), "policy/entropy_relative": (0.0, 1.0)}
    ends = _action_ends(spec.action)
    if ends is not None:
        bounds["action/mean"] = ends
    entries = [entry for entry in spec.obs.values() if entry.kind != "discrete"]
    seen = [_seen_ends(entry, config.net.normalize_obs) for entry in entries]
    drawable = [ends for ends in seen if ends is not None and max(map(abs, ends)) <= _DRAWABLE]
    if drawable and len(drawable) == len(seen):
        bounds["obs/mean"] = (min(low for low, _ in drawable), max(high for _, high in drawable))
    return bounds


def _seen_ends(entry: ObsSpec, normalize: str) -> tuple[float, float] | None:
    """The smallest and largest number of an entry that the network can see; None without bounds."""
    if entry.kind == "image":
        return 0.0, 1.0
    if normalize == "running":
        return -_CLIPPED, _CLIPPED
    if not entry.low:
        return None
    return (-1.0, 1.0) if normalize == "bounds" else (min(entry.low), max(entry.high))


def max_entropy(spec: EnvSpec) -> float | None:
    """The entropy of a uniform policy over all legal choices, in nats; None for boxes."""
    action = spec.action
    if not action.nvec:
        return None
    if not spec.legal:
        return sum(math.log(choices) for choices in action.nvec)
    total, begin = 0.0, 0
    for choices in action.nvec:
        total += math.log(max(1, sum(spec.legal[begin : begin + choices])))
        begin += choices
    return total


def _action_ends(action: ActionSpec) -> tuple[float, float] | None:
    """The smallest and largest number in any action; None for a box without bounds."""
    if action.kind == "box":
        return (min(action.low), max(action.high)) if action.bounded else None
    starts = action.start or (0,) * len(action.nvec)
    largest = max(start + choices - 1 for start, choices in zip(starts, action.nvec, strict=True))
    return float(min(starts)), float(largest)


def _action_bounds(action: ActionSpec) -> Bounds:
    ends = _action_ends(action)
    if ends is None:
        return {}
    low, high = ends
    room = 1e-5 * max(1.0, high - low)
    return {"action/mean": (low - room, high + room), "action/std": (0.0, (high - low) / 2 + room)}
