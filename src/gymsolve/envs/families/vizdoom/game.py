"""Opening a Doom scenario: ids, WADs and options, with ViZDoom's own class as the environment.

ViZDoom ignores an option that it does not understand and goes on with another difficulty, other buttons or
another map. Here every option is looked at first, and a wrong one is refused.
"""

import importlib
import os
import re
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym

from gymsolve.envs.families.family import Extra
from gymsolve.errors import ConfigError, MissingExtraError, did_you_mean
from gymsolve.own_code import is_in_run

EXTRA = Extra("vizdoom", "vizdoom", "vizdoom")
PREFIX = "Vizdoom"
_ENTRY = "gymsolve.envs.families.vizdoom.game:open_game"
_KINDS = {
    "available_buttons": ("Button", "button"),
    "available_game_variables": ("GameVariable", "game variable"),
    "screen_resolution": ("ScreenResolution", "resolution"),
    "screen_format": ("ScreenFormat", "format"),
}
"""Options whose values are names: the enumeration, and what one of them is called."""
_FORMATS = ("GRAY8", "RGB24")
_FREE = {"doom": "Freedoom1", "doom2": "Freedoom2"}
"""Games whose maps need data that the user owns, and the free ones beside them."""
_ARGUMENTS = "env.kwargs.game_args"
_HERE = "127.0.0.1"
_SWITCHES = (
    "-host",
    "-join",
    "-port",
    "-deathmatch",
    "-altdeath",
    "-nomonsters",
    "-fast",
    "-respawn",
    "+timelimit",
    "+fraglimit",
    "+name",
    "+colorset",
    "+viz_nocheat",
    "+viz_respawn_delay",
)
"""Arguments of the engine that change the game and nothing else."""
_FLAGS = ("treat_episode_timeout_as_truncation", "use_multi_binary_action_space")
_OWN = {
    "frame_skip": (1, "a number of tics from 1"),
    "max_buttons_pressed": (0, "a number of buttons from 0, which stands for all of them"),
}


@cache
def load_vizdoom() -> Any:
    """The package, whose ids Gymnasium knows from now on."""
    try:
        importlib.import_module("vizdoom.gymnasium_wrapper")
        return importlib.import_module(EXTRA.module)
    except ImportError as error:
        raise MissingExtraError.of(EXTRA.package, EXTRA.name) from error


@cache
def register_games() -> None:
    """The package's own ids, opened by `open_game`."""
    load_vizdoom()
    for name, spec in gym.registry.items():
        if name.startswith(PREFIX) and str(spec.entry_point).startswith("vizdoom."):
            spec.entry_point = _ENTRY


def wads_folder() -> Path:
    """Where the user's own copies of Doom's game data are looked for."""
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / "gymsolve" / "wads"


def open_game(scenario_config_file: str, **options: Any) -> gym.Env[Any, Any]:
    """One environment of the package's own class; its engine starts with the first reset."""
    package = load_vizdoom()
    definitions = importlib.import_module("vizdoom.gymnasium_wrapper.gymnasium_env_defns")
    checked = {name: _check(package, name, value) for name, value in options.items()}
    settings = Path(package.scenarios_path, scenario_config_file)
    if not settings.is_file():
        raise ConfigError(f"there is no file '{settings}'.", where="env.kwargs.scenario_config_file")
    checked |= _game_data(settings, checked)
    if "doom_scenario_path" in checked:
        checked["doom_scenario_path"] = _scenario(package, str(checked["doom_scenario_path"]))
    for name, path in (("scenario_config_file", settings), *_named_files(checked)):
        if is_in_run(path.resolve()):
            problem = f"'{path}' lies in a folder of runs, whose content is never played."
            raise ConfigError(problem, where=f"env.kwargs.{name}", hint="Move the file elsewhere.")
    opened: gym.Env[Any, Any] = definitions.VizdoomScenarioEnv(scenario_config_file, **checked)
    bare: Any = opened
    _require_harmless(bare.game.get_game_args())  # of the options, or of the scenario's own settings
    _check_map(opened, checked)
    return opened


def _require_harmless(arguments: str) -> None:
    """Refuse arguments by which the engine would write files, run scripts or reach other machines.

    They may come with a run from elsewhere, whose settings are data.
    """
    words = arguments.split()
    for at, word in enumerate(words):
        switch = word.lower()
        if word[0] in "+-" and not (switch in _SWITCHES or re.fullmatch(r"\+sv_\w+", switch)):
            known = ", ".join((*_SWITCHES, "+sv_…"))
            problem = f"the engine's argument {word!r} is not passed on."
            raise ConfigError(problem, where=_ARGUMENTS, hint=f"Allowed are: {known}.")
        if not re.fullmatch(r"[\w.+-]+", word):
            raise ConfigError(f"{word!r} is no argument of the engine's.", where=_ARGUMENTS)
        if switch == "-join" and words[at + 1 : at + 2] != [_HERE]:
            raise ConfigError(
                "games are joined on this machine alone.", where=_ARGUMENTS, hint=f"Write: -join {_HERE}"
            )


def _scenario(package: Any, name: str) -> str:
    """A scenario's WAD: one of the package's by its name, or the user's own by its path."""
    shipped = Path(package.scenarios_path, name)
    path = shipped if shipped.is_file() else Path(name).expanduser().absolute()
    if not path.is_file():
        raise ConfigError(f"there is no file '{path}'.", where="env.kwargs.doom_scenario_path")
    return str(path)


def _named_files(options: dict[str, Any]) -> list[tuple[str, Path]]:
    names = ("doom_scenario_path", "doom_game_path")
    return [(name, Path(str(options[name]))) for name in names if name in options]


def _check(package: Any, name: str, value: Any) -> Any:
    """An option as ViZDoom takes it."""
    where = f"env.kwargs.{name}"
    if name in _KINDS:
        return _check_names(package, name, value, where)
    if name in _OWN:
        least, meaning = _OWN[name]
        if type(value) is not int or value < least:
            raise ConfigError(f"should be {meaning}; got {value!r}.", where=where)
    elif name == "doom_skill":
        if type(value) is not int or not 1 <= value <= 5:
            raise ConfigError(f"should be from 1 (easiest) to 5 (nightmare); got {value!r}.", where=where)
    elif name in _FLAGS:
        if not isinstance(value, bool):
            raise ConfigError(f"should be true or false; got {value!r}.", where=where)
    elif name != "render_mode":
        known = _known_options(package)
        if name not in known:
            raise ConfigError("ViZDoom has no such option.", where=where, hint=did_you_mean(name, known))
        if not package.DoomGame().set_config({name: value}):
            raise ConfigError(f"ViZDoom does not take {value!r} here.", where=where)
    return value


def _known_options(package: Any) -> list[str]:
    return [name.removeprefix("set_") for name in vars(package.DoomGame) if name.startswith("set_")]


def _check_names(package: Any, name: str, value: Any, where: str) -> list[str] | str:
    kind, called = _KINDS[name]
    known = list(_FORMATS) if name == "screen_format" else list(vars(package)[kind].__members__)
    several = name.startswith("available")
    names = value if isinstance(value, list | tuple) else [value]
    if several and (not isinstance(value, list | tuple) or (name == "available_buttons" and not names)):
        raise ConfigError(f"should be a list such as [{known[0]}]; got {value!r}.", where=where)
    wanted = [str(word).upper() for word in names]
    for word in wanted:
        if word not in known:
            hint = did_you_mean(word, known) or f"There are {_listed(known)}."
            raise ConfigError(f"Doom has no {called} {word!r}.", where=where, hint=hint)
    return wanted if several else wanted[0]


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:12]) + (" and more" if len(names) > 12 else "")


# ------------------------------------------------------------------------------------- game data


def _game_data(settings: Path, options: dict[str, Any]) -> dict[str, str]:
    """Where the game's own WAD lies, if the scenario names one that does not come with ViZDoom."""
    given = options.get("doom_game_path")
    if given is not None:
        path = Path(given).expanduser().absolute()
        if not path.is_file():
            raise ConfigError(f"there is no file '{path}'.", where="env.kwargs.doom_game_path")
        return {"doom_game_path": str(path)}
    name = _read_setting(settings, "doom_game_path")
    shipped = settings.parent.parent
    if name is None or any((place / name).is_file() for place in (settings.parent, shipped)):
        return {}
    own = wads_folder() / name
    if own.is_file():
        return {"doom_game_path": str(own)}
    free = _FREE.get(settings.stem)
    instead = "" if free is None else f" {PREFIX}{free}… needs none."
    raise ConfigError(
        f"the game's own data, {name}, are not here.",
        where="env.id",
        hint=f"Put your copy at {own}, or name it with env.kwargs.doom_game_path.{instead}",
    )


def _read_setting(settings: Path, key: str) -> str | None:
    for line in settings.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name.strip().lower() == key:
            return value.strip()
    return None


def _check_map(env: gym.Env[Any, Any], options: dict[str, Any]) -> None:
    """The engine would quietly start another map."""
    if "doom_map" not in options:
        return
    bare: Any = env
    files = [Path(bare.game.get_doom_scenario_path()), Path(bare.game.get_doom_game_path())]
    names = [name for file in files if file.is_file() for name in _lumps(file)]
    if names and str(options["doom_map"]).upper() not in names:
        maps = [
            name for before, name in zip(names[1:], names, strict=False) if before in ("THINGS", "TEXTMAP")
        ]
        raise ConfigError(
            f"there is no map {options['doom_map']!r}.",
            where="env.kwargs.doom_map",
            hint=did_you_mean(str(options["doom_map"]), maps) or f"There are {_listed(maps)}.",
        )


def _lumps(wad: Path) -> list[str]:
    """Names of what a WAD holds, in order."""
    with wad.open("rb") as file:
        kind, count, start = struct.unpack("<4sii", file.read(12))
        if kind not in (b"IWAD", b"PWAD"):
            return []
        file.seek(start)
        entries = file.read(16 * count)
    return [
        entry[2].rstrip(b"\0").decode("latin-1").upper() for entry in struct.iter_unpack("<ii8s", entries)
    ]
