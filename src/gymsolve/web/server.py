"""The server: pages, JSON below `/api`, and sessions below `/ws`, all behind the guard.

Handlers of `/api` run in threads, because they read files. The socket is bound before anything large is
imported, so that the address is printed at once; a browser that connects early waits for its answer.
"""

import asyncio
import errno
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.routing import Route as Address
from starlette.websockets import WebSocket

from gymsolve.errors import GymsolveError, UnknownRunError, UsageError
from gymsolve.runs.files import parse_json
from gymsolve.runs.schema import is_shallow
from gymsolve.service.agent_limits import Home
from gymsolve.web.assets import Assets
from gymsolve.web.guard import Guard
from gymsolve.web.pages import PAGES, first_data, shell
from gymsolve.web.route import Ask, File, Raw, Reply, Route
from gymsolve.web.routes import ROUTES
from gymsolve.web.sessions import Sessions
from gymsolve.web.threads import Threads

_LARGEST_BODY = 1 << 20
_LARGEST_MESSAGE = 1 << 16
_TURN = 0.0005
"""Seconds that a thread computes while others wait; short, so that files go out while curves are read."""
_LOOK_EVERY = 1.0
"""Seconds between two tests that a file can be opened."""


def make_app(home: Home, *, token: str, host: str, port: int, most_sessions: int = 8) -> Starlette:
    """The application for a folder of runs."""
    sessions, assets = Sessions(home, most_sessions), Assets()
    threads = Threads()

    async def relay(socket: WebSocket) -> None:
        await sessions.relay(socket, socket.path_params["kind"])

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_tell_when_full())
        yield
        watch.cancel()
        await asyncio.gather(sessions.end_all(), threads.end())

    addresses: list[BaseRoute] = [
        *(Address(path, _page(assets, module, title)) for path, (module, title) in PAGES.items()),
        *(
            Address(f"/api{route.path}", _handler(home, threads, route), methods=[route.method])
            for route in ROUTES
        ),
        WebSocketRoute("/ws/{kind}", relay),
        Address("/static/{name:path}", assets.answer),
    ]
    guard = Middleware(Guard, token=token, host=host, port=port)
    failing = {Exception: _tell_failure}
    return Starlette(routes=addresses, middleware=[guard], exception_handlers=failing, lifespan=living)


def serve(home: Home, bound: socket.socket, *, token: str, host: str, most_sessions: int = 8) -> None:
    """Serve on a bound socket until somebody interrupts it."""
    app = make_app(home, token=token, host=host, port=bound.getsockname()[1], most_sessions=most_sessions)
    config = uvicorn.Config(
        app,
        log_level="critical",  # a refused handshake is no error of ours
        access_log=False,
        ws_per_message_deflate=False,
        ws_max_size=_LARGEST_MESSAGE,
        timeout_graceful_shutdown=3,
    )
    sys.setswitchinterval(_TURN)
    server = uvicorn.Server(config)
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, server.handle_exit)  # an exception in the loop would leave it half alive
    server.run(sockets=[bound])


async def _tell_when_full() -> None:
    """Warn in the terminal when there are so many connections that new ones are refused."""
    was_full = False
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        full = _is_full()
        if full and not was_full:
            sys.stderr.write(
                "warning: all files that this process may open are open, so new connections are refused. "
                "Close tabs and whatever else is connected, or raise the limit with: ulimit -n 4096\n"
            )
        was_full = full


def _is_full() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno == errno.EMFILE
    return False


def _page(assets: Assets, module: str, title: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        data = first_data(module, request.path_params, request.query_params)
        return HTMLResponse(shell(assets, module, title, data))

    return answer


def _handler(home: Home, threads: Threads, route: Route) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            body = await _body(request)
            ask = Ask(home, dict(request.path_params), dict(request.query_params), body)
            return _response(await threads.run(lambda: route.call(ask)))
        except GymsolveError as error:
            facts = {"text": error.args[0], "hint": error.hint, "where": error.where}
            return JSONResponse({"error": facts}, _status(error))

    return answer


def _tell_failure(request: Request, error: Exception) -> Response:
    """The answer to a fault of gymsolve itself; the traceback goes to the terminal."""
    sys.stderr.write("".join(traceback.format_exception(error)))
    facts = {"text": f"this failed inside gymsolve ({type(error).__name__}).", "where": None}
    return JSONResponse({"error": {**facts, "hint": "The terminal of the server says where."}}, 500)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a POST."""
    if request.method != "POST":
        return {}
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST_BODY:
            raise UsageError("the request is too large.")
    try:
        data = parse_json(content or b"{}")
    except ValueError as error:
        raise UsageError("the request is not JSON.") from error
    if not isinstance(data, dict) or not is_shallow(data):
        raise UsageError("the request is not a JSON object.")
    return data


def _response(reply: Reply) -> Response:
    if isinstance(reply, Raw):
        return Response(reply.content, media_type=reply.media_type, headers=reply.headers)
    if isinstance(reply, File):
        return FileResponse(reply.path, media_type=reply.media_type, headers=reply.headers)
    return Response(json.dumps(reply, ensure_ascii=False, allow_nan=False), media_type="application/json")


def _status(error: GymsolveError) -> int:
    if isinstance(error, UnknownRunError):
        return 404
    return 400 if isinstance(error, UsageError) else 500
