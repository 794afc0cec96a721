"""Which engine computes: NumPy for small networks, torch for everything else.

Both give the same policy file, the same checkpoints and the same numbers up to rounding. Torch is
imported only when it is chosen: its two seconds are more than some trainings take.
"""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gymsolve.config import NetConfig, TrainConfig
from gymsolve.errors import ConfigError
from gymsolve.fast import supports, why_not
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array, EnvSpec, Obs
from gymsolve.training.judging.evaluate import Player

__all__ = ["Algorithm", "Engine", "Policy", "choose_engine", "load_policy"]


class Policy(Player, Protocol):
    """A policy that can act, be judged, trained and saved."""

    def arrays(self) -> dict[str, Array]:
        """Weights and statistics by name."""

    def load_arrays(self, arrays: dict[str, Array]) -> list[str]:
        """Copy what fits by name and shape; say in sentences what did not."""

    def metadata(self) -> dict[str, str]:
        """What else is needed to rebuild the policy."""

    def hold(self) -> Callable[[], None]:
        """What brings the statistics back to what they are now; the weights are the optimizer's to hold."""

    def checksum(self) -> float:
        """The sum of all weights: not finite as soon as one of them is not."""

    def parts(self) -> tuple[str, ...]:
        """Whose each parameter is: `policy`, `value`, or `trunk` where the two share it."""

    def log_std(self) -> Array | None:
        """Log standard deviations [A] of a box's actions; None for categories."""

    def seen(self, obs: Obs) -> dict[str, Array]:
        """Observations [B, …] as the network takes them: numbers [B, size] by entry, without categories."""

    def hidden(self, obs: Obs) -> dict[str, Array]:
        """What every hidden layer gives [B, units] after its activation, by the activation's name."""


class Optimizer(Protocol):
    """Moments that outlive a process, and what the newest step was made of."""

    def weights(self) -> Array:
        """All trainable numbers, as one array of one's own."""

    def part_norms(self, parts: Sequence[str]) -> dict[str, float]:
        """Length of the newest gradient, before clipping, by the part that each parameter belongs to."""

    def hold(self) -> Callable[[], None]:
        """What brings weights and moments back to what they are now."""

    def arrays(self) -> dict[str, Array]: ...

    def load_arrays(self, arrays: dict[str, Array]) -> None: ...


class Algorithm(Protocol):
    """One learning rule. It knows a policy and a rollout; no environment, no run, no logger."""

    @property
    def optimizer(self) -> Optimizer: ...

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn from one rollout; metrics by name."""

    def state(self) -> dict[str, Any]:
        """What else must survive a restart, JSON-ready; weights and optimizer save themselves."""

    def load(self, state: dict[str, Any]) -> None: ...


class Engine(Protocol):
    """Builds what learns, and keeps whatever randomness of its own it has."""

    name: str
    kernels: str | None
    """`c` or `numpy`: what the NumPy engine computes with; None for one that has no choice."""
    threads: int
    """In use, once something was built."""
    measured: str
    """What that number rests on, when it was measured and not given; else empty."""

    def build(self, config: TrainConfig, spec: EnvSpec) -> tuple[Policy, Algorithm]: ...

    def load_policy(self, arrays: dict[str, Array], metadata: dict[str, str]) -> Policy: ...

    def random_state(self) -> dict[str, Array]: ...

    def load_random_state(self, arrays: dict[str, Array]) -> None: ...


def choose_engine(config: TrainConfig, spec: EnvSpec) -> Engine:
    """The engine of `config.engine`; `auto` takes NumPy wherever it can serve."""
    obstacle = supports(config, spec)
    if config.engine == "torch" or (config.engine == "auto" and obstacle is not None):
        return _torch(config.device, config.threads, spec)
    if obstacle is not None:
        raise ConfigError(
            f"NumPy cannot serve this run: {obstacle}.", where="engine", hint="Use engine=auto."
        )
    return _numpy(config.threads)


def load_policy(arrays: dict[str, Array], metadata: dict[str, str], *, threads: int = 0) -> Policy:
    """A saved policy, to act with, on whichever engine starts sooner."""
    spec = EnvSpec.from_json(json.loads(metadata["spec"]))
    fits = why_not(NetConfig.model_validate_json(metadata["net"]), spec) is None
    engine = _numpy(threads) if fits else _torch("cpu", threads, spec)
    return engine.load_policy(arrays, metadata)


_SPINS = "2000"
"""Rounds, some microseconds, that a thread of torch's waits for more work before it gives its core away.

By default it would be some milliseconds, taken from the environments, whose turn it is.
"""


def _torch(device: str, threads: int, spec: EnvSpec) -> Engine:
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)  # read when torch is first imported
    from gymsolve.training.engines.torch_engine import TorchEngine

    return TorchEngine(device, threads, spec)


def _numpy(threads: int) -> Engine:
    from gymsolve.training.engines.numpy_engine import NumpyEngine

    return NumpyEngine(threads)
