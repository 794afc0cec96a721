"""Where a command line becomes an exit code: 0 done, 1 the work failed, 2 the request was wrong.

A person gets one line on standard error; with `--json` a program gets an object on standard output.
Tracebacks are for `--debug`, and for errors that nobody foresaw.
"""

import gc
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from typer.exceptions import Abort, TyperException

from gymsolve.cli.app import app
from gymsolve.cli.printing.only_json import only_json
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.own_code import is_in_run
from gymsolve.service.announce import announce_error

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    _find_own_code()
    arguments = [word for word in given if word != "--debug"]  # accepted anywhere on the line
    debug = len(arguments) < len(given) or os.environ.get("GYMSOLVE_DEBUG") == "1"
    try:
        # Benchmarks are a process of their own, which answers itself.
        with only_json("--json" in arguments and arguments[0] != "bench"):
            code = _run(arguments)
        sys.stdout.flush()
    except GymsolveError as error:
        announce_error(error)
        if debug:
            raise
        code = _report(error, as_json="--json" in arguments)
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; the interpreter must not flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + 13
    finally:
        gc.enable()  # a training that was refused had it switched off
    return code


def _find_own_code() -> None:
    """`module:Id` may lie in the working directory; last, so that it cannot shadow anything.

    Not in the folder of a run: a file of somebody else's could stand in for a package that is not installed.
    """
    here = Path.cwd()
    if is_in_run(here):
        sys.path[:] = [place for place in sys.path if Path(place).absolute() != here]
    elif str(here) not in sys.path:
        sys.path.append(str(here))


def _run(arguments: list[str]) -> int:
    try:
        code = app(arguments, prog_name="gymsolve", standalone_mode=False)
    except TyperException as error:
        message = error.format_message().rstrip(".")
        hint = f"See: gymsolve {' '.join(_command_of(arguments))}--help"
        raise UsageError(message if message.endswith("?") else f"{message}.", hint=hint) from error
    except Abort:
        return 130  # Ctrl-C or end of input at a question
    return code if isinstance(code, int) else 0


def _command_of(arguments: list[str]) -> list[str]:
    known = {command.name for command in app.registered_commands} | {g.name for g in app.registered_groups}
    return [*(word for word in arguments[:1] if word in known), ""]


def _report(error: GymsolveError, *, as_json: bool) -> int:
    if as_json:
        facts = {"message": error.message, "where": error.where, "hint": error.hint}
        bad = {} if error.bad is None else {"bad": error.bad.to_json()}
        print(json.dumps({"error": {**facts, "exit_code": error.exit_code, **bad}}, ensure_ascii=False))
        return error.exit_code
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(str(error), err=True)
    return error.exit_code
