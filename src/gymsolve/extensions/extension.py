"""The contract between training and its extensions.

An extension is a part with behaviour: the loop calls its methods at fixed points, in the order of
`registry.EXTENSIONS`. Training imports no extension; the registry names the `Setup` of each, which states its
needs before the run exists and then builds it. The defaults do nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gymsolve.experience.collect import Collector
from gymsolve.experience.credit import Credit
from gymsolve.experience.learner import Learner
from gymsolve.experience.rollout import Rollout
from gymsolve.parts import Part
from gymsolve.settings.config import EnvConfig, TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import EnvSpec


class Extension(Part):
    """Takes part in every iteration of a training."""

    @property
    def replaces_update(self) -> bool:
        """True if its `learn` replaces the learner's update in this iteration."""
        return False

    def begin(self, rows: list[int]) -> None:
        """These environments began other episodes, without an end of those before."""

    def shape(self, rollout: Rollout, progress: Progress) -> None:
        """Change the rewards of a rollout after its collection, or add streams of further ones."""

    def learn(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn from a rollout after the policy has learned from it; metrics by name."""
        return {}

    def practise(self, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn from other data, after the rollout's update was measured; metrics by name."""
        return {}

    def commit(self, rollout: Rollout) -> None:
        """Take in the rollout for good: the iteration is not taken back any more."""

    def metrics(self) -> dict[str, float]:
        """State to log whenever a record is written."""
        return {}

    def spare_checkpoints(self) -> set[int]:
        """Steps of checkpoints that must not be deleted."""
        return set()

    def extra_files(self) -> dict[str, bytes]:
        """Files for people, written beside a checkpoint."""
        return {}


class Change(NamedTuple):
    """The end of a stage: training evaluates, saves a checkpoint and logs the event."""

    kind: str
    facts: dict[str, Any]
    """Fields of the event."""


class Stages(Extension):
    """An extension that divides the run into stages, of which the last is the goal."""

    stages: tuple[str, ...]
    """Names of the tasks, in order."""
    history: list[dict[str, Any]]
    """The event of every change so far."""
    masters: dict[str, int]
    """Steps of the checkpoint at the end of each stage."""

    @property
    def copies(self) -> dict[str, int]:
        """Number of environments of each stage."""
        raise NotImplementedError

    def success_bars(self) -> dict[str, float]:
        """The return that ends a stage, by stage; stages that end by other rules are left out."""
        raise NotImplementedError

    def advance(
        self, rollout: Rollout, credit: Credit | None, *, taken: int, env_steps: int
    ) -> Change | None:
        """Take in a rollout after its update; returns a change of stage, if there is reason for one."""
        raise NotImplementedError

    def stage_at(self, env_steps: int) -> int:
        """The stage at a step; where stages changed, the new one."""
        raise NotImplementedError

    def note_best(self, stage: int, env_steps: int) -> str | None:
        """Remember the best weights of the last stage; returns its name if it is that stage."""
        raise NotImplementedError


class EnvRequest(NamedTuple):
    """The environments that a training steps."""

    env: EnvConfig
    task: str | None = None
    """The single task that is played at first; None plays all."""
    jumps: bool = False
    """True if they must save and restore their state."""


class Site(NamedTuple):
    """The objects of a run from which extensions are built before the first step."""

    config: TrainConfig
    collector: Collector
    learner: Learner
    extensions: Mapping[str, Extension]
    """Extensions that were built before."""
    threads: int
    on_gpu: bool


class Setup:
    """One extension before its run exists: a registry entry, made from the settings."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config

    def ask(self, request: EnvRequest) -> EnvRequest:
        """Change the environments that will be made."""
        return request

    def check(self, spec: EnvSpec) -> None:
        """Refuse settings that cannot work with these spaces."""

    def auxiliaries(self, spec: EnvSpec) -> Sequence[Any]:
        """Further losses for the learner's minibatches (`algos/auxiliary.py`)."""
        return ()

    def build(self, site: Site) -> Extension | None:
        """The extension; None where `ask` and `auxiliaries` are all that the settings need."""
        raise NotImplementedError
