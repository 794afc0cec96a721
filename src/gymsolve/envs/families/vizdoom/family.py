"""Doom by ViZDoom: `Vizdoom…`."""

import difflib
import re

import gymnasium as gym

from gymsolve.envs.families.family import AnyEnv, Family
from gymsolve.envs.families.vizdoom.game import EXTRA, PREFIX, register_games
from gymsolve.envs.families.vizdoom.play import Doom
from gymsolve.errors import MissingExtraError

_TICS = 35.0
"""Per second of the game's own time."""
_OTHER_NAMES = {
    "defendthecenter": "DefendCenter",
    "defendtheline": "DefendLine",
    "e1m1": "Freedoom1E1M1-S1",
    "corridor": "DeadlyCorridor",
}
"""Scenarios whose files and papers have other names than the package's ids."""
_KEYS = {
    "move forward": "w",
    "move backward": "s",
    "move left": "a",
    "move right": "d",
    "turn left": "left",
    "turn right": "right",
    "look up": "up",
    "look down": "down",
    "attack": "space",
    "use": "e",
    "jump": "j",
    "crouch": "c",
    "speed": "shift",
    "strafe": "alt",
    "select next weapon": "n",
    "select prev weapon": "p",
    **{f"select weapon{number}": str(number) for number in range(10)},
}


def _owns(env_id: str) -> bool:
    return env_id.rpartition(":")[2].startswith(PREFIX)


def _meant(env_id: str) -> str | None:
    """`VizDoom-Basic-v0`, `VizdoomBasic-v0` and `DoomBasic` are `VizdoomBasic-v1` today."""
    old = re.fullmatch(r"(viz-?)?doom[-_]?(?P<scenario>[\w-]+?)(-v\d+)?", env_id, re.IGNORECASE)
    if old is None:
        return None
    scenario = re.sub(r"[-_]", "", old["scenario"]).lower()
    wanted = _OTHER_NAMES.get(scenario, scenario)
    try:
        register_games()
    except MissingExtraError as error:
        return f"If you mean the Doom scenario, its id begins with {PREFIX!r}. {error}"
    known = {_plain(name): name for name in gym.registry if name.startswith(PREFIX)}
    near = difflib.get_close_matches(_plain(f"{PREFIX}{wanted}"), known, n=1, cutoff=0.75)
    return f"Did you mean {known[near[0]]!r}?" if near else f"Scenarios are named like {PREFIX}Basic-v1."


def _plain(env_id: str) -> str:
    return re.sub(r"-v\d+$|[-_]", "", env_id).lower()


def _prepare(env: AnyEnv) -> AnyEnv:
    return Doom(env) if type(env.unwrapped).__module__.partition(".")[0] == EXTRA.module else env


def _fps(env: AnyEnv) -> float | None:
    game = env.unwrapped.spec
    return _TICS / (1 if game is None else game.kwargs.get("frame_skip", 1))


FAMILY = Family(
    "vizdoom",
    title="Doom (ViZDoom)",
    owns=_owns,
    register=register_games,
    extra=EXTRA,
    meant=_meant,
    recipe="vizdoom",
    prepare=_prepare,
    fps=_fps,
    key_words=lambda env_id: _KEYS,
)
