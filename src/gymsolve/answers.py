"""Answers of verbs: frozen records that render themselves as JSON, and the schema of that JSON.

The schema follows from the annotations, so that a server can promise what it sends. `to_json` gives strict
JSON: tuples become lists, paths text, and numbers that are not finite null.
"""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LEFT_OUT = "left out when None"
_PLAIN: dict[Any, dict[str, Any]] = {
    Any: {},
    str: {"type": "string"},
    Path: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},  # JSON has no NaN
    types.NoneType: {"type": "null"},
}


@dataclass(frozen=True)
class Answer:
    """The answer of a verb; each kind is a dataclass derived from this."""

    def to_json(self) -> dict[str, Any]:
        """The fields as strict JSON, in their order."""
        return _object(self)


def left_out() -> Any:
    """A field that is None by default, and then not in the JSON."""
    return field(default=None, metadata={_LEFT_OUT: True})


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of an annotation: a record, or plain data made of records."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if is_dataclass(kind):
        return _object_schema(kind)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [json_schema(part) for part in inner]}
    if origin is tuple and inner[-1] is not Ellipsis:
        exact = {"minItems": len(inner), "maxItems": len(inner)}
        return {"type": "array", "prefixItems": [json_schema(part) for part in inner], **exact}
    if origin in (tuple, list, Sequence):
        return {"type": "array", "items": json_schema(inner[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": json_schema(inner[1])}
    raise TypeError(f"no schema for the annotation {kind!r}")


def _object_schema(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {
        "type": "object",
        "properties": {item.name: json_schema(hints[item.name]) for item in fields(kind)},
        "required": [item.name for item in fields(kind) if _LEFT_OUT not in item.metadata],
        "additionalProperties": False,
    }


def _object(record: Any) -> dict[str, Any]:
    return {
        item.name: _plain(value)
        for item in fields(record)
        if (value := vars(record)[item.name]) is not None or _LEFT_OUT not in item.metadata
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return _object(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
