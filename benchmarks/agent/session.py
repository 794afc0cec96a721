"""One agent's session with the server: counts calls and bytes."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

__all__ = ["Session", "open_session"]


@dataclass
class Session:
    """The tools as an agent sees them, and what it has cost so far."""

    client: Any
    calls: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    errors: int = 0
    names: list[str] = field(default_factory=list)

    async def tools(self) -> list[dict[str, Any]]:
        listed = (await self.client.list_tools()).tools
        return [
            {"name": one.name, "description": one.description, "schema": one.input_schema} for one in listed
        ]

    async def call(self, name: str, /, **arguments: Any) -> str:
        """The text of an answer; structured content as JSON."""
        answer = await self.client.call_tool(name, arguments)
        text = "\n".join(part.text for part in answer.content if part.type == "text")
        self.calls += 1
        self.errors += bool(answer.is_error)
        self.names.append(name)
        self.bytes_sent += len(json.dumps(arguments).encode())
        self.bytes_received += sum(
            len((part.text if part.type == "text" else part.data).encode()) for part in answer.content
        )
        return text

    def estimate(self, listed: int) -> int:
        """Tokens of all this and of a list of tools with so many bytes: about a quarter of the bytes."""
        return (self.bytes_sent + self.bytes_received + listed) // 4

    async def ask(self, name: str, /, **arguments: Any) -> Any:
        """The same as data."""
        return json.loads(await self.call(name, **arguments))


@asynccontextmanager
async def open_session(folder: Path) -> AsyncIterator[Session]:
    """A server over standard input, in the folder of a task."""
    words = ["-P", "-m", "gymsolve", "mcp", "--runs-dir", str(folder / "runs"), "--max-runs", "2"]
    server = StdioServerParameters(command=sys.executable, args=words, cwd=str(folder))
    async with Client(server) as client:
        yield Session(client)
