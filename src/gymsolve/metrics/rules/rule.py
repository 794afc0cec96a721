"""What a rule is, and what it may know."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gymsolve.config import TrainConfig
from gymsolve.errors import BadNumber
from gymsolve.metrics.catalog import Bounds, derived_bounds, hard_bounds, max_entropy
from gymsolve.metrics.history import History
from gymsolve.schedules import Schedule

if TYPE_CHECKING:
    from gymsolve.spec import EnvSpec

__all__ = [
    "Change",
    "Check",
    "Context",
    "Evidence",
    "Remedy",
    "Rule",
    "Severity",
    "above",
    "all_of",
    "below",
    "nothing",
    "scale",
    "set_to",
]

Severity = Literal["info", "warn", "error"]
_ROUNDING = 1e-6
_WHOLE = ("algo.num_epochs",)
"""Schedules of whole numbers."""


@dataclass(frozen=True)
class Evidence:
    """One number that crossed a line."""

    metric: str
    value: float
    threshold: float
    sign: str
    """How the value stands to the threshold: `>`, `<` or `≠`."""
    note: str = ""
    meaning: str = ""
    """What the value is, where it is not the metric's own: a ratio, a correlation, the median of a window."""
    bad: BadNumber | None = None
    """Environment, dimension and step of a number that is not finite, where they are known."""


@dataclass(frozen=True)
class Change:
    """One line of a remedy: a setting, and what to make of it."""

    path: str
    old: Any
    new: Any
    advice: str = ""
    """In words, where the setting's value is not known (logs of others)."""


@dataclass(frozen=True)
class Context:
    """What is known of a run besides its numbers."""

    config: TrainConfig | None
    """None for logs of other frameworks."""
    spec: "EnvSpec | None" = None
    budget: int = 0
    """Environment steps; 0 when unknown."""
    threshold: float | None = None
    """Return that counts as solved."""
    max_entropy: float | None = None
    warm_start: bool = False
    """Training began with the weights of another run."""
    bounds: Bounds = field(default_factory=dict)

    @classmethod
    def of(cls, config: TrainConfig, spec: "EnvSpec | None", *, warm_start: bool = False) -> "Context":
        threshold = config.solved_at
        if threshold is None and spec is not None:
            threshold = spec.reward_threshold
        return cls(
            config=config,
            spec=spec,
            budget=config.steps,
            threshold=threshold,
            max_entropy=None if spec is None else max_entropy(spec),
            warm_start=warm_start,
            bounds=hard_bounds() | derived_bounds(config, spec),
        )

    @cached_property
    def limits(self) -> Bounds:
        """The bounds with room for rounding."""
        return {
            name: (low - _ROUNDING * max(1.0, abs(low)), high + _ROUNDING * max(1.0, abs(high)))
            for name, (low, high) in self.bounds.items()
        }

    @property
    def sees_pictures(self) -> bool:
        return self.spec is not None and any(entry.kind == "image" for entry in self.spec.obs.values())

    def progress(self, history: History) -> float:
        """Share of the budget used so far."""
        return history.env_steps / self.budget if self.budget else 1.0

    def setting(self, path: str) -> Any:
        """The value of a setting such as `algo.gamma`; None when the run has none of that name."""
        node: Any = self.config
        for key in path.split("."):
            fields = {} if node is None else type(node).model_fields
            if key not in fields:
                return None
            node = vars(node)[key]
        return node


Check = Callable[[History, Context, bool], Evidence | None]
"""Evidence when the newest record is a case; the flag tells that the alert is active: less is enough."""
Remedy = Callable[[Context, Evidence], list[Change]]


def nothing(context: Context, evidence: Evidence) -> list[Change]:
    """No setting helps: the code or the environment has to change."""
    return []


def always(_: Context) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """When a number is a finding, and what to do about it."""

    id: str
    signal: int
    """Its number in the list of signals that the project's diagnostics follow; 0 is the bounds' own."""
    severity: Severity
    title: str
    needs: tuple[str, ...]
    """Metrics without which it cannot be checked. It is looked at whenever the first one is recorded."""
    check: Check
    cause: str
    remedy: Remedy = nothing
    effect: str = ""
    """What the remedy should do to which metric, so that the next run can confirm or refute it."""
    explains: tuple[str, ...] = ()
    """Rules that fire as a consequence of this one."""
    persistence: int = 5
    """Cases in a row before it fires."""
    patience: int = 5
    """Records in a row without a case before it is cleared: a rule that fires at once must not flap."""
    applies: Callable[[Context], bool] = always
    """False where the question makes no sense, such as choices of an action that is a box."""
    warmup: float = 0.05
    """Share of the budget before which it is not looked at."""
    standing: bool = False
    """What it finds has been so since the start, however late it shows: it may explain what came before."""

    @property
    def metric(self) -> str:
        return self.needs[0]


def above(metric: str, limit: float, release: float | None = None) -> Check:
    """Fires while a metric is above a limit; once active, until it is back under `release`."""

    def check(history: History, context: Context, active: bool) -> Evidence | None:
        value, bar = history.series[metric].last, limit if release is None or not active else release
        return Evidence(metric, value, limit, ">") if value > bar else None

    return check


def below(metric: str, limit: float, release: float | None = None) -> Check:
    """Fires while a metric is below a limit; once active, until it is back over `release`."""

    def check(history: History, context: Context, active: bool) -> Evidence | None:
        value, bar = history.series[metric].last, limit if release is None or not active else release
        return Evidence(metric, value, limit, "<") if value < bar else None

    return check


def scale(path: str, by: float | Callable[[Evidence], float], *, at_least: float = 0.0) -> Remedy:
    """Multiply a setting, a schedule as a whole; 0 becomes `at_least`."""

    def remedy(context: Context, evidence: Evidence) -> list[Change]:
        factor = by(evidence) if callable(by) else by
        old = context.setting(path)
        if context.config is None:
            verb = "raise" if factor > 1 else "lower"
            return [Change(path, None, None, f"{verb} it by a factor of {_round(max(factor, 1 / factor))}")]
        if old is None:
            return []
        before, after = _plain(old), _scaled(old, factor, at_least, whole=path in _WHOLE)
        return [Change(path, before, after)] if before != after else []

    return remedy


def set_to(path: str, new: Any) -> Remedy:
    """Give a setting a value, unless it has it."""

    def remedy(context: Context, evidence: Evidence) -> list[Change]:
        old = _plain(context.setting(path))
        if context.config is None:
            return [Change(path, None, new, f"set it to {new}")]
        known = path.rpartition(".")[2] in _fields(context, path)
        return [Change(path, old, new)] if known and old != new else []

    return remedy


def all_of(*remedies: Remedy) -> Remedy:
    """Several changes, in the order in which to try them."""
    return lambda context, evidence: [one for remedy in remedies for one in remedy(context, evidence)]


def _round(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def _fields(context: Context, path: str) -> dict[str, Any]:
    section = path.rpartition(".")[0]
    node = context.setting(section) if section else context.config
    return {} if node is None else type(node).model_fields


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, Schedule) else value


def _scaled(value: Any, factor: float, at_least: float, *, whole: bool = False) -> Any:
    plain = _plain(value)
    if isinstance(plain, dict):
        out = dict(plain)
        for key in ("start", "end", "floor"):
            if key in out:
                out[key] = _scaled(out[key], factor, 0.0, whole=whole)
        if "points" in out:
            out["points"] = [[at, _scaled(one, factor, 0.0, whole=whole)] for at, one in out["points"]]
        return out
    scaled = float(f"{max(plain * factor, at_least):.3g}")
    return max(1, round(scaled)) if whole or isinstance(plain, int) else scaled
