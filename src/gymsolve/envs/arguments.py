"""Checks `env.kwargs`, and finds the one to blame where an environment cannot be built with them.

A text such as "no" counts as yes in Python, and a probability of 25 makes an action stick for ever: what a
package would take without a look is refused by the type that its constructor declares, or by what its family
knows. Whatever else a package refuses is raised somewhere in its code; the argument without which nothing is
raised is the one.
"""

import inspect
import reprlib
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from gymsolve.errors import ConfigError


class Argument(NamedTuple):
    """The values that an argument may have, by a test and in words."""

    fits: Callable[[Any], bool]
    wanted: str


def is_whole(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _is_chance(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value <= 1


FLAG = Argument(lambda value: isinstance(value, bool), "true or false")
CHANCE = Argument(_is_chance, "a probability from 0 to 1")
SHARE = Argument(_is_chance, "a share from 0 to 1")
WHOLE_OR_NONE = Argument(lambda value: value is None or is_whole(value), "a whole number")
SAME_GAME = Argument(lambda value: False, "left out, since the id says which game it is")


def check_arguments(options: dict[str, Any], known: Mapping[str, Argument]) -> dict[str, Any]:
    """The options as they are; a `ConfigError` at the first that does not fit what is known of it."""
    for name, (fits, wanted) in known.items():
        if name in options and not fits(options[name]):
            raise ConfigError(f"should be {wanted}; got {options[name]!r}.", where=f"env.kwargs.{name}")
    return options


def check_types(options: Mapping[str, Any], creator: Any, *, known: bool) -> None:
    """Refuse what is no number, or neither true nor false, where the constructor declares that it takes one.

    Python's liberties stay: a whole number for another one, 1 for true, None for anything. Hints of code that
    is not `known` may be rough: only texts are refused there. In code that is, a text is also refused where
    an undeclared default is a number or a truth value.
    """
    for name, (kind, declared) in _kinds(creator).items():
        value = options.get(name)
        judged = (known or declared) if isinstance(value, str) else (known and declared)
        if value is None or not judged:
            continue
        plain = not isinstance(value, str | list | tuple | dict)
        if kind is bool and not (plain and (isinstance(value, bool) or value in (0, 1))):
            raise _refusal(name, FLAG.wanted, value)
        if kind is not bool and (not plain or isinstance(value, bool)):
            raise _refusal(name, "a number", value)


def _refusal(name: str, wanted: str, value: Any) -> ConfigError:
    return ConfigError(f"should be {wanted}; got {value!r}.", where=f"env.kwargs.{name}")


def _kinds(creator: Any) -> dict[str, tuple[type[Any], bool]]:
    """`bool`, `int` or `float` for each parameter that takes nothing else; is that declared?"""
    try:
        parameters = inspect.signature(creator).parameters
        of_class = isinstance(creator, type)
        hints = get_type_hints(creator.__init__ if of_class else creator)
    except (AttributeError, NameError, TypeError, ValueError):  # code that Python cannot look into
        return {}
    hinted = {}
    for name, parameter in parameters.items():
        kinds = _members(hints[name]) if name in hints else {type(parameter.default)}
        if kinds == {bool} or (kinds and kinds <= {int, float}):
            hinted[name] = (max(kinds, key=lambda kind: kind is float), name in hints)
    return hinted


def _members(hint: Any) -> set[Any]:
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return set(members) - {NoneType}


class Blame(NamedTuple):
    """Which argument it is, as a setting; its value as it was given; and the fix."""

    where: str
    shown: str
    fix: str


def blame(
    given: Mapping[str, Any], works_without: Callable[[str], bool], registered: Any, creator: Any
) -> Blame | None:
    """The one argument to blame; None where there is no such one, or several are."""
    guilty = [name for name in given if works_without(name)]
    if len(guilty) != 1:
        return None
    name = guilty[0]
    default = registered.kwargs.get(name, _declared_default(creator, name))
    instead = "" if default is None else f" for {show(default)}"
    return Blame(f"env.kwargs.{name}", show(given[name]), f"Give it another value, or leave it out{instead}.")


def _declared_default(creator: Any, name: str) -> Any:
    try:
        parameter = inspect.signature(creator).parameters[name]
    except (KeyError, TypeError, ValueError):  # handed on, or code without a signature
        return None
    return None if parameter.default is parameter.empty else parameter.default


def show(value: Any) -> str:
    """A value in one short line."""
    return reprlib.repr(value).replace("\n", " ")
