"""A search space: one dimension for each setting, some of which count only under a condition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError
from gymsolve.recipes.search.domains import KINDS, Domain, read_domain
from gymsolve.recipes.yaml_reading import parse_value, parse_yaml, read_text

_WHEN = "when"
_IF = " if "


@dataclass(frozen=True)
class Dimension:
    """A setting that a sweep varies."""

    path: str
    domain: Domain
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Settings that must each have one of these values; the dimension does not count otherwise."""
    reason: str = ""
    """The reason for its range, where it was derived."""
    place: str = "search"
    """The file, option or recipe that it comes from."""

    @property
    def where(self) -> str:
        return f"{self.place}: {self.path}"

    def counts(self, lookup: Any) -> bool:
        """True if its condition holds; `lookup` gives the value of a setting."""
        return all(lookup(path) in allowed for path, allowed in self.when)

    def to_json(self) -> dict[str, Any]:
        when = {path: list(allowed) for path, allowed in self.when}
        return {**self.domain.to_json(), **({_WHEN: when} if when else {})}

    def __str__(self) -> str:
        if not self.when:
            return str(self.domain)
        conditions = [f"{path}={'|'.join(map(str, allowed))}" for path, allowed in self.when]
        return f"{self.domain}{_IF}{' and '.join(conditions)}"


Space = tuple[Dimension, ...]


def read_space(given: Any, place: str) -> Space:
    """The dimensions of a mapping such as `search:` in a recipe, conditions before what depends on them."""
    if not isinstance(given, Mapping) or not given:
        raise ConfigError("should be a mapping of settings to their ranges.", where=place)
    return in_order([_dimension(path, value, place) for path, value in _flat(given, "")])


def read_options(items: Sequence[str]) -> Space:
    """The dimensions of `--search` options: `path=range`, or files; a later one replaces an earlier one."""
    dimensions: dict[str, Dimension] = {}
    for item in items:
        path, equals, text = item.partition("=")
        if equals:
            read = [_dimension(path.strip(), text.strip(), "--search")]
        else:
            data = parse_yaml(read_text(Path(item)), item)
            read = list(read_space(data.get("search", data), item))
        dimensions |= {dimension.path: dimension for dimension in read}
    return in_order(list(dimensions.values()))


def in_order(dimensions: Sequence[Dimension]) -> Space:
    """The dimensions with each after those that its condition names."""
    ordered: list[Dimension] = []
    waiting = list(dimensions)
    while waiting:
        open_paths = {dimension.path for dimension in waiting}
        free = [each for each in waiting if not open_paths & {path for path, _ in each.when} - {each.path}]
        free = [each for each in free if each.path not in {path for path, _ in each.when}]
        if not free:
            first = waiting[0]
            raise ConfigError("its condition depends on itself.", where=first.where)
        ordered += free
        waiting = [each for each in waiting if each not in free]
    return tuple(ordered)


def _flat(given: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    """Dotted paths of nested mappings; a mapping with the name of a kind is a range."""
    found_ranges: list[tuple[str, Any]] = []
    for key, value in given.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and not set(value) & {*KINDS, _WHEN}:
            found_ranges += _flat(value, f"{path}.")
        else:
            found_ranges.append((path, value))
    return found_ranges


def _dimension(path: str, given: Any, place: str) -> Dimension:
    where = f"{place}: {path}"
    if not path or not all(part.strip() for part in path.split(".")):
        raise ConfigError("a range needs the path of a setting.", where=place, hint="Such as algo.gamma.")
    conditions: Any = {}
    if isinstance(given, str) and _IF in given:
        given, _, text = given.partition(_IF)
        conditions = _conditions(text, where)
    elif isinstance(given, Mapping) and _WHEN in given:
        conditions = given[_WHEN]
        given = {key: value for key, value in given.items() if key != _WHEN}
    if not isinstance(conditions, Mapping):
        raise ConfigError("`when` should be a mapping of settings to values.", where=where)
    when = tuple((name, tuple(v) if isinstance(v, list) else (v,)) for name, v in conditions.items())
    return Dimension(path, read_domain(given, where), when, place=place)


def _conditions(text: str, where: str) -> dict[str, Any]:
    """`algo.name=ppo and net.activation=[relu, tanh]`."""
    conditions = {}
    for part in text.split(" and "):
        path, equals, value = part.partition("=")
        if not equals:
            hint = "Write it as: log(1e-4, 1e-2) if algo.name=ppo"
            raise ConfigError(f"cannot read the condition {part.strip()!r}.", where=where, hint=hint)
        conditions[path.strip()] = parse_value(value, part)
    return conditions
