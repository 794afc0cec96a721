"""Stores episodes in which a person acted, alone or with a policy (`runs/demos.py`)."""

from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.apps.play.opening import Opened
from gymsolve.envs.render_env import Scene
from gymsolve.runs.demos import demo_place
from gymsolve.runs.episodes import RecordedEpisode
from gymsolve.runs.run import now
from gymsolve.spec import ActionSpec, Array

_MOST_BYTES = 1 << 30
"""The most bytes of an episode; a longer one is not stored."""


class Demonstration:
    """The current episode, if it is to be stored."""

    def __init__(self, opened: Opened, runs_dir: Path | None, action: ActionSpec) -> None:
        self._opened, self._runs_dir, self._action = opened, runs_dir, action
        self.wanted = False
        """Episodes are stored, from the next one on."""
        self._facts: dict[str, Any] = {}
        self._scenes: list[Scene] = []
        self._actions: list[Array] = []
        self._proposed: list[Array | None] = []
        self._who: list[str] = []
        self._values: list[float | None] = []
        self._bytes = 0

    def begin(self, scene: Scene, value: float | None, facts: dict[str, Any]) -> None:
        """Begin an episode with this scene."""
        self._facts = facts
        self._scenes, self._values = ([scene], [value]) if self.wanted else ([], [])
        self._actions, self._proposed, self._who, self._bytes = [], [], [], 0

    def add(self, scene: Scene, action: Array, proposed: Array | None, who: str, value: float | None) -> None:
        """Add a scene and the action [1, *shape] that led to it; `proposed` is the policy's action."""
        if not self._scenes:
            return
        self._bytes += sum(values.nbytes for values in scene.obs.values())
        if self._bytes > _MOST_BYTES:
            self._scenes = []
            return
        # Pictures between two steps are only for the screen.
        self._scenes.append(Scene(**{**vars(scene), "between": ()}))
        self._actions.append(action[0])
        self._proposed.append(None if proposed is None else proposed[0])
        self._who.append(who)
        self._values.append(value)

    def finish(self, end: str) -> str | None:
        """Store the episode if a person acted in it; returns the file's path, or None."""
        scenes, self._scenes = self._scenes, []
        if not scenes or "person" not in self._who:
            return None
        place = demo_place(self._opened.run, self._runs_dir, self._opened.config.env.id)
        self._episode(scenes, end).save(place)
        return str(place)

    def _episode(self, scenes: list[Scene], end: str) -> RecordedEpisode:
        masks = [scene.masks for scene in scenes[:-1] if scene.masks is not None]
        advised = any(advice is not None for advice in self._proposed)
        proposed = [
            taken if advice is None else advice
            for advice, taken in zip(self._proposed, self._actions, strict=True)
        ]
        values = [np.nan if value is None else value for value in self._values]
        return RecordedEpisode(
            obs={key: np.concatenate([scene.obs[key] for scene in scenes]) for key in scenes[0].obs},
            actions=self._stack(self._actions),
            rewards=np.array([scene.reward for scene in scenes[1:]], np.float64),
            returns=np.array([scene.raw_return for scene in scenes[1:]], np.float64),
            values=np.array(values, np.float64),
            masks=np.concatenate(masks) if masks else None,
            facts=self._describe(scenes, end),
            who=np.array(self._who),
            proposed=self._stack(proposed) if advised else None,
        )

    def _stack(self, actions: list[Array]) -> Array:
        return np.array(actions, self._action.dtype).reshape(-1, *self._action.shape)

    def _describe(self, scenes: list[Scene], end: str) -> dict[str, Any]:
        opened = self._opened
        return {
            **self._facts,
            "env_id": opened.config.env.id,
            "env": opened.config.env.model_dump(mode="json"),
            "spec": opened.render_env.spec.to_json(),
            "action_names": list(opened.render_env.labels.names),
            "run": None if opened.run is None else opened.run.id,
            "length": len(scenes) - 1,
            "return": scenes[-1].raw_return,
            "end": end,
            "by_person": self._who.count("person"),
            "time": now(),
        }
