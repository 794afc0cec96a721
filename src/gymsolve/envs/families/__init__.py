"""Families of environments: what is known about each of them stands in one module, and nowhere else.

A new family is a module here with a `FAMILY`, and a line in the table. `GENERIC` serves environments of no
family. A class of somebody else's that can exist only once in a process says so in its metadata:
`metadata = {"exclusive": True}`.
"""

import importlib
import re
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, runtime_checkable

from gymnasium.error import DependencyNotInstalled

from gymsolve.envs.contract_faults import FAULTS, import_fault
from gymsolve.envs.families.family import Clone, Extra, Family

__all__ = [
    "GENERIC",
    "Clone",
    "Extra",
    "Family",
    "bare_name",
    "families",
    "find_creator",
    "find_family",
    "is_exclusive",
]

_MODULES = (
    "atari.family",
    "bandit.family",
    "box2d.family",
    "classic_control.family",
    "minatar",
    "minigrid.family",
    "mujoco",
    "retro.family",
    "toy_text",
    "vizdoom.family",
)
"""The table of families: names of modules, in the order in which they are asked."""

GENERIC = Family("generic", owns=lambda env_id: True)
"""The family of unknown environments; it relies on Gymnasium's interface alone."""


@cache
def families() -> tuple[Family, ...]:
    """All families with a module of their own."""
    return tuple(importlib.import_module(f"gymsolve.envs.families.{name}").FAMILY for name in _MODULES)


def find_family(env_id: str) -> Family:
    """The family of an id, as `env.id` has it."""
    return next((family for family in families() if family.owns(env_id)), GENERIC)


def bare_name(env_id: str) -> str:
    """The id without module, namespace and version."""
    return re.sub(r"-v\d+$", "", env_id.rpartition(":")[2].rpartition("/")[2])


@runtime_checkable
class _Described(Protocol):
    metadata: Any


def is_exclusive(env_id: str, registered: Any) -> bool:
    """Can a process hold only one of these? The family knows, or the registered class (or function)."""
    if find_family(env_id).exclusive:
        return True
    creator = find_creator(registered.entry_point)
    # Where `metadata` is a property, only an instance could tell.
    told = creator.metadata if isinstance(creator, _Described) else None
    return isinstance(told, Mapping) and bool(told.get("exclusive"))


def find_creator(entry_point: Any) -> Any:
    """The class or function behind an entry point; None where its module cannot be imported."""
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice to authors of packages
            found: Any = sys.modules.get(module) or importlib.import_module(module)
    except (ImportError, DependencyNotInstalled):
        return None  # an optional package; building the environment says which
    except FAULTS as error:
        raise import_fault(module, entry_point, error) from error
    return getattr(found, name, None)  # a module may make its names on demand
