"""The contract between training and its extensions.

An extension is a part with behaviour: the loop calls its methods at fixed points, in the order of
`registry.EXTENSIONS`. Training imports no extension; the registry names the `Setup` of each, which says what
it needs before the run exists and then builds it. The defaults do nothing.
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
        """Does its `learn` stand in for the learner's update in this iteration?"""
        return False

    def begin(self, rows: list[int]) -> None:
        """These environments began other episodes, and those under way had no end."""
        return

    def shape(self, rollout: Rollout, progress: Progress) -> None:
        """A rollout was collected: change its rewards, or add streams of further ones."""
        return

    def learn(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn from a rollout after the policy has learned from it; metrics by name."""
        return {}

    def practise(self, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn from something else, after the rollout's update was measured; metrics by name."""
        return {}

    def commit(self, rollout: Rollout) -> None:
        """The rollout counts: from here on, the iteration is not taken back."""
        return

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
    """Every change so far, as its event has it."""
    masters: dict[str, int]
    """Steps of the checkpoint at the end of each stage."""

    @property
    def copies(self) -> dict[str, int]:
        """How many environments play each stage."""
        raise NotImplementedError

    def success_bars(self) -> dict[str, float]:
        """The return that leads on from a stage, by stage; stages that end by other rules are left out."""
        raise NotImplementedError

    def advance(
        self, rollout: Rollout, credit: Credit | None, *, taken: int, env_steps: int
    ) -> Change | None:
        """Take in a rollout that was learned from; returns a change of stage, if there is reason for one."""
        raise NotImplementedError

    def stage_at(self, env_steps: int) -> int:
        """The stage that was learned at a step; where stages changed, the new one."""
        raise NotImplementedError

    def note_best(self, stage: int, env_steps: int) -> str | None:
        """Remember the best weights of the last stage; returns its name if it is that stage."""
        raise NotImplementedError


class EnvRequest(NamedTuple):
    """The environments that a training steps."""

    env: EnvConfig
    task: str | None = None
    """The only one of several tasks that is played at first; None plays all."""
    jumps: bool = False
    """Must they save their state and be put back into it?"""


class Site(NamedTuple):
    """A run's live objects, from which extensions are built before the first step."""

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
        return

    def auxiliaries(self, spec: EnvSpec) -> Sequence[Any]:
        """Further losses for the learner's minibatches (`algos/auxiliary.py`)."""
        return ()

    def build(self, site: Site) -> Extension | None:
        """The extension; None where asking and auxiliaries were all."""
        raise NotImplementedError
