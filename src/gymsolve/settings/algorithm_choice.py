"""The section `algo`: settings of the class that `algo.name` stands for, one of ours or of the user's own.

Reading settings imports nothing. The settings of an own algorithm, `my_module:Class`, are those of its class
once somebody who may has imported the module (`recipes/own_algorithm.py`). Until then, as in commands that
only read runs, they are kept as they are.
"""

import sys
from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, PlainValidator, SerializeAsAny, ValidationInfo
from pydantic_core import PydanticKnownError

from gymsolve.settings.algorithms import (
    A2CConfig,
    DQNConfig,
    PPOConfig,
    PQNConfig,
    ReinforceConfig,
)
from gymsolve.settings.any_algorithm import AlgorithmSettings
from gymsolve.settings.continuous import SACConfig, TD3Config, TQCConfig
from gymsolve.settings.own_parts import OwnName


class OwnAlgoConfig(AlgorithmSettings):
    """Settings of an own algorithm whose module nobody has imported: those that all have, and others."""

    model_config = ConfigDict(extra="allow")
    name: OwnName

    @property
    def scales_rewards(self) -> bool:
        return bool((self.model_extra or {}).get("normalize_rewards"))


BuiltInAlgo = (
    PPOConfig | A2CConfig | ReinforceConfig | PQNConfig | DQNConfig | SACConfig | TD3Config | TQCConfig
)
AnyAlgo = BuiltInAlgo | OwnAlgoConfig

ALGORITHM_MODELS: Mapping[str, type[AlgorithmSettings]] = {
    model.model_fields["name"].default: model for model in get_args(BuiltInAlgo)
}


def algorithm_model(name: str | None) -> type[AlgorithmSettings] | None:
    """The class of an algorithm's settings; None for a name that nobody knows."""
    if name is None or name in ALGORITHM_MODELS:
        return None if name is None else ALGORITHM_MODELS[name]
    return (imported_settings(name) or OwnAlgoConfig) if ":" in name else None


def imported_settings(name: str) -> type[AlgorithmSettings] | None:
    """The settings of `my_module:Class` if that module is imported; this imports nothing."""
    module, _, attribute = name.partition(":")
    kind = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    settings = _inherited(kind) if isinstance(kind, type) else None
    known = isinstance(settings, type) and issubclass(settings, AlgorithmSettings)
    return settings if known else None


def _inherited(kind: type[Any]) -> Any:
    """The attribute `settings` of the nearest class above that has one."""
    return next((vars(above)["settings"] for above in kind.__mro__ if "settings" in vars(above)), None)


def _read(value: Any, info: ValidationInfo) -> AlgorithmSettings:
    if isinstance(value, AlgorithmSettings):
        return value
    if not isinstance(value, Mapping):
        raise PydanticKnownError("model_attributes_type")
    name = value.get("name")
    model = algorithm_model(name) if isinstance(name, str) else None
    if name is None:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'name'"})
    if model is None:
        expected = ", ".join(map(repr, ALGORITHM_MODELS))
        context = {"discriminator": "'name'", "tag": str(name), "expected_tags": expected}
        raise PydanticKnownError("union_tag_invalid", context)
    return model.model_validate(dict(value), context=info.context)


AlgoConfig = Annotated[SerializeAsAny[AnyAlgo], PlainValidator(_read)]
