"""`gymsolve web` under a crowd: answers, memory, and how soon all is normal again.

There are 2,000 runs, and one more of a million records, which grows. Clients ask for the list, that run and
all of its curves (`follow` without a cursor), one thing after another, each with a connection of its own; a
503 is obeyed. Others begin a request and never finish it. When the crowd has left, in the middle of its
requests, one client asks for the same, and a SIGTERM ends the server.
"""

import asyncio
import json
import math
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.browser.serving import serving
from benchmarks.browser.watching import copy_runs
from benchmarks.figures import spread
from benchmarks.harness import tell
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.server import peak_memory
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["measure_crowd"]

SOON = 2.0
_CLIENTS, _HALF_OPEN, _SECONDS = 200, 20, 60.0
_RUNS, _RECORDS = 2000, 1_000_000
_PATIENCE = 60.0
"""Seconds after which a client gives a request up."""
_RECOVERY = 120.0
_LONGER, _AND = 2.0, 0.2
"""Normal answers take at most so many times as long as before the crowd, and so many seconds."""
_MOST_MEGABYTES, _MOST_RECOVERY, _MOST_ENDING = 500.0, 5.0, 3.0
_NAMES = "names=rollout%2Fep_rew_mean%0Aeval%2Fmean_reward"
_LONG = "20260102-000000-CartPole-v1-ppo-long"
_ADDRESSES = (
    "/api/runs?query=&sort=created&order=down&offset=0&limit=50&trials=",
    f"/api/runs/{_LONG}",
    f"/api/runs/{_LONG}/follow?{_NAMES}",
)


@dataclass
class _Tally:
    """What the crowd was told."""

    answers: list[float] = field(default_factory=list)
    """Seconds of each."""
    refused: int = 0
    failed: int = 0
    hung_up: int = 0
    """Half-open requests that the server has closed."""


def measure_crowd(options: Options) -> None:
    store = Store(options.results, "crowd")
    clients, seconds = (20, 3.0) if options.quick else (_CLIENTS, _SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        runs = _fill(Path(folder), *((20, 20_000) if options.quick else (_RUNS, _RECORDS)))
        for number in range(1 if options.quick else min(options.repeats, 3)):
            busy = wait_until_idle(options.patience)
            for figure in _measure(runs, clients, seconds):
                tell(f"crowd: {figure['case']:56} {figure['value']:10.2f} {figure['unit']}")
                store.add({"tool": OURS, "round": number, **figure, "noisy": busy > IDLE})


def _measure(runs: Path, clients: int, seconds: float) -> Iterator[dict[str, Any]]:
    with serving(runs, "web") as (address, _):
        asyncio.run(_ask_all(address))  # the first answers read what later ones remember
        usual = asyncio.run(_ask_all(address))
    with serving(runs, "web") as (address, pid):  # one that remembers nothing
        tally = asyncio.run(_crowd(address, runs / _LONG / "metrics.jsonl", clients, seconds))
        recovered = _recover(address, usual)
        megabytes = peak_memory(pid)
        began = time.monotonic()
        os.killpg(pid, signal.SIGTERM)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        ending = time.monotonic() - began
    times = spread(tally.answers)
    asked = len(tally.answers) + tally.refused + tally.failed
    soon = sum(took <= SOON for took in tally.answers)
    yield {"case": "answers", "value": len(tally.answers), "unit": "requests"}
    yield {"case": "told to come back", "value": tally.refused, "unit": "requests"}
    yield {"case": "failed or given up", "value": tally.failed, "unit": "requests"}
    yield {"case": f"answered within {SOON:g} s", "value": 100 * soon / asked, "unit": "%", "least": 50.0}
    yield {"case": "median answer", "value": times.median if times else _PATIENCE, "unit": "s"}
    yield {"case": "memory at its highest", "value": megabytes, "unit": "MB", "most": _MOST_MEGABYTES}
    closed = 100 * tally.hung_up / _HALF_OPEN
    yield {"case": "half-open requests closed", "value": closed, "unit": "%", "least": 100.0}
    yield {"case": "normal after the crowd", "value": recovered, "unit": "s", "most": _MOST_RECOVERY}
    yield {"case": "ended by SIGTERM after", "value": ending, "unit": "s", "most": _MOST_ENDING}


async def _crowd(address: str, growing: Path, clients: int, seconds: float) -> _Tally:
    """All clients at once, until they leave together; a file grows meanwhile."""
    tally = _Tally()
    tasks = [asyncio.create_task(_poll(address, number, tally)) for number in range(clients)]
    tasks += [asyncio.create_task(_begin_only(address, tally)) for _ in range(_HALF_OPEN)]
    tasks.append(asyncio.create_task(_record(growing)))
    await asyncio.wait(tasks, timeout=seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return tally


async def _poll(address: str, number: int, tally: _Tally) -> None:
    """Ask for one thing after another."""
    while True:
        number += 1
        began = time.monotonic()
        try:
            async with asyncio.timeout(_PATIENCE):
                status, headers, _ = await _ask(address, _ADDRESSES[number % len(_ADDRESSES)])
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            tally.failed += 1
            await asyncio.sleep(1.0)
            continue
        if status == 200:
            tally.answers.append(time.monotonic() - began)
        elif status == 503:
            tally.refused += 1
            await asyncio.sleep(float(headers.get("retry-after", "1")))
        else:
            tally.failed += 1


async def _record(path: Path) -> None:
    """A record each second, as a training writes them."""
    number = _RECORDS
    while True:
        number += 1
        with path.open("a") as file:
            file.write(_line(number))
        await asyncio.sleep(1.0)


async def _begin_only(address: str, tally: _Tally) -> None:
    """Half of a request, and then nothing."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(b"GET /api/runs HTTP/1.1\r\nHost: loc")
        with suppress(ConnectionError):
            await reader.read()
        tally.hung_up += 1
    finally:
        writer.close()


async def _ask(address: str, path: str) -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(address)
    cookie = f"gymsolve_{place.port}={place.query.removeprefix('token=')}"
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers["content-length"]))
        return int(first.split()[1]), headers, body
    finally:
        writer.transport.abort()  # who leaves does not wait for the server


async def _ask_all(address: str) -> list[float]:
    """Seconds of an answer of each kind."""
    seconds = []
    for path in _ADDRESSES:
        began = time.monotonic()
        async with asyncio.timeout(_RECOVERY):
            status, _, _ = await _ask(address, path)
        seconds.append(time.monotonic() - began if status == 200 else math.inf)
    return seconds


def _recover(address: str, usual: list[float]) -> float:
    """Seconds until each address has been answered as before the crowd."""
    began = time.monotonic()
    while time.monotonic() - began < _RECOVERY:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            now = asyncio.run(_ask_all(address))
            if all(late <= _LONGER * before + _AND for late, before in zip(now, usual, strict=True)):
                return time.monotonic() - began
        time.sleep(0.1)
    return _RECOVERY


def _fill(folder: Path, runs: int, records: int) -> Path:
    """A folder of runs, one of which has many records."""
    copy_runs(folder / "runs", runs)
    copy_runs(folder / "long", 1)
    (long,) = (folder / "long").iterdir()
    run = long.rename(folder / "runs" / _LONG)
    info = run / "run.json"
    info.write_text(json.dumps(json.loads(info.read_text()) | {"id": run.name}))
    with (run / "metrics.jsonl").open("w") as file:
        for number in range(1, records + 1):
            file.write(_line(number))
    return folder / "runs"


def _line(number: int) -> str:
    value = 100 * math.sin(number / 10_000) + number % 7
    row = {"env_steps": 1000 * number, "time/elapsed": number / 10, "rollout/ep_rew_mean": value}
    if number % 100 == 0:
        row["eval/mean_reward"] = value
    return json.dumps(row) + "\n"
