"""The contract of an engine: it builds a learner with its policy, and loads saved policies."""

from collections.abc import Sequence
from typing import Any, Protocol

from gymsolve.experience.learner import Learner, Policy
from gymsolve.parts import Part
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import Array, EnvSpec


class Engine(Part, Protocol):
    """Builds learners, and owns the randomness of its library."""

    name: str
    kernels: str | None
    """`c` or `numpy`: what the NumPy engine computes with; None for one that has no choice."""
    threads: int
    """Threads in use, once something was built."""
    on_gpu: bool
    measured: str
    """How that number was measured; empty when it was given."""

    def build(self, config: TrainConfig, spec: EnvSpec, auxiliaries: Sequence[Any] = ()) -> Learner:
        """A learner with its policy; `auxiliaries` are further losses (`algos/auxiliary.py`)."""

    def load_policy(self, arrays: dict[str, Array], metadata: dict[str, str], config: TrainConfig) -> Policy:
        """A saved policy; `config` has the settings of its run, which name the code that may be imported."""
