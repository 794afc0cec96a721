"""Every metric by name, what its bounds are in a given run, and which names nobody declared."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gymsolve.errors import UndeclaredMetricError, did_you_mean
from gymsolve.metrics.metric import Group, Metric
from gymsolve.metrics.tables import GROUPS

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig
    from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

__all__ = [
    "CATALOG",
    "GROUPS",
    "Bounds",
    "Group",
    "Metric",
    "by_priority",
    "chart_bounds",
    "derived_bounds",
    "find_metric",
    "hard_bounds",
    "max_entropy",
    "require_declared",
    "undeclared",
]

Bounds = dict[str, tuple[float, float]]
_CLIPPED = 10.0
"""Running statistics scale observations, and clip what is larger."""
_DRAWABLE = 1e4
"""Spaces beyond it are declared so large that a chart of them would show a flat line."""

CATALOG: dict[str, Metric] = {metric.name: metric for group in GROUPS for metric in group.metrics}
"""By name; the names of patterns end in `<…>`."""
_PATTERNS = {name.partition("<")[0]: metric for name, metric in CATALOG.items() if name.endswith(">")}
_ORDER = {name: index for index, name in enumerate(CATALOG)}


def find_metric(name: str) -> Metric | None:
    """What is known of a name; None when it is not declared."""
    exact = CATALOG.get(name)
    if exact is not None:
        return exact
    return next((metric for prefix, metric in _PATTERNS.items() if name.startswith(prefix)), None)


def undeclared(names: Iterable[str]) -> list[str]:
    """Those of the names (or of a record's keys) that the catalogue does not know."""
    return [name for name in names if name not in CATALOG and find_metric(name) is None]


def require_declared(record: Iterable[str]) -> None:
    """Refuse a record with a name that no table, chart or rule could explain."""
    unknown = undeclared(record)
    if unknown:
        raise UndeclaredMetricError(
            f"the metric '{unknown[0]}' is not in the catalogue.",
            where="metrics",
            hint=did_you_mean(unknown[0], CATALOG) or "Declare it in gymsolve/metrics/tables.",
        )


def by_priority(names: Iterable[str]) -> list[str]:
    """Names in the order in which people should see them; undeclared ones come last."""

    def key(name: str) -> tuple[int, int, str]:
        metric = find_metric(name)
        return (9, 0, name) if metric is None else (metric.priority, _ORDER[metric.name], name)

    return sorted(names, key=key)


def hard_bounds() -> Bounds:
    """Bounds that hold in every run, by exact name."""
    return {
        name: (-math.inf if one.low is None else one.low, math.inf if one.high is None else one.high)
        for name, one in CATALOG.items()
        if one.low is not None or one.high is not None
    }


def derived_bounds(config: "TrainConfig", spec: "EnvSpec | None") -> Bounds:
    """Bounds that follow from the settings and the spaces of one run, with room for rounding."""
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


def chart_bounds(config: "TrainConfig", spec: "EnvSpec") -> Bounds:
    """Between which values a chart of a metric should run, exactly: what the spaces of a run allow.

    For entropies, and for the means of actions and of what the network sees; trackers take it from here too.
    """
    found: Bounds = {}
    highest = max_entropy(spec)
    if highest is not None:
        found = {"train/entropy": (0.0, highest), "policy/entropy_relative": (0.0, 1.0)}
    ends = _action_ends(spec.action)
    if ends is not None:
        found["action/mean"] = ends
    seen = [
        _seen_ends(entry, config.net.normalize_obs) for entry in spec.obs.values() if entry.kind != "discrete"
    ]
    known = [one for one in seen if one is not None and max(map(abs, one)) <= _DRAWABLE]
    if known and len(known) == len(seen):
        found["obs/mean"] = (min(low for low, _ in known), max(high for _, high in known))
    return found


def _seen_ends(entry: "ObsSpec", normalize: str) -> tuple[float, float] | None:
    """The smallest and the largest number that the network can see of an entry; None without an end."""
    if entry.kind == "image":
        return 0.0, 1.0
    if normalize == "running":
        return -_CLIPPED, _CLIPPED
    if not entry.low:
        return None
    return (-1.0, 1.0) if normalize == "bounds" else (min(entry.low), max(entry.high))


def max_entropy(spec: "EnvSpec") -> float | None:
    """Entropy of a uniform policy over what is ever legal, in nats; None for boxes, which have no largest."""
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


def _action_ends(action: "ActionSpec") -> tuple[float, float] | None:
    """The smallest and the largest number in any action; None for a box without bounds."""
    if action.kind == "box":
        return (min(action.low), max(action.high)) if action.bounded else None
    starts = action.start or (0,) * len(action.nvec)
    largest = max(start + choices - 1 for start, choices in zip(starts, action.nvec, strict=True))
    return float(min(starts)), float(largest)


def _action_bounds(action: "ActionSpec") -> Bounds:
    ends = _action_ends(action)
    if ends is None:
        return {}
    low, high = ends
    room = 1e-5 * max(1.0, high - low)
    return {"action/mean": (low - room, high + room), "action/std": (0.0, (high - low) / 2 + room)}
