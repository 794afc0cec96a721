"""Which environments have a quicker class here, and whether it may stand in for the one installed.

Such a class repeats what the stock class did when it was written, so gymsolve takes it only while the stock
code is still that code. A fingerprint covers all functions, methods and constants of the stock module, also
those that somebody replaced at run time. Where it differs, the stock class steps.
"""

import hashlib
import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from gymnasium.error import DependencyNotInstalled

from gymsolve.envs.families.classic_control.lean import CLASSICS, Classic

_PLAIN = (int, float, str, list, tuple)


@dataclass(frozen=True)
class _StandIn:
    module: str
    name: str
    fingerprints: frozenset[str]
    """Fingerprints of the stock code that it was compared with."""


_STAND_INS = {
    "gymnasium.envs.box2d.lunar_lander:LunarLander": _StandIn(
        "gymsolve.envs.families.box2d.lander",
        "LeanLander",
        frozenset({"735ead78769ba69737fe759edc85461a5e137e51b51a3fca024d67c8184d4a79"}),
    )
}


_CLASSIC = "gymnasium.envs.classic_control."
_CLASSIC_CODE = frozenset(
    {
        "4923675db2361a94a22598d1c76fdf103d29f080b7e6f47269e1501b1c6cb87f",
        "356569e5a44a6fc956ded8634db65e7c7939ecffd9615fd34d702d7588bbb8a4",
        "a9ad8974ca1be7bf4cf0a40e252276e14abcebf5509f4a896b3c6c88d8b9b7f2",
        "f32b6379c999b6f9b04d9b7066626201d5676f409461649ac81c30dbd59ab8e7",
        "bfcc44022b70154db2ae1dc06df655ba0f49959965bb81030f3c3980d7f367d9",
    }
)
"""Fingerprints of the modules that `classic.c` was compared with."""


@cache
def find_lean(entry_point: str) -> type[Any] | None:
    """The class to construct in place of a registered entry point; None where there is none.

    Looked at once per process: code that is replaced later does not change the answer.
    """
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


def find_classic(entry_point: Any) -> Classic | None:
    """The compiled rules of a registered entry point; None where there are none."""
    if not isinstance(entry_point, str) or not entry_point.startswith(_CLASSIC):
        return None
    return _find_classic(entry_point)


@cache
def _find_classic(entry_point: str) -> Classic | None:
    known = CLASSICS.get(entry_point.removeprefix(_CLASSIC))
    if known is None:
        return None
    stock = importlib.import_module(entry_point.partition(":")[0])
    return known if fingerprint(stock) in _CLASSIC_CODE else None


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
    found = []
    for name, value in sorted(vars(kind).items()):
        if isinstance(value, FunctionType):
            # By its code object: a decorated function would show the source of the one it hides.
            found.append((name, inspect.getsource(value.__code__)))
        elif isinstance(value, _PLAIN) and not name.startswith("__"):
            found.append((name, repr(value)))
    return found
