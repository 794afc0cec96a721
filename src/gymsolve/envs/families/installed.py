"""Finds families that other code brings along: installed packages, and modules that the user names.

A package declares its family as an entry point of the group `gymsolve.families`. The entry point's name is
how its ids begin: gymsolve reads the list of installed packages only for an id of no family of ours, and
imports a package only for an id that begins like that. What lies in the working directory was not installed
and does not count. A module that the user names with an id (`module:Id`) may have a `FAMILY` of its own.
"""

import sys
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from gymsolve.crash_sites import FAULTS, describe_error
from gymsolve.envs.families.family import Family
from gymsolve.errors import ConfigError, EnvFaultError, GymsolveError
from gymsolve.own_code import import_code

GROUP = "gymsolve.families"


class _Offer(NamedTuple):
    """A family that an installed package declares, not imported yet."""

    begins: str
    """How its ids begin."""
    path: str
    """`module:attribute`."""
    package: str


def find_installed(env_id: str) -> Family | None:
    """The family that an installed package has for an id; None where there is none."""
    name = env_id.rpartition(":")[2]
    for offer in list_offers():
        if name.startswith(offer.begins) and (family := _load(offer)).owns(env_id):
            return family
    return None


def find_in_module(env_id: str) -> Family | None:
    """The `FAMILY` of the module in `module:Id`, once it is imported; None where there is none."""
    module = sys.modules.get(env_id.rpartition(":")[0])
    family = None if module is None else vars(module).get("FAMILY")
    if not isinstance(family, Family) or not family.owns(env_id):
        return None
    return _checked(family, f"{env_id.rpartition(':')[0]}:FAMILY")


@cache
def list_offers() -> tuple[_Offer, ...]:
    """The families that installed packages declare, longest beginnings first; read once per process."""
    offers = [
        _Offer(entry.name, entry.value, package.name)
        for package in distributions(path=[place for place in sys.path if not _is_working_directory(place)])
        for entry in package.entry_points
        if entry.group == GROUP
    ]
    return tuple(sorted(offers, key=lambda offer: -len(offer.begins)))


def _is_working_directory(place: str) -> bool:
    try:
        return Path(place).samefile(Path())
    except OSError:
        return False  # one of them is gone


@cache
def _load(offer: _Offer) -> Family:
    module, _, attribute = offer.path.partition(":")
    hint = f"Mend or update the package, or remove it with: pip uninstall {offer.package}"
    broken = f"the family {offer.begins!r} of the installed package {offer.package}"
    try:
        family = vars(import_code(module)).get(attribute)
    except GymsolveError:
        raise
    except FAULTS as error:
        raise EnvFaultError(f"{broken} cannot be imported: {describe_error(error)}.", hint=hint) from error
    if not isinstance(family, Family):
        raise EnvFaultError(f"{broken} is broken: {offer.path} is no gymsolve Family.", hint=hint)
    return _checked(family, offer.path)


def _checked(family: Family, path: str) -> Family:
    """Names with a slash cannot be mistaken for a mistyped backend of ours."""
    for name in family.backends:
        if "/" not in name:
            fix = f"Name it like {family.name.replace(' ', '_')}/{name}."
            raise ConfigError(f"the backend {name!r} of {path} has no slash in its name.", hint=fix)
    return family
