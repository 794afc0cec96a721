"""Super Mario Bros and Meadow Run as tasks: reach the end of a level.

The games themselves only show a score and a byte that wraps. This wrapper reads the variables of
stable-retro's integration and says in `info` what happened; `reward_components` turns that into a reward.
"""

from typing import Annotated, Any

import gymnasium as gym
from pydantic import Field

from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped

_NEEDED = ("levelHi", "levelLo", "lives", "score", "time", "xscrollHi", "xscrollLo")
_JUMP = "A"
_UNIT = 24
"""Frames that a unit of either game's clock lasts."""
_PER_UNIT = 50
"""Points for each unit that is left at the end of a level of Super Mario Bros."""
_LONGEST_SHOW = 1200
"""Frames; whatever a game shows while its clock stands still is over by then."""


class Platformer(gym.Wrapper[Any, Any, Any, Any]):
    """One level of a game like Super Mario Bros, and numbers in `info` to pay for.

    In `info`: `progress` (pixels to the right beyond the farthest place so far), `timely_progress` (the same
    times the share of the clock that is left), `clock` (units of the game's clock that were played; those
    that become points at a flag are not), `points` (what the score rose by), `death`, `completion` (1 where
    it happened), `jumps` (1 where the jump button went down), `is_success`. An episode ends at the end of the
    level, with the first life lost (`end_on_death`), and after `stuck` frames of play without progress (0:
    never). Above `emulator_skip`, below `frame_skip` and `button_actions`.
    """

    changes_reward = False

    def __init__(
        self, env: AnyEnv, end_on_death: bool = True, stuck: Annotated[int, Field(ge=0)] = 0
    ) -> None:
        super().__init__(env)
        game: Any = env.unwrapped
        if "buttons" not in vars(game) or not isinstance(env.action_space, gym.spaces.MultiBinary):
            raise ValueError("a console game is needed, below the wrappers that change its actions.")
        missing = [name for name in _NEEDED if name not in game.data.lookup_all()]
        if missing:
            raise ValueError(f"{game.gamename} does not tell {', '.join(missing)}: it has no such levels.")
        self._game, self._jump = game, game.buttons.index(_JUMP)
        self._end_on_death, self._stuck = end_on_death, stuck
        self._before: dict[str, int] = {}
        self._farthest = self._idle = self._clock = self._since = 0
        self._jumping = self._success = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._before = _read(self._game.data.lookup_all())
        # A saved state may stand anywhere in a level.
        self._farthest, self._clock = _place(self._before), max(self._before["time"], 1)
        self._idle = self._since = 0
        self._jumping = self._success = False
        return obs, info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        before, now = self._before, _read(info)
        self._before = now
        completed = (now["levelHi"], now["levelLo"]) != (before["levelHi"], before["levelLo"])
        died = now["lives"] < before["lives"]
        jumps = bool(action[self._jump])
        frames = info.get("frames", 1)  # `emulator_skip` below plays several
        played, clock = self._run_clock(before, now, frames)
        progress = 0.0 if completed or died else self._advance(_place(now), frames if played else 0)
        info |= {
            "progress": progress,
            "timely_progress": progress * now["time"] / self._clock,
            "clock": float(clock),
            "points": float(max(now["score"] - before["score"], 0)),
            "death": float(died),
            "completion": float(completed),
            "jumps": float(jumps and not self._jumping),
        }
        self._jumping, self._success = jumps, self._success or completed
        info["is_success"] = self._success
        over = completed or (died and self._end_on_death) or bool(self._stuck and self._idle >= self._stuck)
        return obs, reward, terminated or over, truncated, info

    def _run_clock(self, before: dict[str, int], now: dict[str, int], frames: int) -> tuple[bool, int]:
        """Was the level played, and for how many units of its clock?

        The clock stands still while a life is lost, at the flag and on the way into the castle. There it
        races down to 0 for points, which takes seconds: nobody is stuck then, and no time is wasted.
        """
        fell, points = max(before["time"] - now["time"], 0), now["score"] - before["score"]
        self._since += frames
        since = self._since
        if not fell:
            return since < _UNIT + frames or since > _LONGEST_SHOW, 0
        self._since = 0
        races = points >= _PER_UNIT * fell and since < fell * _UNIT // 2
        return not races, 0 if races else min(fell, -(-frames // _UNIT))

    def _advance(self, place: int, frames: int) -> float:
        """Pixels beyond the farthest place."""
        gained = max(place - self._farthest, 0)
        self._farthest += gained
        self._idle = 0 if gained else self._idle + frames
        return float(gained)


def _read(variables: dict[str, Any]) -> dict[str, int]:
    return {name: int(variables[name]) for name in _NEEDED}


def _place(variables: dict[str, int]) -> int:
    """How far the screen has moved, in pixels."""
    return 256 * variables["xscrollHi"] + variables["xscrollLo"]
