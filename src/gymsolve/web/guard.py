"""Refuses requests of other pages and of browsers without the token of the server.

Other pages in the same browser can reach a server on this machine. A name that resolves to 127.0.0.1 (DNS
rebinding) fails by its Host, a page from elsewhere by its Origin, and everybody else by the token. The token
comes once, in the address that the user opens; a cookie that no script can read replaces it.
"""

import hmac
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_NO_TOKEN = (
    "This page needs the address that gymsolve printed when it started: its token is missing or wrong.\n"
)
_FOREIGN = "Pages from elsewhere may not ask this server.\n"
_CLOSE_POLICY = 1008


class Guard:
    """The application behind its checks."""

    def __init__(self, app: ASGIApp, *, token: str, host: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        named = f"[{host}]" if ":" in host else host  # as a Host header writes an address of IPv6
        self._hosts = {*_LOCAL, named.lower()}
        self._anywhere = host in ("0.0.0.0", "::")
        self._cookie = f"gymsolve_{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": _CLOSE_POLICY})
        else:
            await refusal(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is refused; None for others."""
        headers = Headers(scope=scope)
        host = ",".join(headers.getlist("host"))  # no name has a comma, so there is one of them
        if "," in host or (not self._anywhere and _name(host) not in self._hosts):
            return PlainTextResponse("This server does not have that name.\n", 400)
        origin = headers.get("origin")
        acts = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (acts and origin is None) or (origin is not None and origin != f"http://{host}"):
            return PlainTextResponse(_FOREIGN, 403)
        if (admitted := self._admit(scope)) is not None:
            return admitted
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return PlainTextResponse(_FOREIGN, 403)
        return None if self._knows(headers) else PlainTextResponse(_NO_TOKEN, 401)

    def _knows(self, headers: Headers) -> bool:
        jar = SimpleCookie()
        try:
            jar.load(headers.get("cookie", ""))
        except CookieError:
            return False
        given = jar[self._cookie].value if self._cookie in jar else ""
        return hmac.compare_digest(given.encode(), self._token)

    def _admit(self, scope: Scope) -> Response | None:
        """A redirect to the same page with a cookie instead of the token in its address."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token", "")
        if not hmac.compare_digest(given.encode(), self._token):
            return None
        left = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + scope["path"].lstrip("/")  # //elsewhere would be another server
        answer = RedirectResponse(f"{path}?{left}" if left else path, 303)
        answer.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="strict")
        return answer


def _name(host: str) -> str:
    """The Host of a request without its port."""
    name, _, port = host.lower().rpartition(":")
    return name if port.isdigit() else host.lower()


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    """Add the headers of the policy to answers that do not set them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", ())}
            more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in there]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sending
