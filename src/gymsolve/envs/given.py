"""The name of an environment that somebody gives as an object: a class, a function, an environment.

A run makes its environments itself, as many as it needs, in processes of their own and again on resume. So it
needs a name from which they can be made: an id, or the place of a class or a function.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import gymnasium as gym
from gymnasium import wrappers

from gymsolve.envs.families import GENERIC, find_family
from gymsolve.errors import UsageError

GivenEnv = str | type[gym.Env[Any, Any]] | Callable[..., gym.Env[Any, Any]] | gym.Env[Any, Any]
"""A recipe or an id; or a class, a function or an environment that stands for one."""
_OF_MAKE = (wrappers.OrderEnforcing, wrappers.PassiveEnvChecker, wrappers.TimeLimit)
"""Wrappers that `gym.make` puts around an environment by itself."""


def name_env(env: object) -> tuple[str, dict[str, Any]]:
    """The id or `module:Class` of an environment, and settings that make others like it."""
    if isinstance(env, str):
        return env, {}
    if isinstance(env, gym.vector.VectorEnv):
        hint = "Give the id of one environment; env.num_envs says how many copies are made."
        raise UsageError("a vector environment cannot be trained in.", where="env", hint=hint)
    if isinstance(env, gym.Env):
        return _name_object(env)
    if isinstance(env, FunctionType) or (isinstance(env, type) and issubclass(env, gym.Env)):
        return name_class(env), {}
    message = f"{type(env).__name__!r} names no environment."
    raise UsageError(message, where="env", hint="Give an id, a recipe, or a class of gymnasium.Env.")


def name_class(maker: Any, where: str = "env") -> str:
    """`module:Class`, if other processes can import it from there."""
    place = f"{maker.__module__}:{maker.__qualname__}"
    if maker.__module__ == "__main__" or not maker.__qualname__.isidentifier():
        inside = "the program itself" if maker.__module__ == "__main__" else "another function or class"
        raise UsageError(
            f"{maker.__qualname__} is defined in {inside}, where no other process can import it.",
            where=where,
            hint="Move it to the top of a module of its own and import it from there.",
        )
    return place


def _name_object(env: gym.Env[Any, Any]) -> tuple[str, dict[str, Any]]:
    inner: Any = env
    while isinstance(inner, gym.Wrapper):
        if not isinstance(inner, _OF_MAKE):
            raise UsageError(
                f"the wrapper {type(inner).__name__} around this environment would be lost: "
                "a run makes environments itself.",
                where="env",
                hint="Give the id, and name wrappers in env.wrappers.",
            )
        inner = inner.env
    spec = env.spec
    if spec is None:
        kind = type(inner)
        raise UsageError(
            f"a {kind.__name__} made by hand does not say with which arguments.",
            where="env",
            hint=f"Give its class, {kind.__name__}, and the arguments as env.kwargs.",
        )
    settings: dict[str, Any] = {}
    kwargs = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    registered = gym.registry.get(spec.id)
    if registered is None or kwargs != {**registered.kwargs}:
        settings["env.kwargs"] = kwargs
    if registered is not None and spec.max_episode_steps != registered.max_episode_steps:
        settings["env.max_episode_steps"] = spec.max_episode_steps
    stock = type(inner).__module__.startswith("gymnasium.") or find_family(spec.id) is not GENERIC
    if stock:
        return spec.id, settings
    name_class(type(inner))  # another process must be able to import it
    return f"{type(inner).__module__}:{spec.id}", settings
