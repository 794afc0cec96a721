"""Parts of the user's own, as settings name them: `my_module:Class`, and options for its constructor."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, model_validator

from gymsolve.settings.kinds import Model, Options, split_names

_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def _named_with_module(name: str) -> str:
    if not _PATH.fullmatch(name):
        raise ValueError(f"should name a class with its module, as my_module:Class, not {name!r}")
    if name.startswith("__main__:"):
        raise ValueError(f"no other process can import {name!r}; put the class into a module of its own")
    return name


OwnName = Annotated[str, AfterValidator(_named_with_module)]


def split_parts(value: Any) -> Any:
    """One part, or several as `my_module:One,my_module:Two`, as a list."""
    return [value] if isinstance(value, dict) else split_names(value)


def name_with_options(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """`my_module:Class: {options}` with its keys; None for what is not written so."""
    if len(value) != 1 or ":" not in str(next(iter(value))):
        return None
    name, options = next(iter(value.items()))
    return {"name": name, "options": options or {}}


class PartConfig(Model):
    """A class of the user's own: `my_module:Class`, or with options for its constructor."""

    name: OwnName
    """The class, as `my_module:Class`."""
    options: Options = {}  # noqa: RUF012 - pydantic copies it
    """Passed to its constructor by name."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        return (name_with_options(value) or value) if isinstance(value, dict) else value
