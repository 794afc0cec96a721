"""Connects clients to the server: over standard input and output, or over HTTP on this machine."""

import hmac
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from gymsolve.mcp.server import make_server
from gymsolve.runs.files import parse_json
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
    async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as reading:
        given, taken = anyio.create_memory_object_stream[Any](0)
        reading.start_soon(_pass_on, incoming, given, outgoing)
        await server.run(taken, outgoing, server.create_initialization_options())
        reading.cancel_scope.cancel()


async def _pass_on(incoming: Any, given: Any, outgoing: Any) -> None:
    """Pass messages on, and answer those that are none: the SDK drops them, and the client would wait."""
    async with given:
        async for message in incoming:
            if isinstance(message, ValidationError):
                message = read_again(message)
            if isinstance(message, SessionMessage) and isinstance(message.message, types.JSONRPCError):
                await outgoing.send(message)
            elif isinstance(message, SessionMessage):
                await given.send(message)


def read_again(error: ValidationError) -> SessionMessage:
    """The message in a line that the SDK cannot read; for one that is no message, the answer to it.

    Halves of surrogate pairs, which are no text, become U+FFFD.
    """
    given = error.errors()[0]["input"]  # the line, or a part of it that is wrong
    try:
        data = parse_json(given.encode(errors="replace")) if isinstance(given, str) else given
        return SessionMessage(types.jsonrpc_message_adapter.validate_python(data, by_name=False))
    except ValidationError:
        known = data.get("id") if isinstance(data, dict) else None
        code, text, to = types.INVALID_REQUEST, "this is no message of JSON-RPC.", known
    except ValueError:
        code, text, to = types.PARSE_ERROR, "this line is not JSON.", None
    to = to if isinstance(to, int | str) else None
    fault = types.ErrorData(code=code, message=text)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=to, error=fault))


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
