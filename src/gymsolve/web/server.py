"""The server: pages, JSON below `/api`, and sessions below `/ws`, all behind the guard.

Handlers of `/api` run in threads, because they read files; those that only read take turns (`turns.py`). The
socket is bound before anything large is imported, so that the address is printed at once; a browser that
connects early waits for its answer.
"""

import asyncio
import errno
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.routing import Route as Address
from starlette.websockets import WebSocket

from gymsolve.errors import GymsolveError, UnknownRunError, UsageError
from gymsolve.jobs.cancellation import AbandonedError
from gymsolve.runs.files import parse_json
from gymsolve.runs.schema import is_shallow
from gymsolve.service.agent_limits import Home
from gymsolve.web.assets import Assets
from gymsolve.web.connections import close_half_open
from gymsolve.web.guard import Guard
from gymsolve.web.pages import PAGES, first_data, shell
from gymsolve.web.route import Ask, File, Raw, Route
from gymsolve.web.routes import ROUTES
from gymsolve.web.sessions import Sessions
from gymsolve.web.threads import Threads
from gymsolve.web.turns import COME_BACK, BusyError, Turns

_LARGEST_BODY = 1 << 20
_BODY_SECONDS = 10.0
"""For a body to come."""
_LARGEST_MESSAGE = 1 << 16
_TURN = 0.0005
"""Seconds that a thread computes while others wait; short, so that files go out while curves are read."""
_LOOK_EVERY = 1.0
"""Seconds between two tests that a file can be opened."""


class _Server(uvicorn.Server):
    """Closes what has stopped halfway, and ends the turns before it waits for answers under way."""

    def __init__(self, config: uvicorn.Config, turns: Turns) -> None:
        super().__init__(config)
        self._turns = turns
        self._sweep: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._sweep = asyncio.create_task(close_half_open(self.server_state.connections))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        self._turns.end()
        await super().shutdown(sockets)


def make_app(
    home: Home, *, token: str, host: str, port: int, most_sessions: int = 8, turns: Turns | None = None
) -> Starlette:
    """The application for a folder of runs."""
    sessions, assets = Sessions(home, most_sessions), Assets()
    work = _Work(home, Threads(), turns or Turns())

    async def relay(socket: WebSocket) -> None:
        await sessions.relay(socket, socket.path_params["kind"])

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_tell_when_full())
        yield
        watch.cancel()
        await asyncio.gather(sessions.end_all(), work.threads.end())

    addresses: list[BaseRoute] = [
        *(Address(path, _page(assets, module, title)) for path, (module, title) in PAGES.items()),
        *(Address(f"/api{route.path}", _handler(work, route), methods=[route.method]) for route in ROUTES),
        WebSocketRoute("/ws/{kind}", relay),
        Address("/static/{name:path}", assets.answer),
    ]
    guard = Middleware(Guard, token=token, host=host, port=port)
    failing = {Exception: _tell_failure}
    return Starlette(routes=addresses, middleware=[guard], exception_handlers=failing, lifespan=living)


def serve(home: Home, bound: socket.socket, *, token: str, host: str, most_sessions: int = 8) -> None:
    """Serve on a bound socket until somebody interrupts it."""
    port, turns = bound.getsockname()[1], Turns()
    app = make_app(home, token=token, host=host, port=port, most_sessions=most_sessions, turns=turns)
    config = uvicorn.Config(
        app,
        log_level="critical",  # a refused handshake is no error of ours
        access_log=False,
        ws_per_message_deflate=False,
        ws_max_size=_LARGEST_MESSAGE,
        timeout_graceful_shutdown=3,
    )
    sys.setswitchinterval(_TURN)
    server = _Server(config, turns)
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


@dataclass(frozen=True)
class _Work:
    """Where requests are worked on."""

    home: Home
    threads: Threads
    """For those that act: each of them begins, and is finished when its client has left."""
    turns: Turns
    """For those that read."""


def _handler(work: _Work, route: Route) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            ask = Ask(work.home, dict(request.path_params), dict(request.query_params), await _body(request))
            call = partial(_call, route, ask)
            if request.method == "POST":
                return _response(await work.threads.run(call))
            turn = work.turns.take(request.scope["path"], request.scope["query_string"], call)
            return _response(await _while_connected(request, turn))
        except GymsolveError as error:
            facts = {"text": error.args[0], "hint": error.hint, "where": error.where}
            return JSONResponse({"error": facts}, _status(error), _come_back(error))
        except ClientDisconnect:  # in the middle of its body
            return Response(status_code=400)

    return answer


def _call(route: Route, ask: Ask) -> Raw | File:
    """The reply, as bytes or a file: those who share an answer share its bytes."""
    reply = route.call(ask)
    if isinstance(reply, dict):
        text = json.dumps(reply, ensure_ascii=False, allow_nan=False)
        return Raw(text.encode(), "application/json")
    return reply


async def _while_connected(request: Request, answering: Coroutine[Any, Any, Raw | File]) -> Raw | File:
    """An answer, unless the client leaves before it is there."""
    answer, leaving = asyncio.create_task(answering), asyncio.create_task(_leave(request))
    try:
        await asyncio.wait((answer, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise AbandonedError("the client has left.")
        return await answer
    finally:
        answer.cancel()
        leaving.cancel()


async def _leave(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                content += part
                if len(content) > _LARGEST_BODY:
                    raise UsageError("the request is too large.")
    except TimeoutError as error:
        raise UsageError("the rest of the request did not come.") from error
    try:
        data = parse_json(content or b"{}")
    except ValueError as error:
        raise UsageError("the request is not JSON.") from error
    if not isinstance(data, dict) or not is_shallow(data):
        raise UsageError("the request is not a JSON object.")
    return data


def _response(reply: Raw | File) -> Response:
    if isinstance(reply, File):
        return FileResponse(reply.path, media_type=reply.media_type, headers=reply.headers)
    return Response(reply.content, media_type=reply.media_type, headers=reply.headers)


def _come_back(error: GymsolveError) -> dict[str, str] | None:
    return {"retry-after": str(COME_BACK)} if isinstance(error, BusyError | AbandonedError) else None


def _status(error: GymsolveError) -> int:
    if isinstance(error, UnknownRunError):
        return 404
    if isinstance(error, BusyError | AbandonedError):
        return 503
    return 400 if isinstance(error, UsageError) else 500
