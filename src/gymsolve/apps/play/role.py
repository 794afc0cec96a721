"""The player of a session: it acts where the person does not, and gives its value where the person does."""

from typing import Any

import numpy as np

from gymsolve.apps.play.opening import MODES, Opened, Request
from gymsolve.apps.play.players import Chance, Player, PolicyPlayer
from gymsolve.envs.render_env import Scene
from gymsolve.errors import GymsolveError


class Seat:
    """A mode and its player."""

    def __init__(self, opened: Opened, wanted: Request, rng: np.random.Generator) -> None:
        self._opened, self._rng = opened, rng
        self.mode, self.follow = wanted.mode, wanted.follow
        as_judged = opened.run is not None and not opened.config.eval.deterministic
        self.sampled = as_judged if wanted.sampled is None else wanted.sampled
        self.checkpoint: str | None = None
        self.player: Player | None = None
        self._acts: str | None = None
        """The checkpoint of the player; None for players that are no policy of the run."""
        self.take(wanted.checkpoint)

    @property
    def behind(self) -> bool:
        """The session follows the run, which has a newer checkpoint than the player's."""
        return self.follow and self.mode == "policy" and self._opened.newest != self.checkpoint

    def take_newest(self) -> None:
        self.take(self._opened.newest)

    def change(self, mode: str, sampled: bool) -> None:
        """Change the mode; where that fails, nothing changes."""
        before = self.mode, self.sampled
        self.mode, self.sampled = mode, sampled
        try:
            self.take(self.checkpoint)
        except GymsolveError:
            self.mode, self.sampled = before
            raise

    def take(self, checkpoint: str | None) -> None:
        """Set the player of the mode."""
        rng = self._rng if self.sampled else None
        same = self._acts is not None and checkpoint == self._acts and self.mode in ("you", "policy")
        if same and isinstance(self.player, PolicyPlayer):  # it keeps its memory of the episode
            self.player.rng = rng
            return
        acts = None
        trained = bool(self._opened.checkpoints())
        early = self.mode == "policy" and self.follow and not trained
        if self.mode == "random":
            self.player = Chance(self._opened.render_env.spec.action, self._rng)
        elif self.mode == "untrained" or early:  # before the first checkpoint, show the first policy
            self.player = PolicyPlayer(self._opened.build_untrained(), self._rng)
        elif self.mode == "policy" or trained:
            self.checkpoint, policy = self._opened.load(checkpoint)
            self.player, acts = PolicyPlayer(policy, rng), self.checkpoint
        else:
            self.player = None
        self._acts = acts

    def value(self, scene: Scene) -> float | None:
        """The return that the player expects; None at the end of an episode."""
        over = scene.terminated or scene.truncated
        return None if self.player is None or over else self.player.value(scene)

    def facts(self) -> dict[str, Any]:
        """The mode, the checkpoint, and their alternatives."""
        return {
            "mode": self.mode,
            "modes": [mode for mode in MODES if mode != "policy" or self._opened.run is not None],
            "sampled": self.sampled,
            "checkpoint": self.checkpoint,
            "checkpoints": self._opened.checkpoints(),
            "follow": self.follow,
        }
