"""`gymsolve roms`: games of the user's own for stable-retro."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json, RunsDir, Trust, trusts
from gymsolve.cli.printing.output import print_json, print_table, say
from gymsolve.errors import UsageError

Press = Annotated[
    Path | None,
    Option(
        "--press",
        metavar="FILE",
        help="Buttons to press: lines such as RIGHT B 30 (frames); a number alone presses nothing.",
    ),
]
Start = Annotated[
    str | None,
    Option(
        "--from",
        metavar="STATE",
        help="State to begin at, by default the first; none switches the console on.",
    ),
]
PolicyOf = Annotated[
    str | None,
    Option("--run", metavar="RUN[@CHECKPOINT]", help="Begin at the state that this run's policy reaches."),
]
Steps = Annotated[
    int | None, Option("--steps", min=0, help="Steps that the policy plays; by default all but the last.")
]
Wait = Annotated[int, Option("--wait", min=0, max=100_000, help="Frames to let pass at the end.")]
Replace = Annotated[bool, Option("--replace", help="Replace a state that was saved before.")]


def import_files(
    path: Annotated[Path, Argument(metavar="PATH", help="A ROM, or a folder of ROMs.")], json: Json = False
) -> int:
    """Take over ROMs that you own: recognised by their checksum, copied into your data folder."""
    from gymsolve.envs.families.retro.roms import import_roms

    roms = import_roms(path)
    games = [rom.game for rom in roms if rom.game is not None]
    if json:
        print_json([{"path": str(rom.path), "game": rom.game, "checksum": rom.checksum} for rom in roms])
        return 0 if games else 1
    for rom in roms:
        if rom.game:
            say(f"{rom.path} is {rom.game}")
        else:
            packed = "; unpack it, if it is an archive" if rom.path.suffix == ".zip" else ""
            say(f"{rom.path} is no game that stable-retro knows (SHA-1 {rom.checksum}){packed}")
    if games:
        say(f"Train with: gymsolve train {games[0]}")
    return 0 if games else 1


def list_games(json: Json = False) -> int:
    """List the console games whose ROM is here, with the states they can start from."""
    from gymsolve.envs.families.retro.roms import list_roms

    games = list_roms()
    if json:
        print_json(games)
    else:
        print_table(("environment", "states"), [(game, ", ".join(states)) for game, states in games.items()])
    return 0


def save(
    game: Annotated[str, Argument(metavar="GAME", help="Such as Retro/SuperMarioBros-Nes-v0.")],
    name: Annotated[str, Argument(metavar="NAME", help="Name of the new state.")],
    press: Press = None,
    start: Start = None,
    run: PolicyOf = None,
    steps: Steps = None,
    wait: Wait = 0,
    replace: Replace = False,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Save a state of a game for `--set env.kwargs.state=NAME`: by buttons, or where a policy gets."""
    from gymsolve.envs.families.retro.states import game_of, parse_presses, save_state

    bare = game_of(game)
    if run is None and press is None and start is None and not wait:
        raise UsageError("nothing leads to the state.", where="NAME", hint="Give --press FILE or --run RUN.")
    if run is not None and start is not None:
        raise UsageError("a state begins at --from or where --run gets, not both.", where="--from")
    if steps is not None and run is None:
        raise UsageError("steps are those of a policy.", where="--steps", hint="Give --run RUN too.")
    presses = [*(() if press is None else parse_presses(press)), *([([], wait)] if wait else [])]
    begin: str | bytes | None = start
    if run is not None:
        from gymsolve.apps.play.console_state import reach_state

        trust = trusts(run, runs_dir, trust=trust, json=json)
        played, begin, taken = reach_state(run, steps=steps, runs_dir=runs_dir, trust=trust)
        if game_of(played) != bare:
            raise UsageError(f"that run played {played}, not {bare}.", where="--run")
        if not json:
            say(f"the policy played {taken} steps")
    place, variables = save_state(bare, name, presses, start=begin, replace=replace)
    if json:
        print_json({"state": name, "path": str(place), "variables": variables})
    else:
        say(f"saved {place}")
        say(", ".join(f"{key} {value}" for key, value in variables.items()))
        say(f"Train from it with: gymsolve train Retro/{bare} --set env.kwargs.state={name}")
