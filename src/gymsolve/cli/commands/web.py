"""`gymsolve web`: runs in the browser; `play` and `inspect` open its other pages."""

from typing import Annotated

from typer import Option

from gymsolve.cli.limits import MaxDisk, MaxHours, read_steps
from gymsolve.cli.options import RunsDir
from gymsolve.cli.serving import USUAL_PORT, open_page

Port = Annotated[
    int | None,
    Option("--port", min=1, max=65535, help=f"Port of the page; {USUAL_PORT}, or a free one, by default."),
]
NoOpen = Annotated[bool, Option("--no-open", help="Print the address and open no browser.")]
Host = Annotated[
    str,
    Option("--host", metavar="ADDRESS", help="Serve other machines too, with the token, over plain HTTP."),
]
Token = Annotated[
    str | None,
    Option("--token", envvar="GYMSOLVE_WEB_TOKEN", help="Token of the page; a new one by default."),
]


def web(
    port: Port = None,
    no_open: NoOpen = False,
    host: Host = "127.0.0.1",
    token: Token = None,
    read_only: Annotated[
        bool, Option("--read-only", help="Pages only show runs; they start, stop and write nothing.")
    ] = False,
    max_runs: Annotated[
        int | None, Option("--max-runs", min=1, help="Most runs at once; no limit by default.")
    ] = None,
    max_steps: Annotated[
        str | None,
        Option("--max-steps", metavar="N", help="Most environment steps of runs started within 24 hours."),
    ] = None,
    max_hours: MaxHours = None,
    max_disk: MaxDisk = None,
    runs_dir: RunsDir = None,
) -> None:
    """Watch runs in the browser, play, and look into episodes; for this machine alone, without --host."""
    allowed = {"steps": read_steps(max_steps), "hours": max_hours, "runs": max_runs, "disk": max_disk}
    allowed |= {"read_only": read_only}
    open_page("/", {}, port=port, no_open=no_open, host=host, token=token, allowed=allowed, runs_dir=runs_dir)
