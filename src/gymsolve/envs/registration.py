"""Finds the registration of an id: imports its module, lets it register, says what a wrong one may mean.

`module:Id` imports `module` first. A package that registers only on request is asked to: where the id is
unknown after the import and the module has a function `register_envs`, that function is called. A class or a
function of the module that nobody registered, `module:Class`, is registered under its own name.
"""

import difflib
import re
import warnings
from types import FunctionType
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
from gymnasium import error as gym_error

from gymsolve.crash_sites import FAULTS
from gymsolve.envs.contract_faults import keep_folder
from gymsolve.envs.families import bare_name, families, find_family
from gymsolve.errors import UnknownEnvError, did_you_mean
from gymsolve.own_faults import import_fault, import_own


@runtime_checkable
class _Registers(Protocol):
    """A module with a function that makes its ids known."""

    def register_envs(self) -> object: ...


def find_spec(env_id: str) -> Any:
    """Gymnasium's registration of an id, or an error that says what was meant."""
    module, _, name = env_id.rpartition(":")
    find_family(env_id).register()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = _import(module, env_id) if module else None
        try:
            return gym.spec(name)
        except gym_error.Error as error:
            if isinstance(code, _Registers) and name not in gym.registry:
                _ask_to_register(code, module, env_id)
                if name in gym.registry:
                    return gym.spec(name)
            if _makes_envs(vars(code).get(name) if module else None) and not _registered_as(module, name):
                return _register_as_itself(module, name)
            hint = (
                _meant(module, name, code) or f"One of your own is named with its module: my_module:{name}."
            )
            problem = f"there is no environment {env_id!r}."
            raise UnknownEnvError(problem, where="env.id", hint=hint) from error


def _import(module: str, env_id: str) -> Any:
    with keep_folder():
        return import_own(module, "env.id", env_id)


def _makes_envs(thing: Any) -> bool:
    """True for a class of environments, and for a function, which is expected to return one."""
    return isinstance(thing, FunctionType) or (isinstance(thing, type) and issubclass(thing, gym.Env))


def _registered_as(module: str, name: str) -> list[str]:
    """Ids whose registration makes this class; it may have a time limit and arguments, which count."""
    entry_point, own = f"{module}:{name}", _own_id(module, name)
    return [
        env_id
        for env_id, spec in gym.registry.items()
        if (spec.entry_point == entry_point and env_id != own)
        or (not isinstance(spec.entry_point, str) and _path_of(spec.entry_point) == entry_point)
    ]


def _register_as_itself(module: str, name: str) -> Any:
    """The registration of a class or function that nobody registered, under an id that no other has."""
    own = _own_id(module, name)
    if own not in gym.registry:
        gym.register(id=own, entry_point=f"{module}:{name}")
    return gym.spec(own)


def _own_id(module: str, name: str) -> str:
    return f"{module.replace('.', '-')}/{name}"


def _path_of(maker: Any) -> str:
    return f"{maker.__module__}:{maker.__qualname__}" if isinstance(maker, type | FunctionType) else ""


def _ask_to_register(code: _Registers, module: str, env_id: str) -> None:
    try:
        code.register_envs()
    except FAULTS as error:
        raise import_fault(f"{module}.register_envs", env_id, error) from error


def _meant(module: str, name: str, code: Any) -> str | None:
    """A question or advice about the id that may have been meant; None where nothing is alike."""
    if module:
        return _meant_of_module(module, name, code)
    for family in families():
        if family.extra is None:
            family.register()  # so that their ids can be suggested
    if newest := newest_version(name):
        return f"Did you mean {newest!r}?"
    known = list(gym.registry)  # before a family looks among ids of its own, outdated ones included
    advice = (family.meant(name) for family in (*families(), find_family(name)))
    return next(filter(None, advice), did_you_mean(name, known))


def newest_version(name: str) -> str | None:
    """The latest version of what has that name, in any case and with any version; None if there is none."""
    wanted = re.sub(r"-v\d+$", "", name).lower()
    same = [env_id for env_id in gym.registry if re.sub(r"-v\d+$", "", env_id).lower() == wanted]
    return max(same, key=lambda env_id: gym.registry[env_id].version or 0, default=None)


def _meant_of_module(module: str, name: str, code: Any) -> str:
    """Suggestions keep the module: without it, Gymnasium would not know the id."""
    if ids := _registered_as(module, name):
        return f"{name} is registered as {' and '.join(ids)}: use {module}:{ids[0]}."
    if isinstance(vars(code).get(name), type):
        return f"{name} is a class, but not one of gymnasium.Env."
    known = [env_id for env_id, spec in gym.registry.items() if _comes_from(spec.entry_point, module)]
    if not known:
        given = f"gymnasium.register(id={name!r}, entry_point='{module}:…')"
        return f"Importing {module} registers none; let it call {given}."
    bare = bare_name(name).lower()
    same = [env_id for env_id in known if bare_name(env_id).lower() == bare]
    near = same or difflib.get_close_matches(name, known, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(repr(f'{module}:{env_id}') for env_id in near[:3])}?"
    return f"Importing {module} registers: {', '.join(f'{module}:{env_id}' for env_id in known[:8])}."


def _comes_from(entry_point: Any, module: str) -> bool:
    place = entry_point.partition(":")[0] if isinstance(entry_point, str) else entry_point.__module__
    package = module.partition(".")[0]
    return place == package or str(place).startswith(f"{package}.")
