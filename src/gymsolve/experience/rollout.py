"""One rollout: what `num_envs` environments did during `num_steps` steps, time-major.

The arrays are allocated once and overwritten by every collection; an algorithm must be done with a rollout
before the next one starts.
"""

from dataclasses import dataclass, field

import numpy as np

from gymsolve.envs.contract import Episode
from gymsolve.experience.frames import Frames, take_rows
from gymsolve.spec import TASK_ENTRY, Array, EnvSpec, Obs


@dataclass(slots=True)
class Stream:
    """One kind of reward, with the values from which its advantages are computed."""

    rewards: Array  # [T, N]
    values: Array  # [T, N]
    next_values: Array  # [T, N] of the true successor
    gamma: float
    weight: float = 1.0
    """Weight of its advantages in the sum that the policy learns from."""
    episodic: bool = True
    """False counts the future beyond the end of an episode, as for curiosity."""


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
    memory: Array | None = None  # [T, N, M] before each step; None without a recurrent cell
    watched: Array | None = None  # [T, N, numbers] for bonuses
    tasks: tuple[str, ...] = ()
    """Names of the tasks; empty where there is one."""
    streams: dict[str, Stream] = field(default_factory=dict)
    """Rewards besides the task's own, such as those of curiosity, each with a discount of its own."""
    final_obs: dict[int, Obs] = field(default_factory=dict)
    """The true last observations [N, …] by step, for steps in which episodes ended; other rows are unused.
    They are kept only with `Collector.keeps_ends`."""
    last_obs: Obs = field(default_factory=dict)
    """Observations after the last step [N, …]."""
    last_masks: Array | None = None
    """Legal choices after the last step [N, M]."""
    episodes: list[Episode] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)
    """Environments whose previous episode was abandoned before this rollout."""
    faults: list[str] = field(default_factory=list)
    """Sentences on faults that were repaired, such as a worker that died."""
    cut_episodes: int = 0
    """Number of episodes that faults cut; they are not among `episodes`."""
    bootstrapped: int = 0
    """Number of truncated episodes whose last observation got a value."""
    env_seconds: float = 0.0
    """Seconds spent in the environments' own steps."""

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
    def task_numbers(self) -> Array | None:
        """The number of each step's task [T, N]; None where there is one task."""
        numbers = self.obs[TASK_ENTRY] if self.tasks else None
        assert not isinstance(numbers, Frames)
        return numbers

    @property
    def num_envs(self) -> int:
        return int(self.rewards.shape[1])

    @property
    def done(self) -> Array:
        """True where an episode ended, for whatever reason."""
        return self.terminated | self.truncated


def allocate(
    spec: EnvSpec, num_steps: int, num_envs: int, frame_stack: int = 1, memory_size: int | None = None
) -> Rollout:
    """An empty rollout for this environment; `frame_stack` is the number of frames in a picture."""
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
        watched=np.zeros((*size, len(spec.watched))) if spec.watched else None,
        tasks=spec.tasks,
        memory=None if memory_size is None else np.zeros((*size, memory_size), np.float32),
    )
