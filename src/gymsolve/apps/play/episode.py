"""The current episode of a session: its steps, its rewards, and the facts for the page."""

import math
from collections.abc import Sequence
from typing import Any

from gymsolve.envs.render_env import Scene


class Episode:
    """One episode, from its first scene on."""

    def __init__(self, scene: Scene, components: Sequence[str], value: float | None) -> None:
        self.scene, self.value = scene, value
        self.step, self.paid = 0, 0.0
        self.totals = dict.fromkeys(components, 0.0)
        self.action = self.who = ""
        self.begun = False
        """The person has pressed the key that starts the time."""

    @property
    def end(self) -> str | None:
        """The end of the episode; None while it lasts."""
        return "terminated" if self.scene.terminated else "truncated" if self.scene.truncated else None

    def add(self, scene: Scene, action: str, who: str) -> None:
        """Add a scene and the name of the action that led to it."""
        self.scene, self.action, self.who = scene, action, who
        self.step, self.paid = self.step + 1, self.paid + scene.reward
        for name, paid in scene.components.items():
            self.totals[name] += paid

    def facts(self) -> dict[str, Any]:
        """Facts that the page shows beside the picture."""
        scene = self.scene
        return {
            "step": self.step,
            "reward": plain_number(scene.reward),
            "raw_return": plain_number(scene.raw_return),
            "shaped_return": plain_number(self.paid),
            "components": {name: plain_number(paid) for name, paid in scene.components.items()},
            "totals": {name: plain_number(paid) for name, paid in self.totals.items()},
            "action": self.action,
            "who": self.who,
            "value": plain_number(self.value),
            "legal": None if scene.masks is None else scene.masks[0].tolist(),
            "end": self.end,
        }


def plain_number(value: float | None) -> float | None:
    """The number, or None for NaN and infinity, which JSON does not have."""
    return None if value is None or not math.isfinite(value) else float(value)
