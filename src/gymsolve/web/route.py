"""Requests, replies and routes: a handler takes an `Ask` and returns a `Reply`.

A handler is a plain function. It runs in a thread, calls a verb of `service/` or `view/`, and returns JSON,
bytes or a file. A `GymsolveError` that it raises becomes an answer with the sentence and the fix.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError
from gymsolve.service.agent_limits import Home

_LONGEST = 10_000
"""Characters of a text in a body."""


@dataclass(frozen=True)
class Ask:
    """A request that the guard has let through."""

    home: Home
    path: dict[str, str]
    """Parts of the address, by their names in the route."""
    query: dict[str, str]
    body: dict[str, Any]
    """JSON of a POST, else empty."""

    def lines(self, name: str) -> list[str]:
        """Lines of a query: names of metrics, which may have commas."""
        return [line for line in self.query.get(name, "").splitlines() if line]

    def whole(self, name: str, usual: int | None = None) -> int:
        """A whole number of the query; `usual` where it is not given."""
        text = self.query.get(name, "")
        if not text and usual is not None:
            return usual
        if not (text.isascii() and text.isdecimal() and len(text) < 12):
            raise UsageError(f"{text[:40]!r} is no whole number.", where=name)
        return int(text)

    def number(self, name: str) -> float:
        """A finite number of the query."""
        text = self.query.get(name, "")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UsageError(f"{text[:40]!r} is no number.", where=name)
        return value

    def body_text(self, name: str) -> str:
        """A text of the body; empty where it is not given."""
        text = self.body.get(name) or ""
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise UsageError("this is no text, or too long a one.", where=name)
        return text

    def body_whole(self, name: str, least: int = 0) -> int | None:
        """A whole number of the body; None where it is not given."""
        value = self.body.get(name)
        if value is not None and (type(value) is not int or not least <= value < 1 << 62):
            raise UsageError(f"this should be a whole number from {least} on.", where=name)
        return value


@dataclass(frozen=True)
class Raw:
    """Bytes as they are."""

    content: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class File:
    """A file, in the ranges that the browser asks for; its handler has checked that it may be read."""

    path: Path
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)


Reply = dict[str, Any] | Raw | File


@dataclass(frozen=True)
class Route:
    """One address below `/api`."""

    method: str
    """GET reads; POST acts, and only for pages of this server."""
    path: str
    handler: str
    """`module:function` among the modules of `web`; the module is imported at the first request."""

    def call(self, ask: Ask) -> Reply:
        return self.load()(ask)

    def load(self) -> Callable[[Ask], Reply]:
        """The handler; imports its module."""
        module, _, function = self.handler.partition(":")
        handler: Callable[[Ask], Reply] = vars(import_module(f"gymsolve.web.{module}"))[function]
        return handler
