"""Serves pages: binds, prints the address, then imports the server.

A page should be there within a second, so `fast_web.py` imports this module without typer, and this module
imports neither runs nor printing.
"""

import contextlib
import secrets
import socket
import sys
import threading
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from gymsolve.errors import MissingExtraError, UsageError
from gymsolve.text import printable

USUAL_PORT = 8650
_SERVERS = ("starlette", "uvicorn", "websockets")
"""Packages of the extra `web`."""


def open_page(
    path: str,
    query: dict[str, str],
    *,
    port: int | None,
    no_open: bool,
    host: str = "127.0.0.1",
    token: str | None = None,
    allowed: dict[str, Any] | None = None,
    runs_dir: Path | None,
) -> None:
    """Print the address of a page on a line of its own, then serve until interrupted.

    `allowed` holds the fields of `Limits`.
    """
    for package in _SERVERS:
        if find_spec(package) is None:  # before an address is printed that nobody would answer
            raise MissingExtraError.of(package, "web")
    secret = token or secrets.token_urlsafe(24)
    bound = _bind(host, port)
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    name = f"[{name}]" if ":" in name else name
    address = f"http://{name}:{bound.getsockname()[1]}{path}?{urlencode({**query, 'token': secret})}"
    print(printable(address), flush=True)
    if host not in ("127.0.0.1", "localhost", "::1"):
        warning = (
            f"Everybody who can reach {host} and knows the token may use it, and plain HTTP hides neither."
        )
        print(printable(warning), file=sys.stderr, flush=True)
    if not no_open:
        threading.Thread(target=_open_browser, args=(address,), daemon=True).start()
    from gymsolve.runs import runs_folder
    from gymsolve.service.agent_limits import Home, Limits
    from gymsolve.web.server import serve

    home = Home(str(runs_folder(runs_dir).absolute()), Limits(**(allowed or {"runs": None})), by="person")
    with contextlib.suppress(KeyboardInterrupt):
        serve(home, bound, token=secret, host=host)


def _bind(host: str, port: int | None) -> socket.socket:
    """A listening socket; with no port given, any free one will do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (port,) if port is not None else (USUAL_PORT, 0):
        bound = socket.socket(family)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(128)
        except socket.gaierror as error:
            raise UsageError(f"{host} is no address of this machine.", where="--host") from error
        except OSError as error:
            bound.close()
            reason = (error.strerror or str(error)).lower()
            taken = UsageError(
                f"port {number} cannot be used: {reason}.", where="--port", hint="Choose another one."
            )
            failure = error
            continue
        return bound
    raise taken from failure


def _open_browser(address: str) -> None:
    if not webbrowser.open(address):
        print("No browser was found here: open the address above in one.", file=sys.stderr, flush=True)
