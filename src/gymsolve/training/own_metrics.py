"""Checks the metrics that an algorithm of the user's own returns from `update`."""

from collections.abc import Mapping
from typing import Any

from gymsolve.errors import OwnCodeError, did_you_mean
from gymsolve.metrics.catalog import CATALOG, undeclared
from gymsolve.settings.config import TrainConfig

OWN = "own/"
"""Metrics with this prefix need no entry in the catalogue."""


def require_known_metrics(config: TrainConfig, metrics: Mapping[str, Any]) -> None:
    """Refuse metrics of an own algorithm that are no numbers, or have a name that nothing could explain."""
    name = config.algo.name
    if ":" not in name:
        return
    if not isinstance(metrics, dict):
        what = f"{name} returned a {type(metrics).__name__} from update, no metrics."
        raise OwnCodeError(what, where="algo.name", hint="Return a dict of numbers by name; {} will do.")
    for key in undeclared(map(str, metrics)):
        meant = did_you_mean(key, CATALOG, 0.85)
        hint = f"{f'{meant} Or call' if meant else 'Call'} it {OWN}{key.rpartition('/')[2]}."
        what = f"{name} returned the metric {key!r}, which nobody knows."
        raise OwnCodeError(what, where="algo.name", hint=hint)
    for key, value in metrics.items():
        if not isinstance(value, int | float):
            what = f"{name} returned a {type(value).__name__} as the metric {key!r}."
            raise OwnCodeError(what, where="algo.name", hint="Return float(…).")
