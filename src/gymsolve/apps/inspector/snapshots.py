"""Snapshots of environments in inspected episodes, where the family clones states.

They are kept while a checkpoint is open, every so many steps, so that a late branch repeats few steps. States
from there on are compared with the stored episode, as after a replay (`branching.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.apps.playback import Moment, Start
from gymsolve.envs.contract import Snapshot
from gymsolve.envs.render_env import RenderEnv
from gymsolve.spec import Array

EVERY = 256
"""Steps between two snapshots; one of Atari takes some 100 kB."""
_MOST_EPISODES = 4


@dataclass(frozen=True)
class _Place:
    state: Snapshot
    step: int
    memory: Array | None
    rng: Mapping[str, Any] | None


class Places:
    """Snapshots of the newest few episodes, by their keys."""

    def __init__(self) -> None:
        self._of: dict[str, list[_Place]] = {}

    def begin(self, key: str, parent: str, states: int) -> None:
        """Begin an episode; its first `states` are those of another one."""
        shared = [place for place in self._of.get(parent, ()) if place.step < states]
        self._of.pop(key, None)
        self._of[key] = shared
        for oldest in list(self._of)[:-_MOST_EPISODES]:
            del self._of[oldest]

    def pass_by(
        self, key: str, render_env: RenderEnv, moment: Moment, rng: np.random.Generator | None
    ) -> None:
        """Keep a snapshot of the environment, which is in this moment, every so many steps."""
        kept = self._of.setdefault(key, [])
        if not moment.step or moment.step % EVERY or moment.over or (kept and kept[-1].step >= moment.step):
            return
        state = render_env.save()
        if state is not None:
            memory = None if moment.memory is None else moment.memory.copy()
            kept.append(_Place(state, moment.step, memory, None if rng is None else rng.bit_generator.state))

    def go_back(self, key: str, render_env: RenderEnv, rng: np.random.Generator | None) -> Start | None:
        """Put the environment into the last snapshot of an episode; None where there is none."""
        place = next(reversed(self._of.get(key, ())), None)
        scene = None if place is None else render_env.load(place.state)
        if place is None or scene is None:
            return None
        if rng is not None and place.rng is not None:
            rng.bit_generator.state = dict(place.rng)
        return Start(place.step, scene, None if place.memory is None else place.memory.copy())
