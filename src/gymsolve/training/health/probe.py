"""The probe: observations of the first rollout with which the policy is measured again and again.

They stay the same for the whole run, and checkpoints keep them, so that changes are the network's doing.
"""

from typing import Any

import numpy as np

from gymsolve.parts import Part
from gymsolve.rollout.rollout import Rollout
from gymsolve.rollout.statistics import sample_rows
from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["Probe", "churn", "dormant_share", "feature_rank", "sample_obs"]

DORMANT = 0.025
"""A unit is dormant below this share of its layer's mean activation (Sokar et al. 2023)."""


class Probe(Part):
    """A batch of observations, and what was legal there; empty until the first rollout is in."""

    def __init__(self, spec: EnvSpec) -> None:
        self.spec = spec
        self.obs: Obs = {}
        self.masks: Array | None = None

    def take(self, rollout: Rollout) -> None:
        """Keep some of a rollout, unless there is something already."""
        if not self.obs and rollout.env_steps:
            self.obs, self.masks = sample_obs(rollout, self.spec)

    def arrays(self) -> dict[str, Array]:
        found = {f"obs/{key}": array for key, array in self.obs.items()}
        return found if self.masks is None else found | {"masks": self.masks}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Take over what was saved; nothing where it does not fit these spaces."""
        spec, masks = self.spec, arrays.get("masks")
        found = {key: arrays[f"obs/{key}"] for key in spec.obs if f"obs/{key}" in arrays}
        whole = len(found) == len(spec.obs) and spec.masked == (masks is not None)
        if whole and all(found[key].shape[1:] == entry.shape for key, entry in spec.obs.items()):
            self.obs, self.masks = found, masks
        return []


def _most_rows(spec: EnvSpec) -> int:
    """How many observations to keep; fewer pictures, which are large and whose network is slow."""
    return 32 if any(entry.kind == "image" for entry in spec.obs.values()) else 128


def sample_obs(rollout: Rollout, spec: EnvSpec) -> tuple[Obs, Array | None]:
    """Observations of a rollout, evenly spread, and what was legal there."""
    rows = sample_rows(rollout, _most_rows(spec))
    masks = None if rollout.masks is None else rollout.masks.reshape(-1, rollout.masks.shape[2])[rows]
    return rollout.seen(rows), masks


def dormant_share(hidden: dict[str, Array]) -> float:
    """Share of the units of all layers [B, units] whose mean size is tiny compared with their layer's."""
    dormant = units = 0
    for layer in hidden.values():
        size = np.add.reduce(np.abs(layer), axis=0)  # [units]
        dormant += int(np.count_nonzero(size <= DORMANT / len(size) * np.add.reduce(size)))
        units += len(size)
    return dormant / max(1, units)


def feature_rank(features: Array) -> float:
    """How many directions features [B, units] really use: (Σλ)² / Σλ² over the squared singular values.

    1 when all lie on a line, as many as there are units when all directions are used alike. It needs no
    decomposition, only two sums over the small one of the two products of the features with themselves.
    """
    rows, units = features.shape
    product = features.T @ features if units <= rows else features @ features.T
    square = float(np.vdot(product, product))
    return float(np.trace(product)) ** 2 / square if square > 0.0 else 0.0


def churn(before: Array, after: Array, *, box: bool) -> float:
    """Share of the likeliest actions [B, A] that changed; in a box by more than a hundredth of its half."""
    changed = np.abs(after - before) > 0.01 if box else after != before
    return np.count_nonzero(changed.any(axis=1)) / len(changed)
