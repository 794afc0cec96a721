"""`gymsolve web` with its usual options, without typer, whose import takes longer than the server's.

A page should be there within a second. Whatever is not plain here goes the long way and is judged there.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LARGEST_PORT = 65535


def serve_quickly(arguments: Sequence[str]) -> bool:
    """Serve the table of runs, if a command line asks for no more than that; False: nothing was done."""
    asked = understand(arguments)
    if asked is None:
        return False
    from gymsolve.cli.serving import open_page

    open_page("/", {}, **asked)
    return True


def understand(arguments: Sequence[str]) -> dict[str, Any] | None:
    """What `web` is called with; None if with more than `--no-open`, `--port N` and `--runs-dir DIR`."""
    if not arguments or arguments[0] != "web":
        return None
    asked: dict[str, Any] = {"port": None, "no_open": False, "runs_dir": None}
    words = iter(arguments[1:])
    for word in words:
        if word == "--no-open":
            asked["no_open"] = True
            continue
        value = next(words, "")
        if word == "--port" and value.isascii() and value.isdecimal() and 0 < int(value) <= _LARGEST_PORT:
            asked["port"] = int(value)
        elif word == "--runs-dir" and value and not value.startswith("-"):
            asked["runs_dir"] = Path(value)
        else:
            return None
    return asked | {"token": os.environ.get("GYMSOLVE_WEB_TOKEN") or None}
