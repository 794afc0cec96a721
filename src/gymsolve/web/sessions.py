"""Sessions: a process for each, and a relay of messages between it and one browser tab.

A process holds one environment and one policy and imports torch; when it crashes or hangs, the server goes
on. The tab's first message is its request. A closed tab ends the process, and the tab hears when the process
dies. `apps/serve.py` is the other end.
"""

import asyncio
import json
import os
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from gymsolve.runs.files import parse_json
from gymsolve.runs.schema import is_shallow
from gymsolve.service.agent_limits import Home

KINDS = ("play", "inspect")
_HEADER = struct.Struct("<II")  # lengths of the JSON and of what follows it
_PATIENCE = 2.0
"""Seconds that a process gets to close its environment."""
_LAST_LINES = 12


class Sessions:
    """All sessions of a server."""

    def __init__(self, home: Home, most: int) -> None:
        self._home, self._most = home, most
        self._running: set[_Process] = set()

    async def relay(self, tab: WebSocket, kind: str) -> None:
        """Serve one tab until it closes or its process ends."""
        await tab.accept()
        request = await _first_message(tab)
        if request is None:
            return
        if kind not in KINDS:
            await _tell(tab, "error", f"there is no session of the kind {kind!r}.")
            return
        if len(self._running) >= self._most:
            limit = f"{self._most} sessions are open, which is the limit of this server"
            await _tell(tab, "refused", f"{limit}: close one of their tabs.")
            return
        process = _Process()
        self._running.add(process)
        try:
            await process.start(kind)
            await process.send({**request, "runs_dir": self._home.runs_dir})
            await self._both_ways(tab, process)
        finally:
            self._running.discard(process)
            await process.end()
            with suppress(RuntimeError, WebSocketDisconnect):
                await tab.close()

    async def end_all(self) -> None:
        """End every process."""
        await asyncio.gather(*(process.end() for process in list(self._running)))

    async def _both_ways(self, tab: WebSocket, process: "_Process") -> None:
        down = asyncio.create_task(_from_process(tab, process))
        up = asyncio.create_task(_from_tab(tab, process))
        try:
            await asyncio.wait((down, up), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (down, up):
                task.cancel()
                with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, OSError):
                    await task


class _Process:
    """The process of one session, and our end of its socket."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._errors: asyncio.Task[list[str]] | None = None

    async def start(self, kind: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gymsolve.apps.serve", kind, str(theirs.fileno())),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._reader, self._writer = await asyncio.open_unix_connection(sock=ours)
        assert self._process.stderr is not None
        self._errors = asyncio.create_task(_last_lines(self._process.stderr))

    async def send(self, message: dict[str, Any]) -> None:
        assert self._writer is not None
        text = json.dumps(message).encode()
        self._writer.write(_HEADER.pack(len(text), 0) + text)
        with suppress(ConnectionError):  # the reader of its other end reports that it is gone
            await self._writer.drain()

    async def receive(self) -> tuple[bytes, bytes] | None:
        """The next message, as JSON and what follows it; None after the last one."""
        assert self._reader is not None
        try:
            text, blob = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
            return await self._reader.readexactly(text), await self._reader.readexactly(blob)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def describe_end(self) -> str | None:
        """A sentence on a process that failed; None where it ended as it should."""
        assert self._process is not None
        assert self._errors is not None
        code = await self._process.wait()
        if code == 0:
            return None
        self._kill_group()  # engines and emulators that it left behind hold its standard error open
        lines = await self._errors
        how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
        return f"The process of this session {how}" + (f": {lines[-1]}" if lines else ".")

    async def end(self) -> None:
        """Close its socket, which ends it; kill it, and what it started, if that takes long."""
        if self._writer is not None:
            self._writer.close()
        if self._process is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _PATIENCE)
        self._kill_group()
        await self._process.wait()

    def _kill_group(self) -> None:
        """Kill it and what it started: its children are in its group."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


async def _from_process(tab: WebSocket, process: _Process) -> None:
    while (message := await process.receive()) is not None:
        text, blob = message
        await tab.send_bytes(struct.pack("<I", len(text)) + text + blob)
    if (words := await process.describe_end()) is not None:
        await _tell(tab, "died", words)


async def _from_tab(tab: WebSocket, process: _Process) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            message = await _receive(tab)
            if message is not None:
                await process.send(message)


async def _first_message(tab: WebSocket) -> dict[str, Any] | None:
    try:
        message = await _receive(tab)
    except WebSocketDisconnect:
        return None
    if message is None:
        await _tell(tab, "error", "the first message is not a JSON object.")
    return message


async def _receive(tab: WebSocket) -> dict[str, Any] | None:
    """The next message of a tab; None for one that is no JSON object."""
    message = await tab.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    return _read(message.get("text"))


def _read(text: str | None) -> dict[str, Any] | None:
    """The JSON object in a message of a tab; None where there is none."""
    try:
        data = parse_json((text or "").encode(errors="replace"))
    except ValueError:
        return None
    return data if isinstance(data, dict) and is_shallow(data) else None


async def _tell(tab: WebSocket, kind: str, text: str) -> None:
    message = json.dumps({"type": kind, "text": text}, ensure_ascii=False).encode()
    with suppress(RuntimeError, WebSocketDisconnect):
        await tab.send_bytes(struct.pack("<I", len(message)) + message)
        await tab.close()


async def _last_lines(stream: asyncio.StreamReader) -> list[str]:
    """The last lines of a process's standard error; all of them go to our own."""
    kept: list[str] = []
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # longer than the reader's buffer
            continue
        if not line:
            return kept
        text = line.decode(errors="replace").rstrip()
        if text:
            sys.stderr.write(text + "\n")
            kept = [*kept[1 - _LAST_LINES :], text]
