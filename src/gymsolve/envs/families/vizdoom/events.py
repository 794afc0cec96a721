"""Puts events of a game of Doom into `info` as numbers; `reward_components` turns them into a reward.

They come from the engine's game variables, of which the engine keeps all, whether or not a scenario shows
them to the player.
"""

import math
from typing import Annotated, Any

import gymnasium as gym
from pydantic import Field

from gymsolve.envs.families.vizdoom.game import load_vizdoom
from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped
from gymsolve.errors import did_you_mean

_COUNTED = {
    "kills": "KILLCOUNT",
    "hits": "HITCOUNT",
    "damage": "DAMAGECOUNT",
    "hits_taken": "HITS_TAKEN",
    "damage_taken": "DAMAGE_TAKEN",
    "items": "ITEMCOUNT",
    "secrets": "SECRETCOUNT",
}
"""Counters of the engine that grow through an episode, by the name that their increase has here."""
_ELSE = ("HEALTH", "ARMOR", "SELECTED_WEAPON", "SELECTED_WEAPON_AMMO", "POSITION_X", "POSITION_Y", "DEAD")


class DoomEvents(gym.Wrapper[Any, Any, Any, Any]):
    """Says in `info` what happened in a step of Doom, for `reward_components` to pay for.

    In `info`: `kills`, `hits`, `damage`, `hits_taken`, `damage_taken`, `items` and `secrets` since the last
    step; `health` and `armor` (their change), `health_gained`, `health_lost`, `shots` and `ammo_gained` (how
    much less or more ammunition there is for the weapon in hand), `death`; `movement` (map units gone),
    `explored` (squares of `cell` map units entered for the first time); and the change of every game variable
    in `variables`, in small letters.
    """

    changes_reward = False

    def __init__(
        self, env: AnyEnv, variables: list[str] | None = None, cell: Annotated[float, Field(gt=0)] = 128.0
    ) -> None:
        super().__init__(env)
        self._bare: Any = env.unwrapped
        if "num_binary_buttons" not in vars(self._bare):
            raise ValueError("a Doom scenario is needed.")
        known = load_vizdoom().GameVariable.__members__
        self._more = [name.upper() for name in variables or ()]
        for name in self._more:
            if name not in known:
                hint = did_you_mean(name, known) or "ViZDoom's documentation lists them."
                raise ValueError(f"Doom has no game variable {name!r}. {hint}")
        self._read = {name: known[name] for name in (*_COUNTED.values(), *_ELSE, *self._more)}
        self._cell = cell
        self._before: dict[str, float] = {}
        self._seen: list[list[int]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._before = self._variables()
        self._seen = [self._square(self._before)]
        return obs, info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        now = self._variables()
        info |= self._compare(self._before, now)
        self._before = now
        return obs, reward, terminated, truncated, info

    def _variables(self) -> dict[str, float]:
        game = self._bare.game
        variables = {name: float(game.get_game_variable(variable)) for name, variable in self._read.items()}
        variables["HEALTH"] = max(variables["HEALTH"], 0.0)  # the dead have less than none
        return variables

    def _compare(self, before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
        events = {name.lower(): now[name] - before[name] for name in self._more}
        events |= {name: max(now[source] - before[source], 0.0) for name, source in _COUNTED.items()}
        health = now["HEALTH"] - before["HEALTH"]
        same = now["SELECTED_WEAPON"] == before["SELECTED_WEAPON"]
        ammo = now["SELECTED_WEAPON_AMMO"] - before["SELECTED_WEAPON_AMMO"] if same else 0.0
        events |= {
            "health": health,
            "health_gained": max(health, 0.0),
            "health_lost": max(0.0 - health, 0.0),
            "armor": now["ARMOR"] - before["ARMOR"],
            "shots": max(0.0 - ammo, 0.0),
            "ammo_gained": max(ammo, 0.0),
            "death": float(now["DEAD"] > before["DEAD"]),
            "movement": math.hypot(*(now[axis] - before[axis] for axis in ("POSITION_X", "POSITION_Y"))),
            "explored": 0.0,
        }
        square = self._square(now)
        if square not in self._seen:
            self._seen.append(square)
            events["explored"] = 1.0
        return events

    def _square(self, now: dict[str, float]) -> list[int]:
        return [math.floor(now[axis] / self._cell) for axis in ("POSITION_X", "POSITION_Y")]
