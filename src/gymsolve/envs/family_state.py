"""Native snapshots: the state of an emulator as its family clones it, and of the wrappers around it.

A clone does not hold the state of wrappers, so a snapshot also holds the plain data among their attributes
(counters, frames, sums). For our wrappers and Gymnasium's that is known to be all of it; an environment with
any other wrapper is reached by replay instead.
"""

from typing import Any

import gymnasium as gym

from gymsolve.envs.families import find_family
from gymsolve.envs.families.family import AnyEnv
from gymsolve.envs.plain_data import pack, plain_attributes, unpack
from gymsolve.errors import EnvFaultError

_KNOWN = ("gymsolve", "gymnasium")


def save_native(env_id: str, env: AnyEnv, obs: Any) -> dict[str, Any] | None:
    """The state of an environment and its observation there; None where no native snapshot is possible."""
    clone = find_family(env_id).clone
    if clone is None or not _all_known(env):
        return None
    state = clone.save(env.unwrapped)
    if state is None:
        return None
    return {
        "state": state,
        "rng": env.unwrapped.np_random.bit_generator.state,
        "layers": [pack(plain_attributes(layer)) for layer in _layers(env)],
        "obs": pack(obs),
    }


def resumes_natively(env_id: str, env: AnyEnv) -> bool:
    """Does a resumed run go by native snapshots of this environment, instead of a replay?"""
    clone = find_family(env_id).clone
    return clone is not None and clone.resumes and _all_known(env)


def load_native(env_id: str, env: AnyEnv, saved: dict[str, Any]) -> Any:
    """Put an environment that has been reset into a saved state; its observation there.

    An `EnvFaultError` where the state is of another kind of environment.
    """
    clone = find_family(env_id).clone
    assert clone is not None
    if len(saved["layers"]) != len(_layers(env)):
        raise EnvFaultError("the snapshot is of an environment with other wrappers.")
    clone.load(env.unwrapped, saved["state"])
    env.unwrapped.np_random.bit_generator.state = saved["rng"]
    for layer, attributes in zip(_layers(env), saved["layers"], strict=True):
        vars(layer).update(unpack(attributes))
    return unpack(saved["obs"])


def _all_known(env: AnyEnv) -> bool:
    """Is every wrapper ours or Gymnasium's?"""
    return all(type(layer).__module__.partition(".")[0] in _KNOWN for layer in _layers(env))


def _layers(env: AnyEnv) -> list[AnyEnv]:
    layers: list[AnyEnv] = []
    while isinstance(env, gym.Wrapper):
        layers.append(env)
        env = env.env
    return layers
