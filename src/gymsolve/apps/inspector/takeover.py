"""A person takes over in the middle of an episode: one step for every key, until the policy gets it back.

Nothing is stored here. The person's actions become the forced actions of a branch (`branching.py`), which
plays the whole episode again and compares it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gymsolve.apps.inspector.branching import does_not_replay, require_legal, require_step
from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.apps.inspector.recorder import EpisodeRecorder
from gymsolve.apps.inspector.rows import encode_jpeg
from gymsolve.envs.controls import Controls, find_controls
from gymsolve.envs.families import find_family
from gymsolve.envs.open_render_env import open_role_env
from gymsolve.envs.render_env import Scene
from gymsolve.errors import EnvFaultError, UsageError
from gymsolve.runs.inspections import Inspection
from gymsolve.seeding import integer_seeds
from gymsolve.spec import Array
from gymsolve.training.watchdog import Watchdog


class Hand:
    """An environment in a state of an episode, and the actions of a person since then."""

    def __init__(self, examiner: EpisodeRecorder, parent: Inspection, step: int) -> None:
        episode = InspectedEpisode(parent)
        require_step(episode, step)
        self.parent, self.begun = parent, step
        self.forced: dict[int, tuple[float, ...]] = {}
        self._action = episode.spec.action
        env = examiner.config.env
        self._tell, self._watching = examiner.on_wait, partial(Watchdog, env, on_wait=examiner.on_wait)
        camera, task = parent.facts.get("camera") is True, parent.facts.get("task")
        with self._watching():
            self._render_env, self._filmed = open_role_env(
                env, parent.facts["role"], camera=camera, task=task
            )
            try:
                self.scene = self._replay(episode, step)
            except BaseException:  # nothing else would close this environment
                self._render_env.close()
                raise
        self.step = step
        self.label = ""
        self.controls: Controls = find_controls(env.id, self._render_env.labels, self._action)

    def _replay(self, episode: InspectedEpisode, step: int) -> Scene:
        """Take the steps of the episode up to one, and compare the states."""
        scene = self._render_env.reset(integer_seeds(episode.facts["seed"], "eval", 1, 0)[0])
        rewards, equal = episode.rewards, True
        drawn_from = find_family(episode.spec.id).drawn_before(step)
        for at, action in enumerate(episode.actions[:step]):
            if self._filmed and at >= drawn_from:
                self._render_env.render()  # what it draws depends on what was drawn before
            scene = self._render_env.step(action[None])
            equal = equal and scene.reward == float(rewards[at])
        wanted = episode.observation(step)
        equal = equal and all(scene.obs[key].tobytes() == wanted[key].tobytes() for key in wanted)
        if not equal:
            raise does_not_replay(episode, f"state {step} is not what it was, so nobody can take over there")
        return scene

    @property
    def over(self) -> bool:
        return self.scene.terminated or self.scene.truncated

    def press(self, pressed: Sequence[str], levels: Mapping[int, float]) -> None:
        """Take one step with the pressed keys; none where they stand for no action."""
        if self.over:
            raise UsageError("the episode is over.", hint="Give it back to see both futures.")
        action = self.controls.read(pressed, levels)
        if action is None:
            return
        given = tuple(self._action.from_env(action)[0].tolist())
        if self.scene.masks is not None:
            require_legal(self._action, given, self.scene.masks[0])
        with self._watching():
            self.scene = self._render_env.step(self._action.to_env(self._policy_action(given)))
        self.forced[self.step] = given  # only what was taken can be played again
        self.label = self._render_env.labels.describe(self._action.to_env(self._policy_action(given))[0])
        self.step += 1

    def _policy_action(self, given: tuple[float, ...]) -> Array:
        """The action as the branch will take it, with the same rounding between the two units."""
        return np.array([given], np.int64 if self._action.nvec else np.float32)

    def picture(self) -> bytes:
        """A picture of the environment as JPEG; empty where it cannot be drawn."""
        if self._filmed:
            try:
                with self._watching():
                    return encode_jpeg(self._render_env.render())
            except EnvFaultError as error:  # the step is taken: the episode goes on without pictures
                self._filmed = False
                self._tell(str(error))
        return b""

    def to_json(self) -> dict[str, Any]:
        scene = self.scene
        return {
            "step": self.step,
            "begun": self.begun,
            "over": self.over,
            "reward": scene.reward if self.forced else None,
            "raw_return": scene.raw_return,
            "label": self.label,
            "obs": {key: array[0].tolist() for key, array in scene.obs.items() if array.size <= _SHOWN},
        }

    def close(self) -> None:
        self._render_env.close()


_SHOWN = 64
"""Larger observations are not sent: without a picture, nobody can read so many numbers."""
