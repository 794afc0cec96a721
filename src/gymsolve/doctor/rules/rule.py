"""What a rule is, and what it may know."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gymsolve.doctor.history import History
from gymsolve.errors import BadNumber
from gymsolve.metrics.catalog import Bounds, chart_bounds, derived_bounds, hard_bounds, max_entropy
from gymsolve.metrics.thresholds import find_threshold
from gymsolve.settings.config import TrainConfig

if TYPE_CHECKING:
    from gymsolve.spec import EnvSpec

Severity = Literal["info", "warn", "error"]
Move = Literal["up", "down", "set"]
"""Which way a remedy moves a setting; `set` where it has no more and less."""
_ROUNDING = 1e-6
_DIRECTIONS = {"rises": 1, "grows": 1, "falls": -1}


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
    aim: float | None = None
    """What the remedy should bring its setting to, or multiply it by, if measurements tell."""
    since: int | None = None
    """Environment steps since which it has been so, where that is before it could be told."""


@dataclass(frozen=True)
class ProposedChange:
    """What a rule would make of a setting; `prescribe` decides whether that is a change worth proposing."""

    path: str
    move: Move
    factor: float = 1.0
    """By which to multiply it, a schedule as a whole."""
    value: Any = None
    """What to set it to, or to raise or lower it to; beside a factor, what 0 becomes."""


@dataclass(frozen=True)
class Change:
    """One line of a remedy: a setting, and what to make of it."""

    path: str
    old: Any
    new: Any
    advice: str = ""
    """In words, where the setting's value is not known (logs of others)."""
    move: Move = "set"


@dataclass(frozen=True)
class Effect:
    """What a remedy should do to a metric, so that the next run can confirm or refute it."""

    metric: str | None
    """None where it is whichever metric the alert is about."""
    verb: str
    """`rises`, `falls`, `grows` and `stays` can be checked; other words say what no single number shows."""
    above: float | None = None
    below: float | None = None
    """The bar to reach; without one, any move in the direction of the verb will do."""
    of: str = ""
    """What of the metric moves, where it is not the metric itself; this cannot be checked either."""
    more: str = ""
    """What else should happen, in words."""

    @property
    def bar(self) -> float | None:
        return self.below if self.above is None else self.above

    @property
    def sign(self) -> int:
        """1 up, -1 down, 0 when a number cannot tell."""
        if self.bar is not None:
            return -1 if self.above is None else 1
        return 0 if self.of else _DIRECTIONS.get(self.verb, 0)

    def is_kept(self, value: float, before: float | None) -> bool:
        """Whether the metric went where it should; `before` is its value without the remedy."""
        bar = before if self.bar is None else self.bar
        return bar is not None and self.sign * (value - bar) > 0

    def __str__(self) -> str:
        """`train/approx_kl falls below 0.02`."""
        side = "" if self.bar is None else "below" if self.above is None else "above"
        bar = "" if self.bar is None else f"{self.bar:g}".replace("e-0", "e-")
        return " ".join(filter(None, (self.of, self.metric, self.verb, side, bar, self.more)))


@dataclass(frozen=True)
class Context:
    """What is known of a run besides its numbers."""

    config: TrainConfig | None
    """None for logs of other frameworks."""
    spec: "EnvSpec | None" = None
    budget: int = 0
    """Environment steps; 0 when unknown."""
    threshold: float | None = None
    """Return that counts as solved; None where there is none, or where the share of successes decides."""
    max_entropy: float | None = None
    warm_start: bool = False
    """Training began with the weights of another run."""
    bounds: Bounds = field(default_factory=dict)
    ranges: Bounds = field(default_factory=dict)
    """Between which values charts run."""

    @classmethod
    def of(cls, config: TrainConfig, spec: "EnvSpec | None", *, warm_start: bool = False) -> "Context":
        threshold = config.solved_at if config.solved_by == "return" else None
        if spec is not None and config.solved_by == "return":
            threshold = find_threshold(config, spec)
        return cls(
            config=config,
            spec=spec,
            budget=config.env_budget,
            threshold=threshold,
            max_entropy=None if spec is None else max_entropy(spec),
            warm_start=warm_start,
            bounds=hard_bounds() | derived_bounds(config, spec),
            ranges={} if spec is None else chart_bounds(config, spec),
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

    @property
    def episode_limit(self) -> int | None:
        """The longest that an episode may last, in steps of the agent; None when that is not known.

        The setting counts steps before frames are skipped, so it serves where nothing better is known.
        """
        if self.spec is not None:
            return self.spec.max_episode_steps
        limit: int | None = self.setting("env.max_episode_steps")
        return limit

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
Remedy = Callable[[Context, Evidence], list[ProposedChange]]


def nothing(context: Context, evidence: Evidence) -> list[ProposedChange]:
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
    instead: str | Callable[[Context], str] = ""
    """What to do where no setting is proposed; without it, the environment or the code has to change."""
    effect: Effect | None = None
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
