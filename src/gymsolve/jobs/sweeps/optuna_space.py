"""The dimensions of a search space in Optuna's words; only here is Optuna imported."""

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gymsolve.errors import MissingExtraError
from gymsolve.recipes.search.space import Dimension
from gymsolve.text import setting

if TYPE_CHECKING:
    from optuna.trial import Trial


def require_optuna() -> None:
    """Refuse to go on without the optional packages."""
    load_optuna()


def load_optuna() -> Any:
    """The package, with all that is used of it."""
    try:
        import_module("cmaes")  # of a sampler, and no part of Optuna
        optuna = import_module("optuna")
    except ModuleNotFoundError as error:
        raise MissingExtraError.of((error.name or "optuna").partition(".")[0], "sweep") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def name_of(dimension: Dimension) -> str:
    names = {"one_minus_log": "1-{}", "pow2": "log2({})"}
    return names.get(dimension.domain.kind, "{}").format(dimension.path)


def to_param(dimension: Dimension, drawn: Any) -> Any:
    """A number or choice as Optuna stores it."""
    domain = dimension.domain
    if domain.kind == "choice":
        return _labels(dimension)[list(domain.choices).index(drawn)]
    if domain.kind == "pow2":
        return round(math.log2(drawn))
    return round(drawn) if domain.kind in ("int", "logint") else float(drawn)


def from_param(dimension: Dimension, param: Any) -> Any:
    domain = dimension.domain
    if domain.kind == "choice":
        return domain.choices[_labels(dimension).index(param)]
    return 2**param if domain.kind == "pow2" else param


def _labels(dimension: Dimension) -> list[str]:
    return [setting(choice) for choice in dimension.domain.choices]


def distribution_of(dimension: Dimension) -> Any:

    domain = dimension.domain
    if domain.kind == "choice":
        return load_optuna().distributions.CategoricalDistribution(tuple(_labels(dimension)))
    if domain.kind == "pow2":
        return load_optuna().distributions.IntDistribution(
            round(math.log2(domain.low)), round(math.log2(domain.high))
        )
    if domain.kind in ("int", "logint"):
        return load_optuna().distributions.IntDistribution(
            int(domain.low), int(domain.high), log=domain.kind == "logint"
        )
    return load_optuna().distributions.FloatDistribution(domain.low, domain.high, log=domain.kind != "range")


def suggest_value(trial: "Trial", dimension: Dimension) -> Any:
    return from_param(dimension, trial._suggest(name_of(dimension), distribution_of(dimension)))
