"""Looking into the policy with the same observations again and again: some of the first rollout.

They are the same for the whole run and kept in its checkpoints, so that changes are the network's doing.
"""

from dataclasses import dataclass

import numpy as np

from gymsolve.rollout.rollout import Rollout
from gymsolve.rollout.statistics import sample_rows
from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["Probe", "churn", "dormant_share", "feature_rank", "take_probe"]

DORMANT = 0.025
"""A unit is dormant below this share of its layer's mean activation (Sokar et al. 2023)."""


@dataclass(frozen=True)
class Probe:
    """A batch of observations, and what was legal there."""

    obs: Obs
    masks: Array | None

    def arrays(self) -> dict[str, Array]:
        """By name, for a checkpoint."""
        found = {f"probe/obs/{key}": array for key, array in self.obs.items()}
        return found if self.masks is None else found | {"probe/masks": self.masks}

    @staticmethod
    def from_arrays(arrays: dict[str, Array], spec: EnvSpec) -> "Probe | None":
        """The one saved in a checkpoint; None in one that has none for these spaces."""
        obs = {key: arrays.get(f"probe/obs/{key}") for key in spec.obs}
        found = {key: array for key, array in obs.items() if array is not None}
        masks = arrays.get("probe/masks")
        if len(found) < len(obs) or spec.masked != (masks is not None):
            return None
        fits = all(found[key].shape[1:] == entry.shape for key, entry in spec.obs.items())
        return Probe(found, masks) if fits else None


def _most_rows(spec: EnvSpec) -> int:
    """So many observations say enough; pictures are large, and their network slow."""
    return 32 if any(entry.kind == "image" for entry in spec.obs.values()) else 128


def take_probe(rollout: Rollout, spec: EnvSpec) -> Probe:
    rows = sample_rows(rollout, _most_rows(spec))
    masks = None if rollout.masks is None else rollout.masks.reshape(-1, rollout.masks.shape[2])[rows]
    return Probe(rollout.seen(rows), masks)


def dormant_share(hidden: dict[str, Array]) -> float:
    """Share of the units of all layers [B, units] whose mean size is next to nothing in their layer."""
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
