"""How soon `gymsolve mcp` lists its tools, and what it weighs, beside an empty server of the same package.

Both are started in turns and spoken to by bare lines of JSON, so that no client's own start is measured.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import tell, worker_environment
from benchmarks.machine import IDLE, wait_until_idle
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options

__all__ = ["CASE", "EMPTY", "MOST_LATER", "MOST_MEGABYTES", "ask_server", "measure_server", "peak_memory"]

CASE = "first list of tools"
EMPTY = "empty"
MOST_LATER = 0.3
"""Target: seconds after the empty server."""
MOST_MEGABYTES = 150.0
"""Target: of memory, once the tools were listed."""
_EMPTY = """
import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    return types.ListToolsResult(tools=[])

async def main():
    server = Server("empty", on_list_tools=list_tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def measure_server(options: Options) -> None:
    store = Store(options.results, "server")
    commands = {OURS: ("-P", "-m", "gymsolve", "mcp", "--runs-dir", "runs"), EMPTY: ("-P", "-c", _EMPTY)}
    for number in range(options.repeats + 1):
        for tool, words in commands.items():
            busy = wait_until_idle(options.patience)
            found = ask_server(words)
            if not number:  # the first of each fills the disk's cache
                continue
            store.add({"case": CASE, "tool": tool, "round": number - 1, **found, "noisy": busy > IDLE})
            tell(f"{CASE} {tool:10} {found['seconds']:6.2f} s  {found['megabytes']:6.0f} MB")


def ask_server(words: tuple[str, ...]) -> dict[str, Any]:
    """Seconds from the start of a server to its list of tools, how many there are, and its memory by then."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=worker_environment(None),
            text=True,
        ) as server,
    ):
        try:
            began = time.perf_counter()
            _ask(server, 1, "initialize", _HELLO)
            _send(server, {"method": "notifications/initialized"})
            listed = _ask(server, 2, "tools/list", {})
            seconds = time.perf_counter() - began
            megabytes = peak_memory(server.pid)
        finally:
            server.kill()
    return {"seconds": seconds, "megabytes": megabytes, "tools": len(listed["tools"])}


def _send(server: "subprocess.Popen[str]", message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def _ask(server: "subprocess.Popen[str]", number: int, method: str, params: dict[str, Any]) -> Any:
    assert server.stdout is not None
    _send(server, {"id": number, "method": method, "params": params})
    for line in server.stdout:
        told = json.loads(line)
        if told.get("id") == number:
            return told["result"]
    raise RuntimeError(f"the server ended without an answer to {method}")


def peak_memory(pid: int) -> float:
    """Megabytes at their highest."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(kilobytes) / 1000
