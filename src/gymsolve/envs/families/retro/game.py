"""Opening a console game: ids, ROMs and save states, with stable-retro as the emulator.

`games/` holds a game of our own, Meadow Run. Its variables have the names and addresses of Super Mario Bros,
so whatever is built for one works with the other.
"""

import importlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym

from gymsolve.envs.families.family import Extra
from gymsolve.errors import ConfigError, MissingExtraError

EXTRA = Extra("stable-retro", "retro", "stable_retro")
PREFIX = "Retro/"
GAMES = Path(__file__).parent / "games"
_ID = re.compile(r"[\w.-]+-v\d+")
"""Names that Gymnasium takes as a name with a version."""
_NAME = re.compile(r"[\w-][\w.-]*")
"""A folder's name, which leads nowhere else."""


def load_retro() -> Any:
    """The package, which also knows our own games and the user's from now on."""
    try:
        retro = importlib.import_module(EXTRA.module)
    except ImportError as error:
        raise MissingExtraError.of(EXTRA.package, EXTRA.name) from error
    known = retro.data.Integrations
    known._init()
    for place in (GAMES, roms_folder()):  # the user's may have come to be since
        if str(place) not in known.CUSTOM_PATHS and place.is_dir():
            known.add_custom_path(str(place))
    return retro


def roms_folder() -> Path:
    """Where `gymsolve roms import` keeps the user's own games."""
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / "gymsolve" / "roms"


@cache
def register_games() -> None:
    """Every game that stable-retro knows becomes `Retro/<its name>`, whether or not its ROM is here."""
    retro = load_retro()
    for game in retro.data.list_games(retro.data.Integrations.ALL):
        if _ID.fullmatch(game):
            gym.register(PREFIX + game, "gymsolve.envs.families.retro.game:open_game", kwargs={"game": game})


def open_game(
    game: str,
    state: str | None = None,
    scenario: str | None = None,
    obs_type: str = "image",
    render_mode: str | None = None,
) -> gym.Env[Any, Any]:
    """One emulator; it starts where a save state stands, by default the game's own first one."""
    retro = load_retro()
    every = retro.data.Integrations.ALL
    kinds = {"image": retro.Observations.IMAGE, "ram": retro.Observations.RAM}
    if obs_type not in list(kinds):  # a list cannot be looked up
        raise ConfigError(f"is image or ram, not {obs_type!r}.", where="env.kwargs.obs_type")
    # A folder could hold scripts for the emulator, and come with a run from elsewhere; so could a file.
    if not _NAME.fullmatch(game):
        raise ConfigError(f"is the name of a game, not {game!r}.", where="env.kwargs.game")
    require_rom(game)
    if scenario is not None:
        _require_scenario(game, scenario)
    if state is not None:
        require_state(game, state, "env.kwargs.state")
    opened: gym.Env[Any, Any] = retro.make(
        game,
        state=retro.State.DEFAULT if state is None else state,
        scenario=scenario,
        inttype=every,
        obs_type=kinds[obs_type],
        # The package's own default opens a window; what is drawn is what the game shows anyway.
        render_mode="rgb_array",
    )
    return opened


def _require_scenario(game: str, scenario: str) -> None:
    """Refuse a scenario that a game does not have: the emulator would run without rewards and ends."""
    where = "env.kwargs.scenario"
    if not re.fullmatch(r"[\w-]+", scenario):
        raise ConfigError(f"is the name of a scenario, not {scenario!r}.", where=where)
    retro = load_retro()
    every = retro.data.Integrations.ALL
    if retro.data.get_file_path(game, f"{scenario}.json", every) is None:
        known = ", ".join(retro.data.list_scenarios(game, every)) or "none"
        raise ConfigError(f"{game} has no scenario {scenario!r}.", where=where, hint=f"It has {known}.")


def list_states(game: str) -> list[str]:
    """Names of the save states that a game can start from."""
    retro = load_retro()
    names: list[str] = retro.data.list_states(game, retro.data.Integrations.ALL)
    return names


def require_rom(game: str) -> None:
    """Refuse a game whose ROM is not on this machine."""
    retro = load_retro()
    try:
        retro.data.get_romfile_path(game, retro.data.Integrations.ALL)
    except FileNotFoundError:
        raise ConfigError(
            f"the ROM of {game} is not here.",
            where="env.id",
            hint="Import a copy of your own: gymsolve roms import PATH.",
        ) from None


def require_state(game: str, state: str, where: str) -> None:
    """Refuse a save state that a game does not have."""
    known = list_states(game)
    if state in known:
        return
    listed = f"It has {', '.join(known) or 'none'}; gymsolve roms state saves further ones."
    raise ConfigError(f"{game} has no state {state!r}.", where=where, hint=listed)
