"""Where a command line becomes an exit code: 0 done, 1 the work failed, 2 the request was wrong.

A person gets one line on standard error; with `--json` a program gets an object on standard output.
Tracebacks are for `--debug`. An error that nobody foresaw becomes a sentence too (`crash_report.py`).
"""

import io
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gymsolve.cli.fast_web import serve_quickly
from gymsolve.cli.printing.only_json import only_json
from gymsolve.cli.signal_guard import SignalGuard
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.jobs.startup_report import announce_error
from gymsolve.own_code import is_in_run
from gymsolve.text import printable

_READER_LEFT = 128 + 13
_GUESSES = re.compile(r"\s*(Did you mean|\(Possible options).*", re.DOTALL)


def answer(given: list[str], ending: SignalGuard, *, called: bool) -> int:
    """Run one command and say what came of it; returns the exit code."""
    _prepare()
    ending.begin()
    arguments = [word for word in given if word != "--debug"]  # accepted anywhere on the line
    debug = len(arguments) < len(given) or os.environ.get("GYMSOLVE_DEBUG") == "1"
    as_json = "--json" in arguments
    try:
        code = ending.exit_code(_run_and_answer(arguments, ending, as_json=as_json))
        if (ended := ending.describe_end(code)) is not None:
            print(ended)
        sys.stdout.flush()
    except GymsolveError as error:
        announce_error(error)
        if debug:
            raise
        return _report(error, as_json=as_json)
    except Exception as error:  # the last place: whatever nobody foresaw becomes a sentence and a file
        if isinstance(error, OSError) and _drop_broken_streams():
            return _unwritten(error)
        from gymsolve.cli.crash_report import explain, names_a_place

        if called and not names_a_place(error):
            raise
        told = explain(error, arguments)
        announce_error(told)
        if debug:
            raise
        return _report(told, as_json=as_json)
    return code


def _run_and_answer(arguments: list[str], ending: SignalGuard, *, as_json: bool) -> int:
    # Benchmarks are a process of their own, which answers itself.
    with only_json(as_json and arguments[0] != "bench") as answer:
        try:
            return _run(arguments)
        except Exception as error:
            if ending.number is not None:  # an import that a signal cut short fails in its own way
                raise KeyboardInterrupt from error
            raise
        finally:
            ending.owes = answer.missing


def _unwritten(error: OSError) -> int:
    """The answer could not be written."""
    if isinstance(error, BrokenPipeError):
        return _READER_LEFT  # `head` or a pager has seen enough
    told = f"the output cannot be written: {(error.strerror or str(error)).lower()}."
    return _report(GymsolveError(told), as_json=False)


def _prepare() -> None:
    """Streams that can take any text, also where there are none, and a path to modules of the user's own."""
    nowhere = None
    if sys.stdout is None or sys.stderr is None:  # closed by the shell: `>&-`
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name need not fit the terminal's encoding
    with suppress(FileNotFoundError):  # the working directory has been deleted
        _find_own_code(Path.cwd())


def _find_own_code(here: Path) -> None:
    """`module:Id` may lie in the working directory; last, so that it cannot shadow anything.

    Not in the folder of a run: a file of somebody else's could stand in for a package that is not installed.
    """
    if is_in_run(here):
        sys.path[:] = [place for place in sys.path if Path(place).absolute() != here]
    elif str(here) not in sys.path:
        sys.path.append(str(here))


def _drop_broken_streams() -> bool:
    """Is standard output or error broken? The interpreter must not flush into it again when it ends."""
    found = False
    for stream in (sys.stdout, sys.stderr):
        broken = _has_no_reader(stream)
        try:
            stream.flush()
        except OSError:
            broken = True
        if broken:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            found = True
    return found


def _has_no_reader(stream: TextIO) -> bool:
    """Is it a pipe that nobody reads any more? What was lost in it is not missed by the next flush."""
    if sys.platform == "win32" or not isinstance(stream, io.TextIOWrapper):
        return False
    import select

    poll = select.poll()
    with suppress(OSError):  # a stream that is no file
        poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _run(arguments: list[str]) -> int:
    if serve_quickly(arguments):
        return 0
    from typer.exceptions import Abort, TyperException

    from gymsolve.cli.app import command_tree

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
    """Why a command line was not understood, and the one that was probably meant, else where to look."""
    from gymsolve.cli.app import app
    from gymsolve.cli.suggestions import translate

    known = [str(command.name) for command in app.registered_commands]
    known += [str(group.name) for group in app.registered_groups]
    meant = translate(arguments, known, missing=message.startswith("Missing argument"))
    if meant is not None:
        return UsageError(f"{_GUESSES.sub('', message).rstrip('. ')}.", hint=meant)
    message = message.rstrip(".")
    command = "".join(f"{word} " for word in arguments[:1] if word in known)
    return UsageError(
        message if message.endswith("?") else f"{message}.", hint=f"See: gymsolve {command}--help"
    )


def _report(error: GymsolveError, *, as_json: bool) -> int:
    if as_json:
        facts = {"message": error.message, "where": error.where, "hint": error.hint}
        bad = {} if error.bad is None else {"bad": error.bad.to_json()}
        told = json.dumps({"error": {**facts, "exit_code": error.exit_code, **bad}}, ensure_ascii=False)
        try:
            print(printable(told, json=True), flush=True)
        except OSError:
            _drop_broken_streams()  # a full disk, or nobody who reads; the other stream may still work
        else:
            return error.exit_code
    import typer

    try:
        typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
        typer.echo(printable(str(error)), err=True)
    except OSError:
        _drop_broken_streams()  # `2>&1 | head`: nobody is left to tell
    return error.exit_code
