"""What verbs answer: frozen records that render themselves as JSON, and the schema of that JSON.

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
    """What a verb answers; each kind is a dataclass derived from this."""

    def to_json(self) -> dict[str, Any]:
        """The fields as strict JSON, in their order."""
        return _object(self)


def left_out() -> Any:
    """A field that is None by default, and then not in the JSON."""
    return field(default=None, metadata={_LEFT_OUT: True})


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of what an annotation holds: a record, or plain data made of records."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if is_dataclass(kind):
        return _object_schema(kind)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [json_schema(one) for one in inner]}
    if origin is tuple and inner[-1] is not Ellipsis:
        exact = {"minItems": len(inner), "maxItems": len(inner)}
        return {"type": "array", "prefixItems": [json_schema(one) for one in inner], **exact}
    if origin in (tuple, list, Sequence):
        return {"type": "array", "items": json_schema(inner[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": json_schema(inner[1])}
    raise TypeError(f"no schema for the annotation {kind!r}")


def _object_schema(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    known = fields(kind)
    return {
        "type": "object",
        "properties": {one.name: json_schema(hints[one.name]) for one in known},
        "required": [one.name for one in known if _LEFT_OUT not in one.metadata],
        "additionalProperties": False,
    }


def _object(record: Any) -> dict[str, Any]:
    told = {one.name: (vars(record)[one.name], one.metadata) for one in fields(record)}
    return {
        name: _plain(value)
        for name, (value, about) in told.items()
        if value is not None or _LEFT_OUT not in about
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
