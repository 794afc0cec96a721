"""Many readers of a long run: they share what is read, and nobody holds up the server."""

import asyncio
import json
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Page, Route, expect

from gymsolve.runs import Run
from gymsolve.web.connections import close_half_open
from tests.web.conftest import Served, serving
from tests.web.test_guard import ask, cookie
from tests.web.test_watch import keep

LONG = "20260102-000000-CartPole-v1-ppo-long"
RECORDS = 200_000
FOLLOW = f"/api/runs/{LONG}/follow?names=rollout%2Fep_rew_mean"


@pytest.fixture(scope="module")
def long(server: Served) -> Run:
    """A run of many records."""
    run = keep(server.runs_dir, LONG)
    with (run.path / "metrics.jsonl").open("w") as file:
        for step in range(RECORDS):
            row = {"env_steps": step, "time/elapsed": step / 10, "rollout/ep_rew_mean": step % 1000}
            file.write(json.dumps(row) + "\n")
    return run


@pytest.fixture(scope="module", autouse=True)
def idle(server: Served) -> int:
    """Threads of the server while nobody asks for anything."""
    ask(server, "/api/recipes")
    return threads(server)


def size(run: Run) -> int:
    return (run.path / "metrics.jsonl").stat().st_size


def bytes_read(served: Served) -> int:
    """What the server has read so far, from files and sockets."""
    (line,) = [
        one for one in Path(f"/proc/{served.process.pid}/io").read_text().splitlines() if "rchar" in one
    ]
    return int(line.split()[1])


def megabytes(served: Served) -> float:
    """Of memory, at their highest."""
    status = Path(f"/proc/{served.process.pid}/status").read_text().splitlines()
    (line,) = [one for one in status if one.startswith("VmHWM:")]
    return int(line.split()[1]) / 1000


def open_files(served: Served) -> int:
    return len([*Path(f"/proc/{served.process.pid}/fd").iterdir()])


def threads(served: Served) -> int:
    return len([*Path(f"/proc/{served.process.pid}/task").iterdir()])


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():  # the suite's limit of time ends it
        time.sleep(0.02)


def begin(served: Served, path: str, text: str = "") -> socket.socket:
    """A request, or what `text` has of it, on a connection that stays open."""
    place = urlsplit(served.origin)
    connection = socket.create_connection((place.hostname, place.port))
    head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookie(served)}\r\n\r\n"
    connection.sendall((text or head).encode())
    return connection


def ask_patiently(served: Served, path: str) -> bytes:
    """The answer of a server that may have too much to do for now."""
    while True:
        status, headers, content = ask(served, path)
        if status == 200:
            return content
        assert status == 503
        assert "error" in json.loads(content)
        time.sleep(float(headers["retry-after"]))


def test_a_crowd_shares_one_reading(server: Served, long: Run) -> None:
    before, held = bytes_read(server), megabytes(server)
    answers: list[bytes] = []
    crowd = [
        threading.Thread(target=lambda: answers.append(ask_patiently(server, FOLLOW))) for _ in range(40)
    ]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert len(answers) == 40
    assert len(set(answers)) == 1
    assert json.loads(answers[0])["series"]["rollout/ep_rew_mean"]["total"] == RECORDS
    assert bytes_read(server) - before < 2 * size(long)
    assert megabytes(server) < held + 100


def test_more_than_the_server_can_do_is_told_to_come_back(server: Served, long: Run) -> None:
    before = megabytes(server)
    with ExitStack() as held:
        crowd = [held.enter_context(begin(server, f"{FOLLOW}%0Anothing{number}")) for number in range(150)]
        assert ask(server, "/api/runs")[0] == 200  # others are not held up
        refused = crowd[-1].recv(100_000).decode()
        assert refused.startswith("HTTP/1.1 503")
        assert "retry-after: " in refused
        assert '"hint"' in refused
    ask_patiently(server, FOLLOW)  # what the others wanted is not worked on any more
    assert megabytes(server) < before + 100


def test_what_nobody_waits_for_is_not_read_to_its_end(server: Served, long: Run, idle: int) -> None:
    wait_until(lambda: threads(server) <= idle)
    before = bytes_read(server)
    connection = begin(server, f"/api/runs/{LONG}/closer?names=rollout%2Fep_rew_mean&axis=steps&from=0&to=9")
    wait_until(lambda: bytes_read(server) - before > size(long) // 50)
    server.process.send_signal(signal.SIGSTOP)
    connection.close()
    server.process.send_signal(signal.SIGCONT)
    wait_until(lambda: threads(server) <= idle)
    assert bytes_read(server) - before < 0.9 * size(long)


def test_connections_that_stop_halfway_are_closed(server: Served, idle: int) -> None:
    place = urlsplit(server.origin)
    known = f"Host: {place.netloc}\r\nCookie: {cookie(server)}\r\n"
    post = f"POST /api/runs HTTP/1.1\r\n{known}Origin: {server.origin}\r\nContent-Length: 99\r\n\r\n"
    wait_until(lambda: threads(server) <= idle)
    before = open_files(server)
    halves = [
        "GET /api/runs HTTP/1.1\r\nHost: loc",
        f"GET /api/recipes HTTP/1.1\r\n{known}\r\nGET",
        post + '{"env',
    ]
    with ExitStack() as held:
        head, second, body = (held.enter_context(begin(server, "", half)) for half in halves)
        assert head.recv(1000) == b""
        while second.recv(100_000):
            pass
        told = b""
        while b"the rest of the request did not come" not in told:
            told += (part := body.recv(100_000))
            assert part, told
        wait_until(lambda: open_files(server) <= before)


def test_an_answer_that_nobody_reads_is_given_up_and_one_that_is_read_is_not() -> None:
    """A server of a few bytes of code, looked at more often than a second allows."""
    content = bytes(50_000_000)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": content})

    async def serve() -> None:
        bound = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(answer, lifespan="off", log_level="critical"))
        running = asyncio.create_task(server._serve([bound]))  # without the signals of the process
        while not server.started:
            await asyncio.sleep(0.01)
        connections = server.server_state.connections
        sweep = asyncio.create_task(close_half_open(connections, every=0.02))
        reader, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with socket.create_connection(bound.getsockname()) as halted:
            halted.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while len(connections) < 2:
                await asyncio.sleep(0.01)
            received = 0
            while received < len(content):
                received += len(await reader.read(1 << 20))
                await asyncio.sleep(0.02)
            writer.close()
            while connections:
                await asyncio.sleep(0.01)
        sweep.cancel()
        server.should_exit = True
        await running

    asyncio.run(serve())


def test_a_server_that_ends_tells_those_who_wait(tmp_path: Path, long: Run) -> None:
    (tmp_path / LONG).symlink_to(long.path)
    with serving(tmp_path) as served:
        ask(served, "/api/recipes")  # the server has begun
        before = bytes_read(served)
        place = urlsplit(served.origin)
        connection = HTTPConnection(place.hostname or "", place.port)
        connection.request("GET", FOLLOW, headers={"Cookie": cookie(served)})
        wait_until(lambda: bytes_read(served) - before > size(long) // 50)
        served.process.terminate()
        answer = connection.getresponse()
        assert answer.status == 503
        assert "error" in json.loads(answer.read())
        assert served.process.wait() == -signal.SIGTERM or served.process.returncode in (0, 143)
        connection.close()


def test_a_page_comes_back_to_a_server_with_too_much_to_do(
    server: Served, long: Run, page: Page, complaints: list[str]
) -> None:
    refusals = 0

    def refuse_once(route: Route) -> None:
        nonlocal refusals
        refusals += 1
        if refusals > 1:
            route.continue_()
            return
        fault = {"error": {"text": "the server has too much to do now.", "hint": None, "where": None}}
        route.fulfill(status=503, headers={"retry-after": "1"}, json=fault)

    page.route("**/api/runs?*", refuse_once)
    page.goto(server.address())
    expect(page.locator("tbody tr")).to_have_count(1)
    page.unroute("**/api/runs?*")
    assert refusals > 1
    complaints[:] = [words for words in complaints if "503" not in words]
