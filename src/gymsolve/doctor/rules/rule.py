"""The rule, its evidence and remedy, and the context in which it is checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from gymsolve.doctor.history import History
from gymsolve.errors import BadNumber
from gymsolve.metrics.catalog import Bounds, chart_bounds, derived_bounds, hard_bounds, max_entropy
from gymsolve.metrics.thresholds import find_threshold
from gymsolve.metrics.training_returns import training_unit
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import EnvSpec

Severity = Literal["info", "warn", "error"]
Move = Literal["up", "down", "set"]
"""The direction in which a remedy moves a setting; `set` for values without an order."""
_ROUNDING = 1e-6
_DIRECTIONS = {"rises": 1, "grows": 1, "falls": -1}


@dataclass(frozen=True)
class Evidence:
    """A number that crossed a threshold."""

    metric: str
    value: float
    threshold: float
    sign: str
    """The relation of the value to the threshold: `>`, `<` or `≠`."""
    note: str = ""
    meaning: str = ""
    """The meaning of a value that is not the metric's own: a ratio, a correlation, the median of a window."""
    bad: BadNumber | None = None
    """Environment, dimension and step of a number that is not finite, where they are known."""
    aim: float | None = None
    """The value or factor that measurements suggest for the remedy's setting."""
    since: int | None = None
    """Environment steps of the first case, where the rule recognises it only later."""


@dataclass(frozen=True)
class ProposedChange:
    """A change of a setting that a rule asks for; `prescribe` decides whether it is proposed."""

    path: str
    move: Move
    factor: float = 1.0
    """Multiplies the setting, or all values of a schedule."""
    value: Any = None
    """The value to set, or to raise or lower the setting to; beside a factor, the value that replaces 0."""


@dataclass(frozen=True)
class Change:
    """One line of a remedy: a setting with its old and new value."""

    path: str
    old: Any
    new: Any
    advice: str = ""
    """The change in words, where the setting's value is not known (logs of other tools)."""
    move: Move = "set"


@dataclass(frozen=True)
class Effect:
    """The promised effect of a remedy on a metric; the next run can confirm or refute it."""

    metric: str | None
    """None for the metric that the alert is about."""
    verb: str
    """`rises`, `falls`, `grows` and `stays` can be checked; other words say what no single number shows."""
    above: float | None = None
    below: float | None = None
    """The value to reach; without one, any move in the direction of the verb counts."""
    of: str = ""
    """The property of the metric that moves, where it is not the metric itself; it cannot be checked."""
    more: str = ""
    """Further effects, in words."""

    @property
    def bar(self) -> float | None:
        return self.below if self.above is None else self.above

    @property
    def sign(self) -> int:
        """1 up, -1 down, 0 where a number cannot show it."""
        if self.bar is not None:
            return -1 if self.above is None else 1
        return 0 if self.of else _DIRECTIONS.get(self.verb, 0)

    def is_kept(self, value: float, before: float | None) -> bool:
        """Did the metric move as promised? `before` is its value without the remedy."""
        bar = before if self.bar is None else self.bar
        return bar is not None and self.sign * (value - bar) > 0

    def __str__(self) -> str:
        """`train/approx_kl falls below 0.02`."""
        side = "" if self.bar is None else "below" if self.above is None else "above"
        bar = "" if self.bar is None else f"{self.bar:g}".replace("e-0", "e-")
        return " ".join(filter(None, (self.of, self.metric, self.verb, side, bar, self.more)))


@dataclass(frozen=True)
class Context:
    """Facts about a run besides its records."""

    config: TrainConfig | None
    """None for logs of other tools."""
    spec: EnvSpec | None = None
    budget: int = 0
    """Environment steps; 0 when unknown."""
    threshold: float | None = None
    """The return that counts as solved; None without one, or where the share of successes decides."""
    max_entropy: float | None = None
    warm_start: bool = False
    """Training began with the weights of another run."""
    bounds: Bounds = field(default_factory=dict)
    ranges: Bounds = field(default_factory=dict)
    """Smallest and largest values of charts."""

    @classmethod
    def of(cls, config: TrainConfig, spec: EnvSpec | None, *, warm_start: bool = False) -> "Context":
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

    @cached_property
    def compares_returns(self) -> bool:
        """Are training's returns the quantity that evaluations and the threshold are about?"""
        return self.config is None or not training_unit(self.config.env.model_dump(mode="json"))

    @property
    def training_threshold(self) -> float | None:
        """The threshold for returns of training episodes; None where these are parts of games."""
        return self.threshold if self.compares_returns else None

    @property
    def sees_pictures(self) -> bool:
        return self.spec is not None and any(entry.kind == "image" for entry in self.spec.obs.values())

    @property
    def values_actions(self) -> bool:
        """The network predicts values of actions (DQN, PQN)."""
        return self.config is not None and self.config.algo.values_actions

    @property
    def values_states(self) -> bool:
        """It learns values of states beside a policy; SAC and DQN learn values of actions."""
        return self.config is None or self.config.algo.values_states

    @property
    def replays(self) -> bool:
        """It learns from a replay buffer, in updates of a few gradient steps (DQN, SAC)."""
        return self.setting("algo.buffer_size") is not None

    @property
    def episode_limit(self) -> int | None:
        """The largest number of the agent's steps in an episode; None when unknown.

        The setting counts steps before frames are skipped, so it serves only where there is no spec.
        """
        if self.spec is not None:
            return self.spec.max_episode_steps
        limit: int | None = self.setting("env.max_episode_steps")
        return limit

    def progress(self, history: History) -> float:
        """The share of the budget used so far."""
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
"""Returns evidence if the newest record is a case; an alert that is active (the flag) stays so for less."""
Remedy = Callable[[Context, Evidence], list[ProposedChange]]


def nothing(context: Context, evidence: Evidence) -> list[ProposedChange]:
    """No setting helps: the code or the environment has to change."""
    return []


def always(_: Context) -> bool:
    return True


# Consequences that several rules share.
NOTHING_MOVES = ("return_flat", "policy_frozen", "entropy_stuck", "clip_unused", "churn_dead")
ODD_ENTROPY = ("entropy_stuck", "entropy_falling", "entropy_collapse")
POOR_VALUES = ("ev_negative", "ev_zero")


@dataclass(frozen=True)
class Rule:
    """The condition under which metrics are a finding, its likely cause and its remedy."""

    id: str
    signal: int
    """Its number in the list of signals that the project's diagnostics follow; 0 is for bounds."""
    title: str
    needs: tuple[str, ...]
    """Metrics without which it cannot be checked; a record with the first of them triggers the check."""
    check: Check
    cause: str
    severity: Severity = "warn"
    remedy: Remedy = nothing
    instead: str | Callable[[Context], str] = ""
    """Advice where no setting is proposed; without it, the environment or the code has to change."""
    effect: Effect | None = None
    explains: tuple[str, ...] = ()
    """Rules that fire as a consequence of this one."""
    persistence: int = 5
    """Cases in a row before it fires."""
    patience: int = 5
    """Records in a row without a case before it is cleared, so that an alert does not flap."""
    applies: Callable[[Context], bool] = always
    """False where the rule makes no sense, such as a rule on choices where actions are a box."""
    warmup: float = 0.05
    """The rule is not checked before this share of the budget."""
    standing: bool = False
    """Its fault is there from the start, so it may explain alerts that fired earlier."""

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
