"""What a handler of the server gets and gives.

A handler is a plain function. It runs in a thread, calls a verb of `service/`, and gives JSON, bytes or a
file. A `GymsolveError` that it raises becomes an answer with the sentence and the fix.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymsolve.service.agent_limits import Home


@dataclass(frozen=True)
class Ask:
    """A request that the guard has let through."""

    home: Home
    path: dict[str, str]
    """Parts of the address, by their names in the route."""
    query: dict[str, str]
    body: dict[str, Any]
    """JSON of a POST, else empty."""


@dataclass(frozen=True)
class Raw:
    """Bytes as they are."""

    content: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class File:
    """A file, in the ranges that the browser asks for. Whoever names it has checked that it may be read."""

    path: Path
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)


Reply = dict[str, Any] | Raw | File


@dataclass(frozen=True)
class Route:
    """One address below `/api`."""

    method: str
    """GET reads; POST acts, and never answers a page from elsewhere."""
    path: str
    call: Callable[[Ask], Reply]
