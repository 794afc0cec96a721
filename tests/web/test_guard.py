"""Who may ask the server, over real HTTP and real WebSockets."""

import hashlib
import json
import socket
import struct
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

import gymsolve.web
from tests.web.conftest import Served

STATIC = Path(gymsolve.web.__file__).parent / "static"


def ask(
    served: Served, path: str, *, method: str = "GET", known: bool = True, body: str = "", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One request, byte for byte as given."""
    place = urlsplit(served.origin)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=20)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if known:
        given["Cookie"] = cookie(served)
    if body:
        given["Content-Length"] = str(len(body))
    connection.putrequest(method, path, skip_host="Host" in given)
    for name, value in given.items():
        connection.putheader(name, value)
    connection.endheaders(body.encode() or None)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def cookie(served: Served) -> str:
    return f"gymsolve_{urlsplit(served.origin).port}={served.token}"


def open_socket(served: Served, kind: str, *, origin: str | None, known: bool = True) -> ClientConnection:
    headers = {"Cookie": cookie(served)} if known else {}
    address = served.origin.replace("http", "ws", 1) + f"/ws/{kind}"
    return connect(address, origin=origin, additional_headers=headers, proxy=None)  # type: ignore[arg-type]


def test_the_token_becomes_a_cookie_that_no_script_reads(server: Served) -> None:
    status, headers, _ = ask(server, f"/inspect?run=a%26b&token={server.token}", known=False)
    assert status == 303
    assert headers["location"] == "/inspect?run=a%26b"
    assert "httponly" in headers["set-cookie"].lower()
    assert "samesite=strict" in headers["set-cookie"].lower()


@pytest.mark.parametrize("path", ["/", "/static/shell.js", "/api/runs", "/run/x", "/?token=wrong"])
def test_nothing_is_served_without_the_token(server: Served, path: str) -> None:
    assert ask(server, path, known=False)[0] == 401
    wrong = f"gymsolve_{urlsplit(server.origin).port}=wrong"
    assert ask(server, path, known=False, Cookie=wrong)[0] == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8650", "127.0.0.1.evil.example", "", "localhost@evil"]
)
def test_a_name_that_resolves_here_is_refused(server: Served, host: str) -> None:
    assert ask(server, "/", Host=host)[0] == 400
    assert ask(server, f"/?token={server.token}", known=False, Host=host)[0] == 400


def test_a_tunnel_with_another_port_is_served(server: Served) -> None:
    assert ask(server, "/", Host="localhost:9999")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1"])
def test_pages_from_elsewhere_may_not_act_or_read(server: Served, origin: str) -> None:
    assert ask(server, "/api/runs", method="POST", Origin=origin)[0] == 403
    assert ask(server, "/api/runs", Origin=origin)[0] == 403


def test_acting_needs_an_origin(server: Served) -> None:
    assert ask(server, "/api/runs", method="POST")[0] == 403


def test_a_link_elsewhere_opens_nothing_by_the_cookie_alone(server: Served) -> None:
    assert ask(server, "/", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(server, f"/?token={server.token}", known=False, Sec_Fetch_Site="cross-site")[0] == 303


def test_a_redirect_never_leaves_the_server(server: Served) -> None:
    _, headers, _ = ask(server, f"//evil.example/?token={server.token}", known=False)
    assert not headers.get("location", "/").startswith("//")


def test_every_answer_keeps_the_page_to_itself(server: Served) -> None:
    for path in ("/", "/static/style.css", "/nothing"):
        headers = ask(server, path)[1]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/static/vendor/../../guard.py",
        "/static/%00",
    ],
)
def test_no_path_leaves_the_folder(server: Served, path: str) -> None:
    status, _, body = ask(server, path)
    assert status in (400, 404)
    assert b"import" not in body


def test_a_socket_needs_origin_and_token(server: Served) -> None:
    for origin, known in ((None, True), ("http://evil.example", True), (server.origin, False)):
        with pytest.raises(InvalidStatus) as refused:
            open_socket(server, "play", origin=origin, known=known)
        assert refused.value.response.status_code == 403


def hear(tab: ClientConnection, timeout: float = 30) -> dict[str, object]:
    data = tab.recv(timeout=timeout)
    assert isinstance(data, bytes)
    (length,) = struct.unpack_from("<I", data)
    told: dict[str, object] = json.loads(data[4 : 4 + length])
    return told


@pytest.mark.parametrize("first", ["[]", "{", "[" * 5000, '"x"'])
def test_a_first_message_that_is_no_object_is_told(server: Served, first: str) -> None:
    with open_socket(server, "play", origin=server.origin) as tab:
        tab.send(first)
        assert hear(tab) == {"type": "error", "text": "the first message is not a JSON object."}


def test_an_unknown_kind_is_told(server: Served) -> None:
    with open_socket(server, "dance", origin=server.origin) as tab:
        tab.send("{}")
        assert hear(tab)["type"] == "error"


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [
            sys.executable,
            "-m",
            "gymsolve",
            "web",
            "--no-open",
            "--port",
            port,
            "--runs-dir",
            str(tmp_path),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") <= 2
    assert f"port {port}" in done.stderr


def test_vendored_files_are_as_published() -> None:
    folder = STATIC / "vendor"
    for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_a_browser_opens_the_printed_address(server: Served, page: Page) -> None:
    page.goto(server.address("/"))
    page.get_by_role("link", name="Runs").wait_for()
    assert page.url == f"{server.origin}/"
    page.get_by_label("Theme").select_option("dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
