"""Amounts of steps as people write them, and hyperparameters that change over a run.

A `Schedule` is a pure function of how many steps have been taken, so a resumed run
continues it without any state of its own.
"""

import itertools
import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "b": 1_000_000_000}
_AMOUNT = re.compile(r"([+-]?[0-9][0-9_]*\.?[0-9]*(?:e[+-]?[0-9]+)?)\s*([kmgb%]?)", re.IGNORECASE)


class Progress(NamedTuple):
    """Steps taken and budget of a run, both in the unit of the budget (`budget_in`)."""

    taken: int
    total: int

    @property
    def fraction(self) -> float:
        return min(1.0, self.taken / self.total) if self.total else 1.0


def parse_amount(value: object) -> float:
    """`200k`, `1e6`, `1_000`, `2M` → a number; `10%` → 0.1. Raises ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("should be a number such as 200000, 200k, 1e6 or a share such as 10%")
    if isinstance(value, int | float):
        return float(value)
    match = _AMOUNT.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"cannot read {value!r} as a number: write 0.01, 200000, 200k, 1e6 or 10%")
    number, unit = float(match[1]), match[2].lower()
    return number / 100 if unit == "%" else number * _UNITS[unit]


_MOST_STEPS = 10**15
"""A billion steps per second would take eleven days."""


def _whole_steps(value: object, info: ValidationInfo) -> int:
    amount = parse_amount(value)
    if 0 < amount < 1 or _is_share(value):
        total = (info.context or {}).get("steps")
        if total is None:
            raise ValueError("a share of the budget needs `steps` to be a number of steps")
        amount = max(1.0, round(amount * total))
    if not math.isfinite(amount) or amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number of steps")
    if amount > _MOST_STEPS:
        raise ValueError(f"{value} is more than a run can take, which is {_MOST_STEPS:.0e} steps")
    return int(amount)


def _is_share(value: object) -> bool:
    return isinstance(value, str) and value.strip().endswith("%")


Steps = Annotated[int, BeforeValidator(_whole_steps)]
"""Environment steps: an integer, `200k`, `1e6`, or a share of the budget (`5%`, `0.05`)."""


def _position(value: object) -> float:
    amount = parse_amount(value)
    if not (math.isfinite(amount) and amount >= 0):
        raise ValueError(f"{value!r} is not a point in a run")
    if _is_share(value) and amount > 1:  # would otherwise be taken for a number of steps
        raise ValueError(f"a share of the budget is at most 100%, not {value}")
    return amount


Position = Annotated[float, BeforeValidator(_position)]
"""A point in a run: at most 1 means a share of the budget, more means steps in the budget's unit."""

Shape = Literal["linear", "cosine", "exponential", "step"]


class Schedule(BaseModel):
    """A number, or how it changes over the run.

    Written as a number, as `1e-3 -> 0`, `cosine 1e-3 -> 1e-5`, or as a mapping: `{start, end, shape,
    begin, until, warmup, floor}` or `{points: [[0, 1e-3], [50%, 1e-4]], shape, floor}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: float | None = None
    end: float | None = None
    points: tuple[tuple[Position, float], ...] | None = None
    shape: Shape = "linear"
    begin: Position = 0.0
    until: Position = 1.0
    warmup: Position = 0.0
    floor: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, str):
            return _read_arrow(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"start": float(value)}
        if not isinstance(value, dict | Schedule):
            raise ValueError("should be a number, 'a -> b', or a mapping with start and end")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.start is None) == (self.points is None):
            raise ValueError("a schedule needs either `start` or `points`")
        if self.points is not None:
            if self.end is not None:
                raise ValueError("`end` has no meaning beside `points`: make it the last point")
            if not self.points or [p for p, _ in self.points] != sorted(p for p, _ in self.points):
                raise ValueError("`points` must be a non-empty list in rising order of position")
        self._check_span()
        if any(not math.isfinite(value) for value in self.values()):
            raise ValueError("values of a schedule must be finite")
        if self.shape == "exponential" and any(value <= 0 for value in self.values()):
            raise ValueError("an exponential schedule needs values above 0")
        return self

    def _check_span(self) -> None:
        if self.end is None and (self.begin, self.until) != (0.0, 1.0):
            raise ValueError("`begin` and `until` say when the value goes from `start` to `end`: give both")
        same_unit = (self.begin <= 1) == (self.until <= 1)
        if same_unit and self.begin > self.until:
            raise ValueError("`begin` must not come after `until`")

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.is_constant:
            return self.start
        fields = type(self).model_fields
        return {k: v for k, v in handler(self).items() if v != fields[k].default}

    @property
    def is_constant(self) -> bool:
        return self == Schedule.constant(self.start) if self.start is not None else False

    @classmethod
    def constant(cls, value: float) -> "Schedule":
        return cls.model_construct(start=value)

    def values(self) -> list[float]:
        """The values the schedule is built from; it leaves their range by warm-up and floor only."""
        given = [self.start, self.end, self.floor, *(v for _, v in self.points or ())]
        return [value for value in given if value is not None]

    def at(self, progress: Progress) -> float:
        """The value in force after `progress.taken` steps."""
        here = float(progress.taken)
        points = self.points
        if points is None:
            assert self.start is not None
            if self.end is None and not self.warmup and self.floor is None:
                return self.start
            end = self.start if self.end is None else self.end
            points = ((self.begin, self.start), (self.until, end))
        steps = [(_to_steps(position, progress.total), value) for position, value in points]
        value = _interpolate(steps, here, self.shape)
        warmup = _to_steps(self.warmup, progress.total)
        if here < warmup:
            value *= here / warmup
        return value if self.floor is None else max(value, self.floor)


def within(low: float, high: float = math.inf) -> AfterValidator:
    """Every value of the schedule must lie in [low, high]."""

    def check(schedule: Schedule) -> Schedule:
        bad = [value for value in schedule.values() if not low <= value <= high]
        if bad:
            bounds = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
            raise ValueError(f"should be {bounds}, not {bad[0]:g}")
        return schedule

    return AfterValidator(check)


def _read_arrow(text: str) -> dict[str, Any]:
    match = re.fullmatch(r"\s*(?:(\w+)\s+)?(\S+?)\s*->\s*(\S+)\s*", text)
    if match is None:
        return {"start": parse_amount(text)}
    shape, start, end = match.groups()
    read = {"start": parse_amount(start), "end": parse_amount(end)}
    return read | {"shape": shape} if shape else read


def _to_steps(position: float, total: int) -> float:
    return position * total if position <= 1 else position


def _interpolate(points: list[tuple[float, float]], here: float, shape: Shape) -> float:
    if here <= points[0][0]:
        return points[0][1]
    for (left, a), (right, b) in itertools.pairwise(points):
        if here < right:
            return _BLEND[shape](a, b, (here - left) / (right - left))
    return points[-1][1]


_BLEND: dict[str, Callable[[float, float, float], float]] = {
    "linear": lambda a, b, x: a + (b - a) * x,
    "cosine": lambda a, b, x: b + (a - b) * 0.5 * (1 + math.cos(math.pi * x)),
    "exponential": lambda a, b, x: math.exp(math.log(a) + (math.log(b) - math.log(a)) * x),
    "step": lambda a, b, x: a,
}
