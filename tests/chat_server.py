"""A chat server on this machine that answers in both formats, or badly, slowly, too much; for tests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ANSWER", "standing_in"]

ANSWER = "<script>alert(1)</script> <img src=x onerror=alert(2)> Good."


class StandIn(BaseHTTPRequestHandler):
    """Answers by the first part of its path; keeps what it was asked."""

    heard: list[dict[str, Any]]
    go_on: threading.Event

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append({"path": self.path, "body": body, "headers": dict(self.headers)})
        case = self.path.split("/")[1]
        if case == "slow":
            self.go_on.wait(30)
            return
        if case == "drip":
            self.send_response(200)
            self.end_headers()
            while not self.go_on.wait(0.05):
                self.wfile.write(b" ")
            return
        status, content = self._answer(case)
        self.send_response(status)
        if case == "moved":
            self.send_header("Location", "/v1/messages")
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, case):
        if case == "refused":
            return 401, json.dumps({"error": {"message": "bad key k-secret here\nnow"}}).encode()
        if case == "moved":
            return 302, b""
        if case == "huge":
            return 200, b" " * 1_000_100
        if case == "page":
            return 200, b"<html>"
        if case == "odd":
            return 200, b'{"choices": []}'
        if case == "strange":
            said = {"choices": [{"message": {"content": "x"}}], "usage": {"total_tokens": "many"}}
            return 200, json.dumps(said).encode()
        if case == "halves":
            said = {"choices": [{"message": {"content": [{"type": "text", "text": "a\ud800b"}]}}]}
            return 200, json.dumps(said).encode()
        if case == "silent":
            return 200, b'{"choices": [{"message": {"content": null}}]}'
        if self.path.endswith("/messages"):
            said = {
                "content": [{"type": "text", "text": ANSWER}],
                "usage": {"input_tokens": 5, "output_tokens": 2},
            }
        else:
            said = {"choices": [{"message": {"content": ANSWER}}], "usage": {"total_tokens": 7}}
        return 200, json.dumps(said).encode()

    def log_message(self, *args):
        pass


@contextmanager
def standing_in() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and what it has been asked; cases are the first part of a path."""
    kind = type("Server", (StandIn,), {"heard": [], "go_on": threading.Event()})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", kind.heard
        kind.go_on.set()
        server.shutdown()
