"""Checks the wrappers that a recipe names: that each exists and takes its options."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, get_origin, get_type_hints

import gymnasium as gym
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from gymsolve.errors import ConfigError, UsageError, did_you_mean
from gymsolve.registry import WRAPPERS, lookup
from gymsolve.settings.config import EnvConfig, Role


@dataclass(frozen=True)
class Planned:
    """A wrapper that exists, with options it accepts."""

    wrapper: type[Any]
    options: dict[str, Any]
    where: str
    """The config path, for errors that show only when the wrapper meets its environment."""
    changes_reward: bool
    training_only: bool = False

    def apply(self, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        try:
            wrapped: gym.Env[Any, Any] = self.wrapper(env, **self.options)
        except (ValueError, TypeError, AssertionError) as error:
            raise ConfigError(str(error), where=self.where) from error
        return wrapped


def check_wrappers(config: EnvConfig, role: Role | None = None) -> tuple[Planned, ...]:
    """The wrappers of a role, or of all roles, checked against what each one's constructor accepts.

    A class that says `training_only` is left out of every other role. Of several tasks, those of each.
    """
    if config.tasks:
        return tuple(planned for name in config.tasks for planned in _of_task(config, name, role))
    plan = (
        _plan(wrapper.name, wrapper.options, f"env.wrappers[{index}]")
        for index, wrapper in enumerate(config.wrappers)
        if role is None or role in wrapper.roles
    )
    return tuple(planned for planned in plan if role in (None, "train") or not planned.training_only)


def _of_task(config: EnvConfig, name: str, role: Role | None) -> tuple[Planned, ...]:
    with naming_task(config, name):
        return check_wrappers(config.for_task(name), role)


@contextmanager
def naming_task(config: EnvConfig, name: str) -> Iterator[None]:
    """Let an error about a setting that a task has of its own say so."""
    try:
        yield
    except UsageError as error:
        where = error.where or ""
        own = [f"env.{key}" for key in config.tasks[name].model_fields_set]
        if where.startswith(tuple(own)):
            error.where = f"env.tasks.{name}.{where.removeprefix('env.')}"
        raise


def _plan(name: str, options: dict[str, Any], place: str) -> Planned:
    wrapper = lookup(WRAPPERS, name, place)
    where = f"{place}.{name}"
    if not (isinstance(wrapper, type) and issubclass(wrapper, gym.Wrapper)):
        raise ConfigError(f"{name!r} is not a gymnasium.Wrapper.", where=where)
    accepted = _checked(wrapper, options, where)
    return Planned(wrapper, accepted, where, _changes_reward(wrapper), _trains_only(wrapper))


def _changes_reward(wrapper: type[Any]) -> bool:
    """The declaration of the class; without one, only classes that cannot touch rewards count as no."""
    harmless = issubclass(wrapper, gym.ObservationWrapper | gym.ActionWrapper)
    return bool(getattr(wrapper, "changes_reward", not harmless))


def _trains_only(wrapper: type[Any]) -> bool:
    return bool(getattr(wrapper, "training_only", False))


def _checked(wrapper: Any, options: dict[str, Any], where: str) -> dict[str, Any]:
    model, fields = _options_of(wrapper)
    try:
        accepted = model(**options)
    except ValidationError as error:
        raise _refusal(error, fields, where) from error
    return {name: getattr(accepted, name) for name in accepted.model_fields_set}


@cache  # it takes milliseconds, and every copy of an environment asks
def _options_of(wrapper: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    """The options that a constructor accepts, as a model, and its fields."""
    signature = inspect.signature(wrapper.__init__)
    hints = get_type_hints(wrapper.__init__, include_extras=True)
    fields: dict[str, Any] = {}
    extra: Any = "forbid"
    for name, parameter in list(signature.parameters.items())[2:]:  # self, env
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            extra = "allow"
        elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (hints.get(name, Any), default)
    model = create_model(
        wrapper.__name__, __config__=ConfigDict(extra=extra, arbitrary_types_allowed=True), **fields
    )
    return model, fields


def _refusal(error: ValidationError, known: dict[str, Any], where: str) -> ConfigError:
    # An unknown option is often the misspelling of the one that is missed.
    faults = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    first = faults[0]
    option = str(first["loc"][0])
    nested = option in known and get_origin(known[option][0]) is dict
    place = ".".join(map(str, first["loc"])) if nested else option
    if first["type"] == "extra_forbidden":
        hint = did_you_mean(option, known) or (
            f"It takes: {', '.join(known)}." if known else "It takes no options."
        )
        return ConfigError("there is no such option.", where=f"{where}.{option}", hint=hint)
    if first["type"] == "missing":
        hint = f"Write it as {where.rpartition('.')[2]}: {{{option}: …}}."
        return ConfigError("this option is needed.", where=f"{where}.{option}", hint=hint)
    problem = first["msg"].removeprefix("Value error, ")  # pydantic's mark of our own validators
    return ConfigError(f"{problem}; got {first['input']!r}.", where=f"{where}.{place}")
