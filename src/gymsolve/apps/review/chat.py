"""Sends one question to a chat model over HTTP, in the message format of Anthropic or of OpenAI.

Settings come from options and environment variables, the key from the environment alone. A key is sent to its
own address only: no redirect is followed, and only this machine gets one unencrypted. Answers are limited in
time and size.
"""

import base64
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any, Literal

from gymsolve.errors import GymsolveError, UsageError

Format = Literal["anthropic", "openai"]
"""The message format of a server."""

ADDRESS, MODEL, KEY = "GYMSOLVE_CHAT_URL", "GYMSOLVE_CHAT_MODEL", "GYMSOLVE_CHAT_KEY"
FORMATS: dict[Format, tuple[str, str]] = {
    "anthropic": ("https://api.anthropic.com/v1/messages", "ANTHROPIC_API_KEY"),
    "openai": ("https://api.openai.com/v1/chat/completions", "OPENAI_API_KEY"),
}
"""The usual address of each format, and the variable with the key for it."""
_LONGEST_ANSWER = 1_000_000
"""The most bytes of an answer."""
_PIECE = 65536
_MOST_TOKENS = 4096
_HERE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Endpoint:
    """The address, model and message format of a chat server."""

    url: str
    model: str
    format: Format
    key: str = field(default="", repr=False)
    patience: float = 300.0
    """Seconds for a whole answer."""

    @property
    def host(self) -> str:
        return urllib.parse.urlsplit(self.url).netloc


@dataclass(frozen=True)
class Reply:
    """The answer of a model."""

    text: str
    model: str
    tokens: int
    """Tokens of question and answer, as the server counts them; 0 where it does not."""


def find_endpoint(
    url: str | None = None, model: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> Endpoint | None:
    """The server that options and environment name; None where they name none.

    Without an address, the format whose usual key is in the environment decides it.
    """
    address, name = url or environ.get(ADDRESS, ""), model or environ.get(MODEL, "")
    if not address:
        address = next((usual for usual, key in FORMATS.values() if name and environ.get(key)), "")
    if not address:
        return None
    if not name:
        raise UsageError("no model is named.", where=MODEL, hint=f"Set {MODEL}, or give --model.")
    address, form = _complete(address)
    usual, variable = FORMATS[form]
    own = environ.get(variable, "") if _host(address) == _host(usual) else ""
    key = (environ.get(KEY, "") or own).strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the key holds characters that no key has.", where=KEY)
    return Endpoint(address, name, form, key)


def _complete(address: str) -> tuple[str, Format]:
    """The full address and its format: `…/messages` is Anthropic's, all else OpenAI's."""
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError:
        parts = urllib.parse.urlsplit("")
    if "@" in address:  # the message must not repeat a password in it
        message = "the address of a chat server holds no user and no password."
        raise UsageError(message, where=ADDRESS, hint=f"Set {KEY} for the key.")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        hint = "Write it like https://host/v1/chat/completions or https://host/v1/messages."
        raise UsageError(f"{address!r} is no address of a chat server.", where=ADDRESS, hint=hint)
    path = parts.path.rstrip("/")
    if path.endswith("/messages"):
        return address, "anthropic"
    if not path.endswith("/chat/completions"):
        if parts.hostname == _host(FORMATS["anthropic"][0]):
            return FORMATS["anthropic"][0], "anthropic"
        path = f"{path or '/v1'}/chat/completions"
    return urllib.parse.urlunsplit(parts._replace(path=path)), "openai"


def _host(address: str) -> str | None:
    return urllib.parse.urlsplit(address).hostname


def ask(endpoint: Endpoint, question: str, pictures: Sequence[bytes] = ()) -> Reply:
    """One question, with PNG pictures after it; the answer as text."""
    content = [
        {"type": "text", "text": question},
        *(_image(picture, endpoint.format) for picture in pictures),
    ]
    limit = {"max_tokens": _MOST_TOKENS} if endpoint.format == "anthropic" else {}
    answer = post(endpoint, {**limit, "messages": [{"role": "user", "content": content}]})
    try:
        text, tokens = _read(answer, endpoint.format)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _fault(endpoint, "answered in a form that is not its own") from error
    if not text.strip():
        raise _fault(endpoint, "answered without any text")
    return Reply(text, endpoint.model, tokens)


def _image(picture: bytes, form: Format) -> dict[str, Any]:
    """A PNG as a part of a message."""
    data = base64.b64encode(picture).decode()
    if form == "anthropic":
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def _read(answer: Any, form: Format) -> tuple[str, int]:
    """The text of an answer, and the tokens that it took."""
    used = answer.get("usage") or {}
    if form == "anthropic":
        text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
        tokens = int(used.get("input_tokens", 0)) + int(used.get("output_tokens", 0))
    else:
        content = answer["choices"][0]["message"]["content"] or ""
        # Some servers answer in parts.
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        tokens = int(used.get("total_tokens", 0))
    return text.encode(errors="replace").decode(), max(0, tokens)  # JSON may hold halves of characters


def post(endpoint: Endpoint, body: dict[str, Any]) -> Any:
    """The server's answer to a body in its own format, as JSON."""
    if endpoint.key and not endpoint.url.startswith("https:") and _host(endpoint.url) not in _HERE:
        message = f"a key does not go to {endpoint.host} unencrypted."
        raise UsageError(message, where=ADDRESS, hint="Use https.")
    head = {"Content-Type": "application/json", "Accept": "application/json"}
    if endpoint.format == "anthropic":
        head |= {"x-api-key": endpoint.key, "anthropic-version": "2023-06-01"}
    elif endpoint.key:
        head |= {"Authorization": f"Bearer {endpoint.key}"}
    data = json.dumps({"model": endpoint.model, **body}).encode()
    request = urllib.request.Request(endpoint.url, data=data, headers=head, method="POST")
    try:
        with _opener(endpoint).open(request, timeout=endpoint.patience) as answer:
            raw = _receive(answer, endpoint)
    except urllib.error.HTTPError as error:
        raise _refused(endpoint, error) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            raise _fault(endpoint, f"did not answer within {endpoint.patience:g} seconds") from error
        raise _fault(endpoint, f"is not reached ({reason})") from error
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _fault(endpoint, "answered with something that is not JSON") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given: Any, **named: Any) -> None:
        """Follow no redirect: the key belongs to one address."""


def _opener(endpoint: Endpoint) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if _host(endpoint.url) in _HERE:
        handlers.append(urllib.request.ProxyHandler({}))  # no proxy to this machine
    return urllib.request.build_opener(*handlers)


def _receive(answer: HTTPResponse, endpoint: Endpoint) -> bytes:
    """The body, within the limits; a socket's own timeout would restart with every byte."""
    until, received = time.monotonic() + endpoint.patience, bytearray()
    while piece := answer.read1(_PIECE):
        received += piece
        if len(received) > _LONGEST_ANSWER:
            raise _fault(endpoint, f"answered with more than {_LONGEST_ANSWER:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(received)


def _refused(endpoint: Endpoint, error: urllib.error.HTTPError) -> GymsolveError:
    """The error of a refusal: the server's own reason, cut, and without the key."""
    with error:
        reason = error.read(_PIECE).decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        stated = json.loads(reason)["error"]
        reason = str(stated["message"] if isinstance(stated, dict) else stated)
    if endpoint.key:
        reason = reason.replace(endpoint.key, "…")
    reason = " ".join(reason.split())[:300].rstrip(".")
    hints = {
        401: f"Is the key right? Set {KEY}.",
        403: f"Is the key right? Set {KEY}.",
        404: f"Are the address ({ADDRESS}) and the model ({MODEL}) right?",
        429: "Wait a while and send it again.",
    }
    return GymsolveError(
        f"{endpoint.host} refused the question with status {error.code}: {reason or error.reason}.",
        hint=hints.get(error.code),
    )


def _fault(endpoint: Endpoint, what: str) -> GymsolveError:
    return GymsolveError(f"{endpoint.host} {what}.")
