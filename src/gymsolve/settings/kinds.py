"""Kinds of values that settings have, and the model that all of them share."""

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticKnownError

from gymsolve.settings.durations import parse_seconds
from gymsolve.settings.schedules import Schedule, within

_LARGEST = 2**63
"""No file of a run holds a larger whole number."""


def not_bool(value: Any) -> Any:
    if isinstance(value, bool):  # Python would take `true` for 1
        raise ValueError(f"should be a number, not {str(value).lower()}")
    if isinstance(value, int) and abs(value) >= _LARGEST:
        raise ValueError("this number is too large")
    return value


def _seconds(value: Any) -> Any:
    """A text such as `10min` as seconds; anything else as it is."""
    return parse_seconds(value) if isinstance(value, str) else not_bool(value)


def split_names(value: Any) -> Any:
    """`csv,wandb` as a list; anything else as it is."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def listed(value: Any) -> Any:
    """Like `split_names`; a name given twice counts once."""
    names = split_names(value)
    return list(dict.fromkeys(names)) if isinstance(names, list | tuple) else names


def _finite(value: Any) -> Any:
    """Refuse NaN and infinity anywhere in options: they would come back from config.json as null."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, float) and not math.isfinite(item):
            raise ValueError(f"should hold finite numbers, not {item}")
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
    return value


BACKENDS = ("auto", "sync", "async", "compiled", "ale", "envpool")
"""Values of `env.backend`; backends of other packages have a slash in their names."""
_OTHER_BACKEND = re.compile(r"[\w.-]{1,60}/[\w.-]{1,60}")


def _known_backend(value: Any) -> Any:
    """Accept a backend of ours, or `package/name`; `envs` checks later that the latter exists."""
    if value == "native":  # earlier versions stepped CartPole by Gymnasium's vector class under this name
        return "auto"
    if value in BACKENDS or (isinstance(value, str) and _OTHER_BACKEND.fullmatch(value)):
        return value
    *first, last = map(repr, BACKENDS)
    raise PydanticKnownError("literal_error", {"expected": f"{', '.join(first)} or {last}"})


BackendName = Annotated[str, BeforeValidator(_known_backend)]
Options = Annotated[dict[str, Any], AfterValidator(_finite)]
Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
Whole = Annotated[int, BeforeValidator(not_bool)]
Positive = Annotated[Whole, Field(gt=0)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0.0)]
"""A number of seconds, or a text such as `10min`."""
Rate = Annotated[Schedule, within(0.0)]
Share = Annotated[Schedule, within(0.0, 1.0)]
Count = Annotated[Schedule, within(1.0)]


class Model(BaseModel):
    # JSON has no infinity and no NaN: they would come back as null.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
