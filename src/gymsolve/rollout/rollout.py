"""One rollout: what `num_envs` environments did during `num_steps` steps, time-major.

The arrays are allocated once and overwritten by every collection; an algorithm must be done with a
rollout before the next one starts.
"""

from dataclasses import dataclass, field

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.rollout.frames import Frames, take_rows
from gymsolve.rollout.returns import gae
from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["Rollout", "allocate"]


@dataclass(slots=True)
class Rollout:
    """Arrays of shape [T, N, …]."""

    obs: dict[str, Array | Frames]
    actions: Array  # [T, N, A] as the policy emitted them: before clipping and scaling
    log_probs: Array  # [T, N]
    values: Array  # [T, N]
    next_values: Array  # [T, N] of the true successor: V(final observation) where truncated
    rewards: Array  # [T, N]
    terminated: Array  # [T, N] bool
    truncated: Array  # [T, N] bool
    valid: Array  # [T, N] bool; False where a backend spent the step on a reset
    masks: Array | None  # [T, N, M] bool, legal choices
    components: Array | None = None  # [T, N, K] of rewards as the environment gave them, before scaling
    episodes: list[Episode] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What broke and was mended meanwhile, such as a worker that died."""
    bootstrapped: int = 0
    """Truncated episodes whose last observation was there to be valued."""
    env_seconds: float = 0.0
    """Spent in the environments' own steps."""

    @property
    def env_steps(self) -> int:
        """Transitions that really happened."""
        return int(np.count_nonzero(self.valid))

    @property
    def vec_steps(self) -> int:
        return len(self.rewards)

    def seen(self, rows: Array) -> Obs:
        """Observations [B, …] at positions among the flattened steps."""
        return {key: take_rows(stored, rows) for key, stored in self.obs.items()}

    @property
    def done(self) -> Array:
        """Where an episode ended, for whatever reason."""
        return self.terminated | self.truncated

    def advantages(self, *, gamma: float, gae_lambda: float) -> Array:
        """Generalised advantage estimates [T, N], as measured with the values of collection time."""
        ends = self.terminated, self.truncated
        return gae(
            self.rewards, self.values, self.next_values, *ends, gamma=gamma, gae_lambda=gae_lambda
        ).astype(np.float32)


def allocate(spec: EnvSpec, num_steps: int, num_envs: int, frame_stack: int = 1) -> Rollout:
    """An empty rollout for this environment, whose pictures are stacks of so many frames."""
    size = (num_steps, num_envs)
    kind = np.float32 if spec.action.kind == "box" else np.int64
    return Rollout(
        obs={
            key: Frames(*size, entry.shape, entry.dtype, frame_stack)
            if entry.kind == "image" and frame_stack > 1
            else np.zeros((*size, *entry.shape), entry.dtype)
            for key, entry in spec.obs.items()
        },
        actions=np.zeros((*size, spec.action.size), kind),
        log_probs=np.zeros(size, np.float32),
        values=np.zeros(size, np.float32),
        next_values=np.zeros(size, np.float32),
        rewards=np.zeros(size, np.float32),
        terminated=np.zeros(size, bool),
        truncated=np.zeros(size, bool),
        valid=np.ones(size, bool),
        masks=np.ones((*size, spec.action.mask_size), bool) if spec.masked else None,
        components=np.zeros((*size, len(spec.components))) if spec.components else None,
    )
