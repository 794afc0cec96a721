"""`gymsolve mcp`: serve coding agents, and write the configuration of their clients."""

import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from gymsolve.cli.lazy_commands import new_app
from gymsolve.cli.limits import MaxDisk, MaxHours, read_steps
from gymsolve.cli.options import RunsDir
from gymsolve.cli.printing.output import is_terminal, say
from gymsolve.errors import MissingExtraError, UsageError
from gymsolve.mcp.install import plan_installation
from gymsolve.mcp.prompts import read_text
from gymsolve.runs import runs_folder
from gymsolve.runs.files import os_sentence
from gymsolve.service.agent_limits import Home, Limits

MaxSteps = Annotated[
    str | None,
    Option("--max-steps", metavar="N", help="Most environment steps that agents may train within 24 hours."),
]
MaxRuns = Annotated[int, Option("--max-runs", min=1, help="Most runs at once.")]
ReadOnly = Annotated[bool, Option("--read-only", help="Agents may only read; they start and write nothing.")]


def serve(
    ctx: typer.Context,
    http: Annotated[
        bool, Option("--http", help="Serve over HTTP on this machine instead of standard input.")
    ] = False,
    port: Annotated[int, Option("--port", min=1, max=65535, help="Port of --http.")] = 8765,
    token: Annotated[
        str | None,
        Option("--token", envvar="GYMSOLVE_MCP_TOKEN", help="Token of --http; a new one by default."),
    ] = None,
    max_steps: MaxSteps = None,
    max_hours: MaxHours = None,
    max_runs: MaxRuns = 2,
    max_disk: MaxDisk = None,
    read_only: ReadOnly = False,
    by: Annotated[str, Option("--by", metavar="NAME", help="Who signs the logbook.")] = "agent",
    folder: Annotated[
        Path | None,
        Option(
            "--folder",
            metavar="DIR",
            help="Work in this folder: it holds ./recipes, ./runs and modules of your own.",
        ),
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Serve coding agents over MCP: find, plan, train, watch, diagnose, fix, compare, play, remember."""
    if ctx.invoked_subcommand is not None:
        return
    try:
        from gymsolve.mcp.transports import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "anyio"):
            raise
        raise MissingExtraError.of("mcp", "mcp") from error
    _enter(folder)
    limits = Limits(read_steps(max_steps), max_hours, max_runs, max_disk, read_only)
    home = Home(str(runs_folder(runs_dir).absolute()), limits, by)
    if not http:
        if sys.stdin.isatty():
            say("Waiting for a client on standard input; see: gymsolve mcp install --help", stream=sys.stderr)
        serve_stdio(home)
        return
    secret = token or secrets.token_urlsafe(24)
    _require_free(port)
    say(f"http://127.0.0.1:{port}/mcp  Authorization: Bearer {secret}")
    sys.stdout.flush()
    serve_http(home, port, secret)


def install(
    client: Annotated[
        str, Option("--client", metavar="NAME", help="claude-code, codex, cursor or claude-desktop.")
    ],
    write: Annotated[bool, Option("--write", help="Write the file; without it, only show it.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before writing.")] = False,
    runs_dir: RunsDir = None,
) -> int:
    """Print or write a client's configuration; what is there stays, and a copy is kept."""
    places = {"--folder": Path.cwd(), "--runs-dir": runs_folder(runs_dir).absolute()}
    planned = plan_installation(client, [word for name, path in places.items() for word in (name, str(path))])
    if not planned.changes:
        say(f"{planned.path} has it already.")
        return 0
    if not write:
        say(f"{planned.path}:\n\n{planned.text}\nTo write it: gymsolve mcp install --client {client} --write")
        return 0
    if not yes and not _agreed(str(planned.path)):
        say("Nothing was written.", stream=sys.stderr)
        return 1
    kept = planned.write()
    say(f"Wrote {planned.path}." + (f" As it was: {kept}" if kept else ""))
    return 0


def skill() -> None:
    """Print a skill file for agents that use gymsolve from a shell."""
    say(read_text("skill"))


def _enter(folder: Path | None) -> None:
    """Work in this folder: the programs of agents start servers in folders of their own."""
    if folder is None:
        return
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(str(os_sentence(error)), where="--folder") from error


def _agreed(path: str) -> bool:
    if not (is_terminal() and sys.stdin.isatty()):
        raise UsageError("there is no terminal to ask on.", where="--write", hint="Use --yes.")
    return typer.confirm(f"Write {path}?", default=True, err=True)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(
                f"port {port} is taken: {reason}.", where="--port", hint="Choose another one."
            ) from error


app = new_app(add_completion=False, invoke_without_command=True, callback=serve)
app.command("install")(install)
app.command("skill")(skill)
