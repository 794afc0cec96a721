"""Kinds of values that settings have, and the model that all of them share."""

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticKnownError

from gymsolve.settings.schedules import Schedule, within


def not_bool(value: Any) -> Any:
    if isinstance(value, bool):  # Python would take `true` for 1
        raise ValueError(f"should be a number, not {str(value).lower()}")
    return value


def listed(value: Any) -> Any:
    """`csv,wandb` as people type it; a name given twice counts once."""
    names = [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value
    return list(dict.fromkeys(names)) if isinstance(names, list | tuple) else names


def _finite(value: Any) -> Any:
    """Options of any kind; a NaN or an infinity would come back from config.json as null."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, float) and not math.isfinite(one):
            raise ValueError(f"should hold finite numbers, not {one}")
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()
    return value


BACKENDS = ("auto", "sync", "async", "compiled", "ale", "envpool")
"""Values of `env.backend`; backends of other packages have a slash in their names."""
_OTHER_BACKEND = re.compile(r"[\w.-]{1,60}/[\w.-]{1,60}")


def _known_backend(value: Any) -> Any:
    """A backend of ours, or a name as other packages have them: whether it exists is asked where it steps."""
    if value == "native":  # earlier versions stepped CartPole by Gymnasium's vector class under this name
        return "auto"
    if value in BACKENDS or (isinstance(value, str) and _OTHER_BACKEND.fullmatch(value)):
        return value
    *first, last = map(repr, BACKENDS)
    raise PydanticKnownError("literal_error", {"expected": f"{', '.join(first)} or {last}"})


BackendName = Annotated[str, BeforeValidator(_known_backend)]
Options = Annotated[dict[str, Any], AfterValidator(_finite)]
Whole = Annotated[int, BeforeValidator(not_bool)]
Positive = Annotated[Whole, Field(gt=0)]
Seconds = Annotated[float, BeforeValidator(not_bool), Field(gt=0.0)]
Rate = Annotated[Schedule, within(0.0)]
Share = Annotated[Schedule, within(0.0, 1.0)]
Count = Annotated[Schedule, within(1.0)]


class Model(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,  # JSON has no word for them: they would come back as null
    )
