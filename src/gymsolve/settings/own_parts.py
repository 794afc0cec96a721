"""Parts of the user's own, as settings name them: `my_module:Class`, and options for its constructor."""

import re
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
        if isinstance(value, dict) and len(value) == 1 and ":" in str(next(iter(value))):
            name, options = next(iter(value.items()))
            return {"name": name, "options": options or {}}
        return value
