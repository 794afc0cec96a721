"""Which settings make a run fastest here: candidates, what each would give, and which to take.

This is pure arithmetic on measured costs (`tuning_costs.py` has the clock), so the same costs always give the
same answer. It varies only what does not change the task of learning: a rollout keeps its number of steps, so
more environments take fewer steps each.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from gymsolve.settings.config import TrainConfig

_SHORTEST = 16
"""Steps of one environment in a rollout below which advantages lean too much on the critic."""
_FEWEST = 8
"""Environments below which rollouts vary too little."""
_DOUBLINGS = 3
"""Up to eight times more or fewer environments than the recipe's are candidates."""
_WORTH = 1.05
"""A change must be faster by this factor: less is noise."""
_OTHER_DYNAMICS = frozenset({"envpool"})
"""Backends that are another implementation of the environment: measured, used only if settings say so."""


class Layout(NamedTuple):
    """The shape of a rollout."""

    num_envs: int
    num_steps: int


class Compute(NamedTuple):
    """Engine, device and threads."""

    engine: str
    device: str
    threads: int

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{self.engine}, {threads}" if self.device == "cpu" else f"{self.engine} on {self.device}"


@dataclass
class Costs:
    """Seconds, as measured."""

    env: dict[tuple[str, int], float] = field(default_factory=dict)
    """One vector step, by backend and number of environments."""
    acting: dict[tuple[Compute, int], float] = field(default_factory=dict)
    """Actions for that many environments."""
    update: dict[Compute, float] = field(default_factory=dict)
    """Learning from one rollout, whatever its shape."""
    obstacles: dict[str, str] = field(default_factory=dict)
    """Why a backend or device was not measured, a sentence each."""


@dataclass(frozen=True)
class Prediction:
    """One combination and where its time would go, in microseconds per environment step."""

    layout: Layout
    backend: str
    compute: Compute
    env_us: float
    acting_us: float
    update_us: float

    @property
    def steps_per_second(self) -> float:
        return 1e6 / (self.env_us + self.acting_us + self.update_us)

    @property
    def combination(self) -> tuple[Layout, str, Compute]:
        return self.layout, self.backend, self.compute

    def to_json(self) -> dict[str, Any]:
        return {
            **self.layout._asdict(),
            "backend": self.backend,
            **self.compute._asdict(),
            **{name: round(value, 3) for name, value in asdict(self).items() if name.endswith("_us")},
            "steps_per_second": round(self.steps_per_second, 1),
        }


@dataclass(frozen=True)
class Choice:
    """The combination to take, the current one, and all candidates (fastest first)."""

    best: Prediction
    current: Prediction
    candidates: tuple[Prediction, ...]
    reasons: tuple[str, ...]

    @property
    def gain(self) -> float:
        return self.best.steps_per_second / self.current.steps_per_second

    @property
    def changes(self) -> dict[str, Any]:
        """Settings in which the best differs from the current one, by dotted path."""
        best, current = self.best, self.current
        pairs = {
            "env.num_envs": (current.layout.num_envs, best.layout.num_envs),
            "algo.num_steps": (current.layout.num_steps, best.layout.num_steps),
            "env.backend": (current.backend, best.backend),
            "engine": (current.compute.engine, best.compute.engine),
            "device": (current.compute.device, best.compute.device),
            "threads": (current.compute.threads, best.compute.threads),
        }
        return {path: new for path, (old, new) in pairs.items() if old != new}


def layouts(config: TrainConfig, least: int = 1) -> list[Layout]:
    """Shapes with as many steps as the recipe's rollout; only its own where learning needs that one.

    None has fewer than `least` steps per environment.
    """
    own = Layout(config.env.num_envs, config.algo.num_steps)
    if config.algo.whole_episodes:
        return [own]  # it learns from whole episodes, which must fit
    batch = own.num_envs * own.num_steps
    shortest, fewest = min(own.num_steps, max(least, _SHORTEST)), min(own.num_envs, _FEWEST)
    layouts = {own}
    for exponent in range(-_DOUBLINGS, _DOUBLINGS + 1):
        count = int(own.num_envs * 2.0**exponent)
        steps = batch // max(1, count)
        if count >= fewest and steps >= shortest and count * steps == batch:
            layouts.add(Layout(count, steps))
    return sorted(layouts)


def predict(costs: Costs, shapes: Sequence[Layout]) -> list[Prediction]:
    """Every combination whose parts were measured, fastest first; equals in a fixed order."""
    predictions = [
        Prediction(
            layout=shape,
            backend=backend,
            compute=compute,
            env_us=1e6 * costs.env[backend, shape.num_envs] / shape.num_envs,
            acting_us=1e6 * costs.acting[compute, shape.num_envs] / shape.num_envs,
            update_us=1e6 * costs.update[compute] / (shape.num_envs * shape.num_steps),
        )
        for shape in shapes
        for backend in dict.fromkeys(name for name, _ in costs.env)
        for compute in costs.update
        if (backend, shape.num_envs) in costs.env and (compute, shape.num_envs) in costs.acting
    ]
    return sorted(predictions, key=lambda prediction: (-prediction.steps_per_second, *prediction.combination))


def choose(costs: Costs, shapes: Sequence[Layout], current: tuple[Layout, str, Compute]) -> Choice:
    """The fastest combination, unless it is hardly faster than the current one."""
    predictions = predict(costs, shapes)
    (mine,) = [prediction for prediction in predictions if prediction.combination == current]
    others = _OTHER_DYNAMICS - {mine.backend}
    allowed = [prediction for prediction in predictions if prediction.backend not in others]
    best = _simplest(allowed, mine)
    reasons = (*_reasons(predictions, best, mine), *costs.obstacles.values())
    return Choice(best, mine, tuple(predictions), reasons)


def _simplest(predictions: Sequence[Prediction], mine: Prediction) -> Prediction:
    """The fastest combination, without those of its changes that bring no more than noise."""
    best = predictions[0]
    if best.steps_per_second < _WORTH * mine.steps_per_second:
        return mine
    for part in ("compute", "backend", "layout"):
        wanted = {name: getattr(best, name) for name in ("compute", "backend", "layout")}
        wanted[part] = getattr(mine, part)
        for other in predictions:
            same = {name: getattr(other, name) for name in wanted} == wanted
            if same and other.steps_per_second * _WORTH >= best.steps_per_second:
                best = other
                break
    return best


def _reasons(predictions: Sequence[Prediction], best: Prediction, mine: Prediction) -> list[str]:
    reasons = [_about_layout(best, mine)]
    others = [other for other in predictions if other.layout == best.layout and other != best]
    for other in others:
        if other.compute == best.compute and other.backend != best.backend:
            remark = "; it is another implementation of the environment, so only env.backend can choose it"
            remark = remark if other.backend in _OTHER_DYNAMICS else ""
            reasons.append(
                f"Backend {other.backend} steps {other.layout.num_envs} environments in "
                f"{_micro(other.env_us * other.layout.num_envs)}, {best.backend} in "
                f"{_micro(best.env_us * best.layout.num_envs)}{remark}."
            )
    computes = [other for other in others if other.backend == best.backend and other.compute != best.compute]
    return reasons + [_about_compute(other, best) for other in computes]


def _about_layout(best: Prediction, mine: Prediction) -> str:
    steps = best.layout.num_envs * best.layout.num_steps
    if best.layout == mine.layout:
        return f"{mine.layout.num_envs} environments stay: no other number is faster by more than noise."
    return (
        f"{best.layout.num_envs} environments instead of {mine.layout.num_envs}: stepping and acting take "
        f"{_micro(best.env_us + best.acting_us)} per environment step instead of "
        f"{_micro(mine.env_us + mine.acting_us)}. With {best.layout.num_steps} steps each, a rollout keeps "
        f"its {steps} steps."
    )


def _about_compute(other: Prediction, best: Prediction) -> str:
    mine, theirs = best.acting_us + best.update_us, other.acting_us + other.update_us
    times = f"{max(mine, theirs) / min(mine, theirs):.1f}"
    factor = "as fast" if times == "1.0" else f"{times} times {'slower' if theirs > mine else 'faster'}"
    if other.compute.device != best.compute.device:
        return f"Your {other.compute.device.upper()} device would be {factor} for this network."
    if other.compute.engine != best.compute.engine:
        return f"The {other.compute.engine} engine would be {factor} for this network."
    who = "One thread" if other.compute.threads == 1 else f"{other.compute.threads} threads"
    what = f"{'as' if times == '1.0' else 'than'} {best.compute.threads}"
    return f"{who} would be {factor} {what} for this network."


def _micro(microseconds: float) -> str:
    return f"{microseconds:.3g} µs" if microseconds < 1000 else f"{microseconds / 1000:.3g} ms"
