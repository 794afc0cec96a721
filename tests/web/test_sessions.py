"""Sessions as processes: how many there may be at once, and that each ends with its tab, whatever ends it."""

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from websockets.sync.client import ClientConnection

from gymsolve.runs.inspections import list_inspections
from gymsolve.runs.run import Run
from tests.chromium import need_browser
from tests.processes import children_of, is_running, soon_gone
from tests.web.conftest import Served, serving
from tests.web.test_guard import ask, hear, open_socket

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
LIMIT = 8
REFUSAL = f"{LIMIT} sessions are open, which is the limit of this server: close one of their tabs."
WAIT = 120.0
"""Seconds after which something hangs."""
expect.set_options(timeout=120_000)  # a busy machine takes its time


@pytest.fixture(scope="module")
def run(server: Served) -> Run:
    shutil.copytree(KEPT, server.runs_dir / "20260102-000000-CartPole-v1-ppo-0000")
    return Run(server.runs_dir / "20260102-000000-CartPole-v1-ppo-0000")


def sessions(served: Served) -> set[int]:
    """Processes of sessions; the server starts nothing else here."""
    return set(children_of(served.process.pid))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ten_sessions_at_once_are_refused_past_the_limit_until_one_closes(
    server: Served, run: Run, page: Page
) -> None:
    with ExitStack() as closing:
        opening = [open_socket(server, "play", origin=server.origin) for _ in range(10)]
        tabs = [closing.enter_context(tab) for tab in opening]
        for tab in tabs:
            tab.send('{"env": "CartPole-v1"}')
        refused: list[ClientConnection] = []
        while len(refused) < len(tabs) - LIMIT:
            refused += [tab for tab in tabs if tab not in refused and _is_refused(tab)]
        _limit_is_told_on_pages(server, run, page)
        wait_for(lambda: len(sessions(server)) == LIMIT)
        next(tab for tab in tabs if tab not in refused).close()
        page.get_by_role("button", name="Watch it play").click()
        expect(page.locator(".player")).to_contain_text("step")
        there = sessions(server)
    page.get_by_role("button", name="Stop playing").click()
    assert soon_gone(*there)


def _is_refused(tab: ClientConnection) -> bool:
    """Refusals come at once; whoever has a process hears of it when the environment is there."""
    try:
        told = hear(tab, 0.01)
    except TimeoutError:
        return False
    assert told["type"] != "refused" or told["text"] == REFUSAL
    return told["type"] == "refused"


def _limit_is_told_on_pages(server: Served, run: Run, page: Page) -> None:
    alert = page.get_by_role("alert")
    for address in ("/play?env=CartPole-v1", f"/inspect?run={run.id}&seed=5", f"/run/{run.id}"):
        page.goto(server.address(address))
        if "/run/" in address:
            page.get_by_role("button", name="Watch it play").click()
            alert = page.locator(".player").get_by_role("status")
        expect(alert).to_contain_text(REFUSAL)


@pytest.fixture
def doomed(chromium: Browser) -> Iterator[tuple[Browser, int]]:
    """A browser of its own that keeps pages when they are left, as people's do; and its process."""
    mark = f"--gymsolve-doomed={os.getpid()}"
    opened = chromium.browser_type.launch(
        executable_path=need_browser(),
        args=["--disable-dev-shm-usage", mark],
        ignore_default_args=["--disable-back-forward-cache"],
    )
    found = [int(one.parent.name) for one in Path("/proc").glob("[0-9]*/cmdline") if mark in _read(one)]
    yield opened, min(found)
    opened.close()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def test_a_session_ends_with_its_tab_its_page_and_its_browser(
    server: Served, run: Run, doomed: tuple[Browser, int]
) -> None:
    browser, process = doomed
    wait_for(lambda: not sessions(server))
    page = browser.new_page()
    page.set_default_timeout(1000 * WAIT)
    stage = page.locator(".stage[data-frame]")

    def only() -> int:
        wait_for(lambda: len(sessions(server)) == 1)
        return sessions(server).pop()

    page.goto(server.address("/play?env=CartPole-v1&seed=1"))
    stage.wait_for()
    first = only()
    page.reload()
    assert soon_gone(first)
    stage.wait_for()
    second = only()

    page.goto(f"{server.origin}/play")
    assert soon_gone(second)
    page.go_back(wait_until="commit")  # the browser shows the page as it was left
    expect(page.get_by_role("alert")).to_contain_text("The session ended when the page was left.")
    page.get_by_role("button", name="Start again").click()
    page.locator('.stage[data-step="0"]:not(:has(.over))').wait_for()
    third = only()
    page.close()
    assert soon_gone(third)

    page = browser.new_page()
    page.set_default_timeout(1000 * WAIT)
    page.goto(server.address(f"/inspect?run={run.id}&seed=6"))
    page.locator("form.picker button.main:enabled").wait_for()
    assert [one.facts["seed"] for one in list_inspections(run)] == [6]
    inspector = only()
    assert is_running(inspector)
    os.kill(process, signal.SIGKILL)
    assert soon_gone(process, inspector)


HANGS = """
import os, pathlib, time
pathlib.Path("begun").write_text(str(os.getpid()))
time.sleep(3600)
"""


def test_a_server_that_ends_waits_for_no_request_and_leaves_no_start_behind(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(HANGS)
    begun = tmp_path / "begun"
    with contextlib.chdir(tmp_path), serving(tmp_path / "runs") as served:
        body = json.dumps({"env": "hanging:Any-v0"})
        asking = threading.Thread(target=_ask_in_vain, args=(served, body), daemon=True)
        asking.start()
        wait_for(lambda: begun.exists() and begun.read_text() != "")
        served.process.terminate()
        assert served.process.wait(WAIT) == 0
        assert soon_gone(int(begun.read_text()))
        asking.join(WAIT)


def _ask_in_vain(served: Served, body: str) -> None:
    with contextlib.suppress(OSError, HTTPException):
        ask(served, "/api/runs", method="POST", body=body, Origin=served.origin)


def test_a_server_ends_with_the_terminal(tmp_path: Path) -> None:
    with serving(tmp_path / "runs") as served, open_socket(served, "play", origin=served.origin) as tab:
        tab.send('{"env": "CartPole-v1"}')
        wait_for(lambda: len(sessions(served)) == 1)
        children = sessions(served)
        served.process.send_signal(signal.SIGHUP)
        assert served.process.wait(WAIT) == 0
        assert soon_gone(*children)
