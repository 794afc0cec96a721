"""Rewards that a run pays itself, besides those of the task: curiosity, counts, prediction errors.

A bonus is a part: the trainer saves, restores and takes back its statistics and networks with everything
else. It pays after a rollout is collected, and learns after the policy has learned, so that what it pays does
not move within a rollout. Raw returns, evaluation and *solved* never see it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from gymsolve.experience.rollout import Rollout, Stream
from gymsolve.parts import Part
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class Bonus(Part, Protocol):
    """One further reward."""

    def begin(self, rows: Sequence[int]) -> None:
        """Between two rollouts, these environments began other episodes; those under way have no end."""
        return

    def pay(self, rollout: Rollout, progress: Progress) -> Array:
        """What each step earns [T, N]."""
        ...

    def stream(self, rollout: Rollout, paid: Array) -> Stream | None:
        """The stream that the bonus is paid in; None adds it to the task's own rewards."""
        return None

    def learn(self, rollout: Rollout, rng: np.random.Generator) -> dict[str, float]:
        """Learn from a rollout; returns metrics by name."""
        ...


def pay_bonuses(rollout: Rollout, bonuses: Mapping[str, Bonus], progress: Progress) -> None:
    """Let every bonus pay, each in its own stream or on top of the task's rewards."""
    rollout.streams = {}
    for name, bonus in bonuses.items():
        paid = bonus.pay(rollout, progress)
        stream = bonus.stream(rollout, paid)
        if stream is None:
            rollout.rewards += paid.astype(np.float32)
        else:
            rollout.streams[name] = stream
