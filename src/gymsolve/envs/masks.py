"""Action masks: one flag per choice of each part, parts concatenated."""

from typing import Any

import numpy as np

from gymsolve.errors import ConfigError, EnvFaultError
from gymsolve.spec import ActionSpec, Array


def flat_mask(value: Any, action: ActionSpec) -> Array:
    """`info["action_mask"]` as bool [mask_size]; parts may come concatenated or one by one."""
    if isinstance(value, tuple | list) and len(value) and isinstance(value[0], np.ndarray | tuple | list):
        value = np.concatenate([np.asarray(part).ravel() for part in value])
    mask = np.asarray(value).astype(bool).ravel()
    if mask.size != action.mask_size:
        raise ValueError(
            f"the action mask has {mask.size} flags, but the action space has {action.mask_size} choices"
        )
    return mask  # [mask_size]


def legal_mask(legal: tuple[int, ...] | None, action: ActionSpec) -> Array | None:
    """The constant mask of `env.legal_actions`; choices of several parts are counted through."""
    if legal is None:
        return None
    where = "env.legal_actions"
    if action.kind == "box":
        raise ConfigError("a Box action space has no single choices to allow.", where=where)
    start = action.start[0] if action.kind == "discrete" else 0
    mask = np.zeros(action.mask_size, dtype=bool)
    for choice in legal:
        if not start <= choice < start + action.mask_size:
            last = start + action.mask_size - 1
            raise ConfigError(f"{choice} is not an action; they go from {start} to {last}.", where=where)
        mask[choice - start] = True
    offsets = np.concatenate([[0], np.cumsum(action.nvec[:-1])]).astype(int)
    if not np.logical_or.reduceat(mask, offsets).all():
        raise ConfigError("every part of an action needs at least one legal choice.", where=where)
    return mask  # [mask_size]


def refuse_empty(masks: Array, action: ActionSpec, env_id: str) -> None:
    """Every part of every environment's action needs a legal choice. masks: [N, mask_size]"""
    if action.kind == "discrete":
        possible = masks.any(axis=1)  # [N]
    else:
        offsets = np.concatenate([[0], np.cumsum(action.nvec[:-1])])
        possible = np.logical_or.reduceat(masks, offsets, axis=1).all(axis=1)  # [N]
    if not possible.all():
        index = int(np.argmin(possible))
        raise EnvFaultError(
            f"environment {index} of {env_id} allows no action at all: its action mask is all false.",
            hint="A state without legal actions should end the episode.",
        )
