"""Mends every Doom environment, right above `gym.make`.

The package's class reports a time-out as both ends at once, gives black pictures after the last step, starts
its engine in the working directory and raises when the engine dies. This wrapper counts the time limit
itself, so that the engine still shows the state there: a truncated episode has its true last observation.
After a termination there is none, and the one before stands in for it.
"""

import importlib
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from gymsolve.envs.families.family import AnyEnv
from gymsolve.envs.families.vizdoom.engine import is_alive, start_engine
from gymsolve.envs.wrappers.rewards import Stepped
from gymsolve.errors import EngineDiedError

_PACKAGE = "vizdoom"
_LEAST_WIDTH = 480
"""Pixels that a picture for people has in its width, or a little less."""
_DEATHS = (
    "ViZDoomErrorException",
    "ViZDoomUnexpectedExitException",
    "ViZDoomIsNotRunningException",
    "MessageQueueException",
    "SharedMemoryException",
)


class Doom(gym.Wrapper[Any, Any, Any, Any]):
    """Time limits as truncations, a last observation, and an engine that may die."""

    changes_reward = False

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        package = importlib.import_module(_PACKAGE)
        self._program = str(Path(str(package.__file__)).parent / "vizdoom")
        self._deaths = tuple(vars(package)[name] for name in _DEATHS)
        bare: Any = env.unwrapped
        self._bare = bare
        self._game = bare.game
        self._skip = bare.frame_skip
        self._timeout = self._game.get_episode_timeout()
        self._game.set_episode_timeout(0)
        self._cut = bool(bare.treat_episode_timeout_as_truncation)
        self._last: Any = None
        self._engine = 0
        self.between: Callable[[], None] | None = None
        """Called after every tic of a step but the last, for those who watch."""
        if self._timeout and self._bare.spec is not None:
            steps = -(-self._timeout // self._skip)
            asked = self._bare.spec.max_episode_steps
            limit = steps if asked is None else min(asked, steps)
            self._bare.spec = replace(self._bare.spec, max_episode_steps=limit)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if self._game.is_running() and not is_alive(self._engine):
            self._renew()
        random = self.np_random.bit_generator.state
        try:
            return self._begin(seed, options)
        except EngineDiedError:
            # It died between two episodes, which costs nothing: another one plays the same.
            self.np_random.bit_generator.state = random
            return self._begin(seed, options)

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        try:
            if not self._game.is_running():
                if _is_shared(self._game.get_game_args()):
                    return self._join(seed, options)
                self._engine = start_engine(self._game, self._program, self._game.init)
            self._last, info = self.env.reset(seed=seed, options=options)
        except self._deaths as error:
            raise self._death(error) from error
        return self._last, info

    def _join(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """The first observation of a game with other players.

        It begins once, when all have joined. The package's class starts the engine itself if none runs; of
        one that runs it asks for another episode, which begins only if all ask at the same time.
        """
        begun: list[tuple[Any, dict[str, Any]]] = []
        begin = self.env.reset
        self._engine = start_engine(
            self._game, self._program, lambda: begun.append(begin(seed=seed, options=options))
        )
        self._last, info = begun[0]
        return self._last, info

    def interrupt(self) -> None:
        """End an engine that waits for other players, from another thread."""
        with suppress(ProcessLookupError):
            os.kill(self._engine, signal.SIGKILL)

    def step(self, action: Any) -> Stepped:
        left, before = self._left(), self._last
        tics = self._skip if left is None else min(self._skip, left)
        try:
            if self.between is None:
                self._bare.frame_skip = tics
                obs, reward, terminated, truncated, info = self.env.step(action)
            else:
                obs, reward, terminated, truncated, info = self._step_tics(action, tics, self.between)
        except self._deaths as error:
            raise self._death(error) from error
        if self._bare.state is None:
            obs = before
        self._last = obs
        if not terminated and self._left() == 0:
            terminated, truncated = not self._cut, self._cut
        return obs, reward, terminated, truncated and not terminated, info

    def _step_tics(self, action: Any, tics: int, between: Callable[[], None]) -> Stepped:
        """The same step, one tic after the other."""
        self._bare.frame_skip, earned = 1, 0.0
        for _ in range(tics - 1):
            # Not through Gymnasium's time limit, which counts steps.
            obs, reward, terminated, truncated, info = self._bare.step(action)
            earned += float(reward)
            if terminated:
                return obs, earned, terminated, truncated, info
            self._last = obs
            between()
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, earned + float(reward), terminated, truncated, info

    def render(self) -> Any:
        """The screen, large enough for people; after the last step, what was seen before it."""
        screen = np.asarray(self._last["screen"])  # [H, W, C]
        enlarged = max(_LEAST_WIDTH // screen.shape[1], 1)
        return np.repeat(np.repeat(np.repeat(screen, enlarged, 0), enlarged, 1), 3 // screen.shape[2], 2)

    def get_action_meanings(self) -> list[str]:
        """The buttons that the stock choices press; empty where they are no choices."""
        if not isinstance(self.action_space, gym.spaces.Discrete):
            return []
        names = button_names(self)
        return [
            " + ".join(name for name, down in zip(names, pressed, strict=True) if down) or "noop"
            for pressed in self._bare.button_map
        ]

    def get_part_meanings(self) -> list[list[str]]:
        """The buttons that each part of a MultiBinary action presses, by choice; empty for other actions."""
        if not isinstance(self.action_space, gym.spaces.MultiBinary):
            return []
        return [["", name] for name in button_names(self)]

    def _left(self) -> int | None:
        """Tics until the time limit; None where there is none."""
        if not self._timeout:
            return None
        game = self._game
        left: int = game.get_episode_start_time() + self._timeout - game.get_episode_time()
        return max(left, 0)

    def _death(self, error: Exception) -> EngineDiedError:
        self._renew()
        return EngineDiedError(f"the engine of Doom is gone: {str(error).rstrip('.')}.")

    def _renew(self) -> None:
        """Take a new game: one whose engine died may ignore seeds after its next start, or fail again."""
        bare = self._bare
        bare.game.close()
        bare.__init__(*bare._ezpickle_args, **bare._ezpickle_kwargs)
        self._game = bare.game
        self._game.set_episode_timeout(0)


def _is_shared(arguments: str) -> bool:
    return bool({"-host", "-join"} & set(arguments.split()))


def button_names(env: AnyEnv) -> list[str]:
    """The scenario's buttons that are down or up, in words, in the order in which the engine takes them."""
    bare: Any = env.unwrapped
    buttons = bare.game.get_available_buttons()[bare.num_delta_buttons :]
    return [button.name.replace("_", " ").lower() for button in buttons]
