"""The commands by name; a command is imported when it runs."""

import difflib
import re
import sys
from functools import cache
from typing import Annotated, Any

import typer
from typer import Option
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from gymsolve import __version__
from gymsolve.cli.lazy_commands import LazyCommands, LazyGroup, make_group, new_app
from gymsolve.cli.suggestions import translate
from gymsolve.errors import UsageError

COMMANDS = {
    "train": "train:train",
    "resume": "train:resume",
    "fork": "train:fork",
    "eval": "evaluate:evaluate",
    "record": "record:record",
    "stop": "runs:stop",
    "push": "share:push",
    "pull": "share:pull",
    "inspect": "inspect:inspect",
    "web": "web:web",
    "play": "play:play",
    "diagnose": "diagnose:diagnose",
    "report": "report:report",
    "review": "review:review",
    "fix": "fix:fix",
    "check": "check:check",
    "doctor": "doctor:doctor",
    "bench": "bench:bench",
    "tune-speed": "tune_speed:tune_speed",
}
GROUPS = {
    "runs": (
        "Runs: list, look at, compare, rename, tag, delete.",
        {
            "list": "runs:list_runs",
            "show": "show_runs:show",
            "compare": "show_runs:compare",
            "rename": "edit_runs:rename",
            "tag": "edit_runs:tag",
            "delete": "edit_runs:delete",
        },
    ),
    "recipes": (
        "Recipes: list, look at, check, format.",
        {
            "list": "recipes:list_recipes",
            "show": "show_recipe:show",
            "check": "recipes:check",
            "format": "recipes:format_files",
        },
    ),
    "roms": (
        "ROMs of console games: list, import, save further states.",
        {"list": "roms:list_games", "import": "roms:import_files", "state": "roms:save"},
    ),
    "sweep": (
        "Search settings, and test whether any beats the recipe.",
        {
            "start": "sweep:start",
            "resume": "sweep:resume",
            "list": "sweep:list_sweeps",
            "show": "sweep:show",
            "stop": "sweep:stop",
            "write": "sweep:write",
        },
    ),
    "demos": (
        "Episodes that people played: list, look at, export.",
        {"list": "demos:list_episodes", "show": "demos:show", "export": "demos:export"},
    ),
    "log": (
        "The logbook: what was tried, and what came of it.",
        {"list": "log:list_entries", "add": "log:add"},
    ),
}


_GUESSES = re.compile(r"\s*(Did you mean|\(Possible options).*", re.DOTALL)


class ListByDefault(LazyGroup):
    """`gymsolve runs cartpole` is short for `gymsolve runs list cartpole`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            if args:
                self._refuse_near_miss(args[0])
            args = [self._default(args), *args]
        return super().parse_args(ctx, args)

    def _default(self, args: list[str]) -> str:
        return "list"

    def _refuse_near_miss(self, word: str) -> None:
        """Refuse a word that is almost a command: a search for it would find nothing."""
        near = difflib.get_close_matches(word.lower(), self.commands, n=1, cutoff=0.75)
        if near:
            raise UsageError(
                f"No such command '{word}'. Did you mean '{near[0]}'?",
                hint=f"To search for the word: gymsolve {self.name} list {word}",
            )


class StartByDefault(ListByDefault):
    """`gymsolve sweep CartPole-v1` is short for `gymsolve sweep start CartPole-v1`."""

    def _default(self, args: list[str]) -> str:
        return "start" if args and args[0] not in ("--json", "--runs-dir") else "list"


def _show_version(asked: bool) -> None:
    if asked:
        print(f"gymsolve {__version__}")
        raise typer.Exit


app = new_app(help="Name an environment, get a solved agent and an explanation.", cls=LazyGroup)


@app.callback(
    invoke_without_command=True,
    epilog="Exit codes: 0 done, 1 the work failed, 2 the request was wrong, 129 the terminal was closed, "
    "130 stopped by Ctrl-C or `gymsolve stop`, 143 terminated.",
)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, Option("--debug", help="Show tracebacks of errors; anywhere on the line, or GYMSOLVE_DEBUG=1.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@cache
def command_tree() -> Any:
    """All commands; each is imported when it is called."""
    tree = get_command(app)
    assert isinstance(tree, LazyGroup)
    kinds = {"sweep": StartByDefault}
    groups = {
        name: make_group(name, kinds.get(name, ListByDefault), *parts) for name, parts in GROUPS.items()
    }
    tree.commands = LazyCommands({**COMMANDS, **groups, "mcp": "mcp:serve"})
    return tree


def run_command(arguments: list[str]) -> int:
    """Run a command line; returns the exit code."""
    streams = sys.stdout, sys.stderr
    try:
        code = command_tree()(arguments, prog_name="gymsolve", standalone_mode=False)
    except TyperException as error:
        raise _refusal(error.format_message(), arguments) from error
    except Abort:
        return 130  # end of input at a question
    except SystemExit as leaving:
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        # Typer takes every broken pipe for a reader that has left; it may be that of a worker.
        sys.stdout, sys.stderr = streams
        raise leaving.__context__ from None
    return code if isinstance(code, int) else 0


def _refusal(message: str, arguments: list[str]) -> UsageError:
    """The error about a command line, with the command that was probably meant, else where to look."""
    commands = list(command_tree().commands)
    meant = translate(arguments, commands, missing=message.startswith("Missing argument"))
    if meant is not None:
        return UsageError(f"{_GUESSES.sub('', message).rstrip('. ')}.", hint=meant)
    message = message.rstrip(".")
    message += "" if message.endswith("?") else "."
    command = "".join(f"{word} " for word in arguments[:1] if word in commands)
    return UsageError(message, hint=f"See: gymsolve {command}--help")
