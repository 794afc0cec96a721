"""Finds out whether a quicker class may stand in for the installed one.

Such a class repeats what the stock class did when it was written, so gymsolve takes it only while the stock
code is still that code. A fingerprint covers all functions, methods and constants of the stock module, also
those that somebody replaced at run time. Where it differs, the stock class steps. Families say which classes
they have (`Family.stand_ins`).
"""

import hashlib
import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from gymnasium.error import DependencyNotInstalled

_PLAIN = (int, float, str, list, tuple)


@dataclass(frozen=True)
class StandIn:
    """A quicker class with the results of a stock class."""

    path: str
    """`module:Class`."""
    fingerprints: frozenset[str]
    """Fingerprints of the stock code that it was compared with."""


@cache
def find_lean(entry_point: str, stand_in: StandIn) -> type[Any] | None:
    """The class to construct in place of a registered entry point; None while its code is not as known.

    Looked at once per process: code that is replaced later does not change the answer.
    """
    module, _, name = stand_in.path.partition(":")
    try:
        stock = importlib.import_module(entry_point.partition(":")[0])
        if fingerprint(stock) not in stand_in.fingerprints:
            return None
        lean: type[Any] = vars(importlib.import_module(module))[name]
    except (DependencyNotInstalled, ImportError):
        return None  # another version of what it needs, or none at all; then the stock class says so
    return lean


def fingerprint(module: ModuleType) -> str | None:
    """A hash of the functions, classes and constants of a module; None without source to read.

    Comments count, docstrings of classes and Python's version do not.
    """
    whole = hashlib.sha256()
    try:
        for name, value in sorted(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                for member, code in _members(value):
                    whole.update(f"{name}.{member}\n{code}\n".encode())
            elif isinstance(value, FunctionType) and value.__module__ == module.__name__:
                whole.update(f"{name}\n{inspect.getsource(value.__code__)}\n".encode())
            elif name.isupper() and isinstance(value, _PLAIN):
                whole.update(f"{name} = {value!r}\n".encode())
    except OSError:
        return None
    return whole.hexdigest()


def _members(kind: type[Any]) -> list[tuple[str, str]]:
    """Methods and constants of a class, as text."""
    members = []
    for name, value in sorted(vars(kind).items()):
        if isinstance(value, FunctionType):
            # By its code object: a decorated function would show the source of the one it hides.
            members.append((name, inspect.getsource(value.__code__)))
        elif isinstance(value, _PLAIN) and not name.startswith("__"):
            members.append((name, repr(value)))
    return members
