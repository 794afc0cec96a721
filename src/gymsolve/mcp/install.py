"""The configuration of hosts: what to write where, so that an agent starts the server by itself.

What is there stays; a copy of the file as it was is kept beside it.
"""

import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError, did_you_mean
from gymsolve.runs.files import os_errors, replace_text
from gymsolve.runs.run import now

__all__ = ["CLIENTS", "Installation", "plan_installation"]

CLIENTS = ("claude-code", "codex", "cursor", "claude-desktop")
_NAME = "gymsolve"


@dataclass(frozen=True)
class Installation:
    """A change of one file that nobody has made yet."""

    client: str
    path: Path
    text: str
    """The whole file as it would be."""
    changes: bool
    """False if it says so already."""

    def write(self) -> Path | None:
        """Write it; returns where the file as it was is kept, None if there was none."""
        kept = None
        with os_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                stamp = re.sub(r"\D", "", now())[:14]
                kept = self.path.with_name(f"{self.path.name}.{stamp}.copy")
                shutil.copy2(self.path, kept)
        replace_text(self.path, self.text)
        return kept


def plan_installation(client: str, words: list[str], home: Path | None = None) -> Installation:
    """What to write for a client; `words` follow `gymsolve mcp`."""
    if client not in CLIENTS:
        hint = did_you_mean(client, CLIENTS) or f"One of: {', '.join(CLIENTS)}."
        raise UsageError(f"there is no client {client!r}.", where="--client", hint=hint)
    home = home or Path.home()
    command, given = sys.executable, ["-P", "-m", "gymsolve", "mcp", *words]
    if client == "codex":
        return _toml(client, home / ".codex" / "config.toml", command, given)
    path = {
        "claude-code": Path.cwd() / ".mcp.json",
        "cursor": Path.cwd() / ".cursor" / "mcp.json",
        "claude-desktop": _desktop(home),
    }[client]
    return _json(client, path, {"command": command, "args": given})


def _desktop(home: Path) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if sys.platform == "win32":
        return home / "AppData" / "Roaming" / "Claude" / "claude_desktop_config.json"
    return home / ".config" / "Claude" / "claude_desktop_config.json"


def _json(client: str, path: Path, entry: dict[str, Any]) -> Installation:
    before = _read(path)
    try:
        stored = json.loads(before) if before.strip() else {}
        servers = stored.setdefault("mcpServers", {})
        changes = servers.get(_NAME) != entry
        servers[_NAME] = entry
    except (ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            "the file is not what it should be, so nothing was changed.", where=str(path)
        ) from error
    return Installation(client, path, json.dumps(stored, indent=2, ensure_ascii=False) + "\n", changes)


def _toml(client: str, path: Path, command: str, given: list[str]) -> Installation:
    before = _read(path)
    section = f"[mcp_servers.{_NAME}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(given)}\n"
    found = re.search(rf"^\[mcp_servers\.{_NAME}\]\n(?:(?!\[).*\n?)*", before, re.MULTILINE)
    if found is None:
        text = before + ("\n" if before and not before.endswith("\n\n") else "") + section
    else:
        text = before[: found.start()] + section + before[found.end() :]
    return Installation(client, path, text, text != before)


def _read(path: Path) -> str:
    with os_errors(path):
        return path.read_text(encoding="utf-8") if path.exists() else ""
