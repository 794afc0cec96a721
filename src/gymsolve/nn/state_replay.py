"""Recomputes the memory of a policy by replaying earlier steps through its recurrent cells.

Episodes that begin at a place of an archive need it: the weights have changed since others reached the place,
so neither their memory nor zeros fit. All observations are encoded at once and cells run over whole prefixes,
or over one stretch after the other where pictures of all would not fit into memory. The result is that of
single steps, up to rounding.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gymsolve.experience.agent import Prefix
from gymsolve.nn.bodies import Encoder
from gymsolve.nn.memory import states_after
from gymsolve.spec import Array, Obs

if TYPE_CHECKING:
    from gymsolve.nn.policy import Networks

_AT_ONCE = 1024
"""Rows that are encoded in one pass: activations of more pictures would not fit into memory."""
_ROOM = 2**27
"""Bytes that observations and features of one stretch may take."""


def memory_after(policy: "Networks", prefixes: Sequence[Prefix], before: Array) -> Array:
    """Memory [S, M] after these prefixes, of which some may be empty, from `before` [S, M]."""
    lengths = np.array([len(prefix.rewards) for prefix in prefixes])
    longest, most = int(lengths.max(initial=0)), _ROOM // _row_bytes(policy)
    if not longest:
        return before
    steps = longest if lengths.sum() <= most else max(1, most // int(np.count_nonzero(lengths)))
    for start in range(0, longest, steps):
        before = _go_on(policy, [_stretch(prefix, start, start + steps) for prefix in prefixes], before)
    return before


def _row_bytes(policy: "Networks") -> int:
    """Bytes of a step, about: observation and features, both twice while they are put in order; gates."""
    seen = sum(
        int(np.prod(entry.shape)) * np.dtype(entry.dtype).itemsize for entry in policy.spec.obs.values()
    )
    inputs = policy.last_step.size
    return 2 * seen + 4 * max(2 * (encoder.size + inputs) + 4 * cell.size for encoder, cell in policy.cells)


def _stretch(prefix: Prefix, start: int, stop: int) -> Prefix:
    some = slice(start, stop)
    return Prefix(
        {key: rows[some] for key, rows in prefix.obs.items()}, prefix.actions[some], prefix.rewards[some]
    )


def _go_on(policy: "Networks", prefixes: Sequence[Prefix], before: Array) -> Array:
    """Memory [S, M] after stretches that fit into memory; a prefix that has ended is empty."""
    lengths = np.array([len(prefix.rewards) for prefix in prefixes])
    begun = [prefix for prefix in prefixes if len(prefix.rewards)]
    some, size = lengths > 0, policy.memory_size
    first = (np.cumsum(lengths) - lengths)[some]
    heard = inputs_after(
        policy, np.concatenate([w.actions for w in begun]), np.concatenate([w.rewards for w in begun])
    )
    inputs = np.roll(heard, 1, axis=0)  # every step has those of the one before it
    inputs[first] = before[some, size:]
    after = before.copy()
    seen = {key: np.concatenate([prefix.obs[key][:] for prefix in begun]) for key in begun[0].obs}
    for encoder, cell in policy.cells:
        features = torch.cat([_encode(encoder, policy, seen), _tensor(policy, inputs)], dim=1)
        state = states_after(cell, features, _tensor(policy, before[:, cell.columns]), lengths)
        after[:, cell.columns] = state.cpu().numpy()
    after[some, size:] = heard[first + lengths[some] - 1]
    return after


def inputs_after(policy: "Networks", actions: Array, rewards: Array) -> Array:
    """The inputs [B, inputs] that memory holds after steps, besides the states of cells."""
    blank = np.zeros((len(rewards), policy.last_step.size), np.float32)
    return policy.last_step.hear(policy.last_step.override_action(blank, actions), rewards)


def _encode(encoder: Encoder, policy: "Networks", seen: Obs) -> Tensor:
    """The features [B, F] of all steps, one prefix after the other."""
    count = len(next(iter(seen.values())))
    parts = [
        encoder(policy.tensors({key: rows[start : start + _AT_ONCE] for key, rows in seen.items()}))
        for start in range(0, count, _AT_ONCE)
    ]
    return torch.cat(parts)


def _tensor(policy: "Networks", array: Array) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(policy.device)
