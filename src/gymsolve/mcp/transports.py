"""Connects clients to the server: over standard input and output, or over HTTP on this machine."""

import hmac
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from gymsolve.mcp.server import make_server
from gymsolve.service.agent_limits import Home

_ORPHAN_SECONDS = 2.0
_SCHEME = b"bearer "
Application = Callable[[Any, Any, Any], Awaitable[None]]


def serve_stdio(home: Home) -> None:
    """Speak over standard input and output until the client is gone."""
    _end_with_parent(os.getppid())
    anyio.run(_over_stdio, home)


async def _over_stdio(home: Home) -> None:
    server = make_server(home)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _end_with_parent(parent: int) -> None:
    """End this process when its parent is gone: a host that is killed does not end its servers."""

    def watch() -> None:
        while os.getppid() == parent:
            threading.Event().wait(_ORPHAN_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="end with the client").start()


def serve_http(home: Home, port: int, token: str) -> None:
    """Serve on this machine alone; requests need the token as `Authorization: Bearer TOKEN`."""
    import uvicorn

    app = _guarded(make_server(home).streamable_http_app(host="127.0.0.1"), token)
    with suppress(KeyboardInterrupt):
        uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def _guarded(app: Any, token: str) -> Application:
    """The application behind a token; the SDK checks Host and Origin."""

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            given = headers.get(b"authorization", b"")
            scheme, key = given[: len(_SCHEME)].lower(), given[len(_SCHEME) :]
            if scheme != _SCHEME or not hmac.compare_digest(key, token.encode()):
                asked = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": asked})
                await send({"type": "http.response.body", "body": b"the token is missing or wrong\n"})
                return
        await app(scope, receive, send)

    return guarded
