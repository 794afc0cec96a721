"""The values that one setting may take in a sweep, and how people write them.

    log(1e-5, 1e-2)   range(0.1, 0.4)   int(1, 20)   logint(50, 5000)   pow2(32, 1024)   choice(relu, tanh)
    1-log(1e-4, 0.03)    one minus a number that is drawn on a logarithmic scale: a discount

As a mapping: `{log: [1e-5, 1e-2]}`, `{one_minus_log: [1e-4, 0.03]}`, `{choice: [[64], [64, 64]]}`.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.recipes.yaml_reading import parse_value
from gymsolve.settings.schedules import parse_amount
from gymsolve.text import setting

Kind = Literal["range", "log", "one_minus_log", "int", "logint", "pow2", "choice"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_WHOLE = ("int", "logint", "pow2")
_DIGITS = 4
"""Significant digits of a value that was drawn: people must be able to type it."""
_CALL = re.compile(r"\s*(1\s*-\s*)?(\w+)\s*\((.*)\)\s*", re.DOTALL)
_EXAMPLE = "Write it as log(1e-5, 1e-2), range(0.1, 0.4), int(1, 20), pow2(32, 1024) or choice(relu, tanh)."


@dataclass(frozen=True)
class Domain:
    """A range between two numbers, or a list of choices."""

    kind: Kind
    low: float = 0.0
    high: float = 0.0
    """Of `one_minus_log`, bounds of one minus the value."""
    choices: tuple[Any, ...] = ()

    @property
    def extremes(self) -> tuple[Any, ...]:
        """Values of which all must be possible: both ends, or every choice."""
        return self.choices if self.kind == "choice" else (self.value_of(self.low), self.value_of(self.high))

    def value_of(self, drawn: Any) -> Any:
        """The value of the setting for a number that was drawn between the bounds, or for a choice."""
        if self.kind == "choice":
            return drawn
        if self.kind in _WHOLE:
            return round(drawn)
        rounded = float(f"{drawn:.{_DIGITS}g}")
        inside = min(max(rounded, self.low), self.high)
        return round(1.0 - inside, 12) if self.kind == "one_minus_log" else inside

    def drawn_for(self, value: Any) -> Any:
        """The number or choice that gives this value; None where the domain lacks it."""
        if self.kind == "choice":
            return next((choice for choice in self.choices if choice == value), None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        drawn = round(1.0 - value, 12) if self.kind == "one_minus_log" else value
        whole = self.kind not in _WHOLE or drawn == int(drawn)
        if self.kind == "pow2" and (drawn < 1 or not math.log2(drawn).is_integer()):
            return None
        return drawn if whole and self.low <= drawn <= self.high else None

    def nearest(self, value: Any) -> Any:
        """The number or choice of the domain that is nearest to a value."""
        drawn = self.drawn_for(value)
        if drawn is not None:
            return drawn
        if self.kind == "choice" or isinstance(value, bool) or not isinstance(value, int | float):
            return self.choices[0] if self.kind == "choice" else self.low
        wanted = 1.0 - value if self.kind == "one_minus_log" else value
        inside = min(max(wanted, self.low), self.high)
        if self.kind == "pow2":
            return 2 ** round(math.log2(inside))
        return round(inside) if self.kind in _WHOLE else inside

    def lower(self, value: Any) -> list[Any]:
        """The smaller whole values of the domain, the largest first."""
        if self.kind == "choice":
            numbers = [choice for choice in self.choices if isinstance(choice, int) and choice < value]
            return sorted(numbers, reverse=True)
        if self.kind == "pow2":
            steps = range(round(math.log2(self.high)), round(math.log2(self.low)) - 1, -1)
            return [2**step for step in steps if 2**step < value]
        return list(range(int(value) - 1, int(self.low) - 1, -1)) if self.kind in _WHOLE else []

    def __str__(self) -> str:
        if self.kind == "choice":
            return f"choice({', '.join(map(setting, self.choices))})"
        low, high = (
            f"{int(bound)}" if self.kind in _WHOLE else f"{bound:g}" for bound in (self.low, self.high)
        )
        name = "1-log" if self.kind == "one_minus_log" else self.kind
        return f"{name}({low}, {high})"

    def to_json(self) -> dict[str, Any]:
        """The mapping that `read_domain` reads."""
        return {self.kind: list(self.choices) if self.kind == "choice" else [self.low, self.high]}


def read_domain(given: Any, where: str) -> Domain:
    """A domain as a text or a mapping; a ConfigError with the place for anything else."""
    if isinstance(given, str):
        return _from_text(given, where)
    if isinstance(given, list):
        return _domain("choice", given, where)
    if not isinstance(given, dict) or len(given) != 1:
        raise ConfigError(f"{_shown(given)} is no range of values.", where=where, hint=_EXAMPLE)
    ((kind, values),) = given.items()
    return _domain(str(kind), values, where)


def _from_text(text: str, where: str) -> Domain:
    match = _CALL.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text!r} is no range of values.", where=where, hint=_EXAMPLE)
    minus, kind, inside = match.groups()
    if minus and kind not in ("log", "range"):
        raise ConfigError(f"1-{kind} has no meaning.", where=where, hint="Write it as 1-log(1e-4, 0.03).")
    kind = "one_minus_log" if minus and kind == "log" else kind
    values = parse_value(f"[{inside}]", text)
    if minus and kind == "range":
        raise ConfigError("1-range is a range.", where=where, hint="Write it as range(0.9, 0.99).")
    return _domain(kind, values, where)


def _domain(kind: str, values: Any, where: str) -> Domain:
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"Known: {', '.join(KINDS)}."
        raise ConfigError(f"there is no range of the kind {kind!r}.", where=where, hint=hint)
    if not isinstance(values, list):
        raise ConfigError(f"{kind} needs a list, not {_shown(values)}.", where=where, hint=_EXAMPLE)
    if kind == "choice":
        distinct = [value for index, value in enumerate(values) if value not in values[:index]]
        if len(distinct) < 2:
            raise ConfigError("a choice needs at least two different values.", where=where)
        return Domain("choice", choices=tuple(values if len(values) == len(distinct) else distinct))
    if len(values) != 2:
        raise ConfigError(f"{kind} needs two bounds, not {len(values)}.", where=where, hint=_EXAMPLE)
    low, high = (_bound(value, where) for value in values)
    _require_range(kind, low, high, where)
    return Domain(kind, low, high)


def _bound(value: Any, where: str) -> float:
    try:
        number = parse_amount(value)
    except ValueError as error:
        raise ConfigError(f"{error}.", where=where) from error
    if not math.isfinite(number):
        raise ConfigError("a bound should be finite.", where=where)
    return number


def _require_range(kind: str, low: float, high: float, where: str) -> None:
    if low >= high:
        raise ConfigError(
            f"the range from {low:g} to {high:g} is empty.", where=where, hint="Give the lower bound first."
        )
    if kind in ("log", "one_minus_log", "logint", "pow2") and low <= 0:
        raise ConfigError(f"a logarithmic scale begins above 0, not at {low:g}.", where=where)
    if kind in _WHOLE and (low != int(low) or high != int(high)):
        raise ConfigError(f"the bounds of {kind} should be whole numbers.", where=where)
    if kind == "pow2" and not (math.log2(low).is_integer() and math.log2(high).is_integer()):
        nearest = ", ".join(str(2 ** round(math.log2(bound))) for bound in (low, high))
        raise ConfigError(
            "the bounds of pow2 should be powers of two.", where=where, hint=f"Nearest: {nearest}."
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
