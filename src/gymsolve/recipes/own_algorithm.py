"""Imports the algorithm that settings name as `my_module:Class`, so that its own class checks its settings.

A caller may import: the user named the code, or its run is trusted (`runs/trust.py`).
"""

from gymsolve.errors import ConfigError
from gymsolve.registry import load_own
from gymsolve.settings.algorithm_choice import imported_settings

_WHERE = "algo.name"


def import_algorithm(name: str) -> None:
    """Import the module of an own algorithm; refuse what is no class, or one without a class of settings."""
    kind = load_own(name, _WHERE)
    if not isinstance(kind, type):
        raise ConfigError(f"{name} is no class but {type(kind).__name__}.", where=_WHERE)
    if imported_settings(name) is None:
        raise ConfigError(
            f"{name} has no attribute `settings` that is a class of AlgorithmSettings.",
            where=_WHERE,
            hint="Derive them from gymsolve.settings.any_algorithm.AlgorithmSettings and say `settings = …`.",
        )
