"""Runs a command line and returns its exit code: 0 done, 1 the work failed, 2 the request was wrong.

A person gets an error as one line on standard error; with `--json` a program gets an object on standard
output. Only `--debug` prints tracebacks. An unforeseen error becomes a sentence, too (`crash_report.py`).
"""

import io
import json
import os
import select
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gymsolve.cli.fast_web import serve_quickly
from gymsolve.cli.memory_limit import watch_limit
from gymsolve.cli.printing.only_json import only_json, unwritten
from gymsolve.cli.printing.tables import styled
from gymsolve.cli.signal_guard import SignalGuard
from gymsolve.errors import GymsolveError
from gymsolve.jobs.startup_report import announce_error
from gymsolve.own_code import is_in_run
from gymsolve.text import printable

_READER_LEFT = 128 + 13


def answer(given: list[str], ending: SignalGuard, *, called: bool) -> int:
    """Run one command and print its answer or error; returns the exit code."""
    _prepare()
    ending.begin()
    arguments = [word for word in given if word != "--debug"]  # accepted anywhere on the line
    debug = len(arguments) < len(given) or os.environ.get("GYMSOLVE_DEBUG") == "1"
    as_json = "--json" in arguments
    try:
        code = ending.exit_code(_run_and_answer(arguments, ending, as_json=as_json))
        ending.tell_end(code)
        sys.stdout.flush()
    except GymsolveError as error:
        announce_error(error)
        if debug:
            raise
        return _report(error, as_json=as_json)
    except Exception as error:  # an unforeseen error becomes a sentence and a file
        if isinstance(error, OSError) and (_drop_broken_streams() or _was_printing(error)):
            return _answer_unwritten(error)
        from gymsolve.cli.crash_report import explain, names_a_place

        if called and not names_a_place(error):
            raise
        explained = explain(error, arguments)
        announce_error(explained)
        if debug:
            raise
        return _report(explained, as_json=as_json)
    return code


def _run_and_answer(arguments: list[str], ending: SignalGuard, *, as_json: bool) -> int:
    # A benchmark runs in another process, which prints the answer itself.
    with only_json(as_json and arguments[0] != "bench") as answer:
        try:
            if serve_quickly(arguments):
                return 0
            from gymsolve.cli.app import run_command

            return run_command(arguments)
        except Exception as error:
            if ending.number is not None:  # an import that a signal cut short fails in its own way
                raise KeyboardInterrupt from error
            raise
        finally:
            ending.owes = answer.missing


def _was_printing(error: OSError) -> bool:
    """True for an error of a command that printed: no other module prints, and commands open no files."""
    frames = traceback.extract_tb(error.__traceback__)
    last = Path(frames[-1].filename) if frames else Path()
    return error.filename is None and (Path(__file__).parent in last.parents or "typer" in last.parts)


def _answer_unwritten(error: OSError) -> int:
    """Report that the answer could not be written; returns the exit code."""
    if isinstance(error, BrokenPipeError):
        return _READER_LEFT  # `head` or a pager has seen enough
    return _report(unwritten(error), as_json=False)


def _prepare() -> None:
    """Open missing streams, let all take any text, and put the user's own modules on the path."""
    if sys.stdin is None:  # closed by the shell: `<&-`
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    nowhere = None
    if sys.stdout is None or sys.stderr is None:  # closed by the shell: `>&-`
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name need not fit the terminal's encoding
    watch_limit()
    with suppress(FileNotFoundError):  # the working directory has been deleted
        _find_own_code(Path.cwd())


def _find_own_code(here: Path) -> None:
    """Let `module:Id` name a file of the working directory, last on the path, so that it shadows nothing.

    A run's folder is taken off the path: a file from elsewhere could pose as a package that is not installed.
    """
    if is_in_run(here):
        sys.path[:] = [place for place in sys.path if Path(place).absolute() != here]
    elif str(here) not in sys.path:
        sys.path.append(str(here))


def _drop_broken_streams() -> bool:
    """Redirect broken standard streams, so that the interpreter can flush them; True if there was one."""
    dropped = False
    for stream in (sys.stdout, sys.stderr):
        broken = _has_no_reader(stream)
        try:
            stream.flush()
        except OSError:
            broken = True
        if broken:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            dropped = True
    return dropped


def _has_no_reader(stream: TextIO) -> bool:
    """True for a pipe that nobody reads any more; its next flush may succeed although output was lost."""
    if sys.platform == "win32" or not isinstance(stream, io.TextIOWrapper):
        return False
    poll = select.poll()
    with suppress(OSError):  # a stream that is no file
        poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _report(error: GymsolveError, *, as_json: bool) -> int:
    if as_json:
        facts = {"message": error.message, "where": error.where, "hint": error.hint}
        bad = {} if error.bad is None else {"bad": error.bad.to_json()}
        answer = json.dumps({"error": {**facts, "exit_code": error.exit_code, **bad}}, ensure_ascii=False)
        try:
            print(printable(answer, json=True), flush=True)
        except OSError:
            _drop_broken_streams()  # a full disk, or nobody who reads; the other stream may still work
        else:
            return error.exit_code
    try:
        label = styled("error:", "bold red" if sys.stderr.isatty() else "")
        print(f"{label} {printable(str(error))}", file=sys.stderr, flush=True)
    except OSError:
        _drop_broken_streams()  # `2>&1 | head`: nobody is left to tell
    return error.exit_code
