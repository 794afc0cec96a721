"""Families of environments: each has one record, in one module or folder here, and nothing elsewhere.

A new family of ours is a module with a `FAMILY` and a line in the table; other packages bring theirs along
(`installed.py`). `GENERIC` serves environments of no family. A class of somebody else's that can exist only
once in a process says so in its metadata: `metadata = {"exclusive": True}`.
"""

import importlib
import re
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, runtime_checkable

from gymnasium.error import DependencyNotInstalled

from gymsolve.crash_sites import FAULTS
from gymsolve.envs.families.family import Backend, Clone, Extra, Family, by_code, by_namespace
from gymsolve.envs.families.installed import find_in_module, find_installed
from gymsolve.envs.lean import StandIn
from gymsolve.own_faults import import_fault
from gymsolve.registry import load

__all__ = [
    "GENERIC",
    "Backend",
    "Clone",
    "Extra",
    "Family",
    "StandIn",
    "bare_name",
    "by_code",
    "by_namespace",
    "families",
    "find_backends",
    "find_creator",
    "find_family",
    "is_exclusive",
]

_TABLE = (
    "atari.family:FAMILY",
    "bandit.family:FAMILY",
    "box2d.family:FAMILY",
    "classic_control.family:FAMILY",
    "minatar:FAMILY",
    "minigrid.family:FAMILY",
    "mujoco:FAMILY",
    "retro.family:FAMILY",
    "toy_text:FAMILY",
    "vizdoom.family:FAMILY",
)
"""The families that come with gymsolve, in the order in which they are asked."""

GENERIC = Family("generic", owns=lambda env_id: True)
"""The family of unknown environments; it relies on Gymnasium's interface alone."""


@cache
def families() -> tuple[Family, ...]:
    """All families that come with gymsolve."""
    return tuple(load(f"gymsolve.envs.families.{path}", "env.id") for path in _TABLE)


def find_family(env_id: str) -> Family:
    """The family of an id, as `env.id` has it.

    A module that the user names with the id comes first, packages come last: none takes over ids of ours.
    """
    own = find_in_module(env_id) or next((family for family in families() if family.owns(env_id)), None)
    return own or find_installed(env_id) or GENERIC


def find_backends(env_id: str) -> dict[str, Backend]:
    """The backends that the family of an id has for its own environments, by name, quickest first."""
    paths = find_family(env_id).backends
    return {name: load(path, "env.backend") for name, path in paths.items()}


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
    metadata = creator.metadata if isinstance(creator, _Described) else None
    return isinstance(metadata, Mapping) and bool(metadata.get("exclusive"))


def find_creator(entry_point: Any) -> Any:
    """The class or function behind an entry point; None where its module cannot be imported."""
    if not isinstance(entry_point, str):
        return entry_point
    module, _, name = entry_point.partition(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice to authors of packages
            code: Any = sys.modules.get(module) or importlib.import_module(module)
    except (ImportError, DependencyNotInstalled):
        return None  # an optional package; building the environment says which
    except FAULTS as error:
        raise import_fault(module, entry_point, error) from error
    return getattr(code, name, None)  # a module may make its names on demand
