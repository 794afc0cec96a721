"""`gymsolve web` with its usual options, without typer, whose import takes longer than the server's.

A page should be there within a second. Typer parses every command line that is not understood here.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LARGEST_PORT = 65535


def serve_quickly(arguments: Sequence[str]) -> bool:
    """Serve the table of runs if a command line asks for no more than that; otherwise return False."""
    options = understand(arguments)
    if options is None:
        return False
    from gymsolve.cli.serving import open_page

    open_page("/", {}, **options)
    return True


def understand(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The options of `web`; None if there are others than `--no-open`, `--port N` and `--runs-dir DIR`."""
    if not arguments or arguments[0] != "web":
        return None
    options: dict[str, Any] = {"port": None, "no_open": False, "runs_dir": None}
    words = iter(arguments[1:])
    for word in words:
        if word == "--no-open":
            options["no_open"] = True
            continue
        value = next(words, "")
        if word == "--port" and value.isascii() and value.isdecimal() and 0 < int(value) <= _LARGEST_PORT:
            options["port"] = int(value)
        elif word == "--runs-dir" and value and not value.startswith("-"):
            options["runs_dir"] = Path(value)
        else:
            return None
    return options | {"token": os.environ.get("GYMSOLVE_WEB_TOKEN") or None}
