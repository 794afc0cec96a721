"""Plain data among attributes, as snapshots keep it: JSON-ready, and back with the same kinds and bits."""

import base64
from collections import deque
from typing import Any

import numpy as np

_SIMPLE = (bool, int, float, str, type(None))


def plain_attributes(owner: Any) -> dict[str, Any]:
    """Those attributes of an object that are plain data.

    Which seed Gymnasium was given last is none of its state: it decides nothing, and a resume may change it.
    """
    attributes = ((name, value) for name, value in vars(owner).items() if name != "_np_random_seed")
    return {name: value for name, value in attributes if is_plain(value)}


def is_plain(value: Any) -> bool:
    if isinstance(value, deque | list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(inner) for key, inner in value.items())
    return isinstance(value, (*_SIMPLE, np.ndarray, np.generic))


def pack(value: Any) -> Any:
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
        return {"kind": "deque", "most": value.maxlen, "items": [pack(item) for item in value]}
    if isinstance(value, tuple | list):
        return {"kind": type(value).__name__, "items": [pack(item) for item in value]}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: pack(inner) for key, inner in value.items()}}
    return value


def unpack(packed: Any) -> Any:
    if not isinstance(packed, dict):
        return packed
    kind = packed["kind"]
    if kind == "array":
        flat = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["dtype"])
        array = flat.reshape(packed["shape"]).copy()
        return array[()] if packed["scalar"] else array
    if kind == "dict":
        return {key: unpack(inner) for key, inner in packed["items"].items()}
    items = [unpack(item) for item in packed["items"]]
    if kind == "deque":
        return deque(items, maxlen=packed["most"])
    return tuple(items) if kind == "tuple" else items
