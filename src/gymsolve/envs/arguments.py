"""What `env.kwargs` may be, for those arguments that a package takes without a look or refuses in riddles.

A text such as "no" counts as yes in Python, and a probability of 25 makes an action stick for ever.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gymsolve.errors import ConfigError

__all__ = ["CHANCE", "FLAG", "SAME_GAME", "WHOLE_OR_NONE", "Argument", "check_arguments", "is_whole"]


class Argument(NamedTuple):
    """What an argument may be, by a test and in words."""

    fits: Callable[[Any], bool]
    wanted: str


def is_whole(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _is_chance(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value <= 1


FLAG = Argument(lambda value: isinstance(value, bool), "true or false")
CHANCE = Argument(_is_chance, "a probability from 0 to 1")
WHOLE_OR_NONE = Argument(lambda value: value is None or is_whole(value), "a whole number")
SAME_GAME = Argument(lambda value: False, "left out, since the id says which game it is")


def check_arguments(options: dict[str, Any], known: Mapping[str, Argument]) -> dict[str, Any]:
    """The options as they are; a `ConfigError` at the first that does not fit what is known of it."""
    for name, (fits, wanted) in known.items():
        if name in options and not fits(options[name]):
            raise ConfigError(f"should be {wanted}; got {options[name]!r}.", where=f"env.kwargs.{name}")
    return options
