"""Which environments have a quicker class here, and whether it may stand in for the one installed.

Such a class repeats what the stock class did when it was written. So it is taken only where the stock code
is still that code: a fingerprint covers all methods and constants of its module, also those that somebody
exchanged at run time. Whatever differs is stepped by the stock class.
"""

import hashlib
import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from gymnasium.error import DependencyNotInstalled

__all__ = ["find_lean", "fingerprint"]


@dataclass(frozen=True)
class _StandIn:
    module: str
    name: str
    fingerprints: frozenset[str]
    """Of the stock code that it was compared with."""


_STAND_INS = {
    "gymnasium.envs.box2d.lunar_lander:LunarLander": _StandIn(
        "gymsolve.envs.lean.lander",
        "LeanLander",
        frozenset({"5b8cb52e58f32eafbc40fe4158670308fabe29af8dd1ae0592fafaa67d00203b"}),
    )
}


@cache
def find_lean(entry_point: str) -> type[Any] | None:
    """The class to construct in place of a registered entry point; None where there is none."""
    stand_in = _STAND_INS.get(entry_point)
    if stand_in is None:
        return None
    try:
        stock = importlib.import_module(entry_point.partition(":")[0])
        if fingerprint(stock) not in stand_in.fingerprints:
            return None
        found: type[Any] = vars(importlib.import_module(stand_in.module))[stand_in.name]
    except (DependencyNotInstalled, ImportError):
        return None  # another Box2D, or none at all; then the stock class says so
    return found


def fingerprint(module: ModuleType) -> str | None:
    """Of the code of a module's classes and of its constants; None when there is no source to read.

    Comments count, docstrings of classes and Python's version do not.
    """
    whole = hashlib.sha256()
    try:
        for name, value in sorted(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                for method, code in _methods(value):
                    whole.update(f"{name}.{method}\n{code}\n".encode())
            elif name.isupper() and isinstance(value, int | float | list | tuple):
                whole.update(f"{name} = {value!r}\n".encode())
    except OSError:
        return None
    return whole.hexdigest()


def _methods(kind: type[Any]) -> list[tuple[str, str]]:
    # By its code object: a decorated function would show the source of the one it hides.
    return [
        (name, inspect.getsource(value.__code__))
        for name, value in sorted(vars(kind).items())
        if isinstance(value, FunctionType)
    ]
