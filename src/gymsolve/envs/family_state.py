"""Native snapshots: the state of an emulator as its family clones it, and of the wrappers around it.

A clone does not hold the state of wrappers, so a snapshot also holds the plain data among their attributes
(counters, frames, sums). For our wrappers and Gymnasium's that is known to be all of it; an environment with
any other wrapper is reached by replay instead.
"""

import base64
from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np

from gymsolve.envs.families import find_family
from gymsolve.envs.families.family import AnyEnv

__all__ = ["load_native", "needs_native", "save_native"]

_KNOWN = ("gymsolve", "gymnasium")
_SIMPLE = (bool, int, float, str, type(None))


def needs_native(env_id: str) -> bool:
    """Does nothing but a native snapshot lead back to a state?"""
    clone = find_family(env_id).clone
    return clone is not None and clone.always


def save_native(env_id: str, env: AnyEnv, obs: Any) -> dict[str, Any] | None:
    """The state of an environment and its observation there; None where no native snapshot is possible."""
    clone = find_family(env_id).clone
    layers = _layers(env)
    if clone is None or any(type(layer).__module__.partition(".")[0] not in _KNOWN for layer in layers):
        return None
    return {
        "state": clone.save(env.unwrapped),
        "rng": env.unwrapped.np_random.bit_generator.state,
        "layers": [_pack(_plain_attributes(layer)) for layer in layers],
        "obs": _pack(obs),
    }


def load_native(env_id: str, env: AnyEnv, saved: dict[str, Any]) -> Any:
    """Put an environment that has been reset into a saved state; its observation there."""
    clone = find_family(env_id).clone
    assert clone is not None
    clone.load(env.unwrapped, saved["state"])
    env.unwrapped.np_random.bit_generator.state = saved["rng"]
    for layer, attributes in zip(_layers(env), saved["layers"], strict=True):
        vars(layer).update(_unpack(attributes))
    return _unpack(saved["obs"])


def _layers(env: AnyEnv) -> list[AnyEnv]:
    found: list[AnyEnv] = []
    while isinstance(env, gym.Wrapper):
        found.append(env)
        env = env.env
    return found


def _plain_attributes(layer: AnyEnv) -> dict[str, Any]:
    return {name: value for name, value in vars(layer).items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, deque | list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    return isinstance(value, (*_SIMPLE, np.ndarray, np.generic))


def _pack(value: Any) -> Any:
    """JSON-ready: arrays as text, everything that is not JSON's own with its kind."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = base64.b64encode(array.tobytes()).decode()
        scalar = isinstance(value, np.generic)
        return {
            "kind": "array",
            "dtype": array.dtype.str,
            "shape": array.shape,
            "scalar": scalar,
            "data": data,
        }
    if isinstance(value, deque):
        return {"kind": "deque", "most": value.maxlen, "items": [_pack(item) for item in value]}
    if isinstance(value, tuple | list):
        return {"kind": type(value).__name__, "items": [_pack(item) for item in value]}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: _pack(inner) for key, inner in value.items()}}
    return value


def _unpack(packed: Any) -> Any:
    if not isinstance(packed, dict):
        return packed
    kind = packed["kind"]
    if kind == "array":
        flat = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["dtype"])
        array = flat.reshape(packed["shape"]).copy()
        return array[()] if packed["scalar"] else array
    if kind == "dict":
        return {key: _unpack(inner) for key, inner in packed["items"].items()}
    items = [_unpack(item) for item in packed["items"]]
    if kind == "deque":
        return deque(items, maxlen=packed["most"])
    return tuple(items) if kind == "tuple" else items
