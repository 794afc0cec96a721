"""Writes the configuration of hosts, so that an agent starts the server by itself.

All other lines of a file stay, and so do lines that somebody added to our entry (variables, time limits). A
copy of the file as it was is kept beside it. A file that cannot be parsed is left alone.
"""

import json
import os
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError, did_you_mean
from gymsolve.runs.files import os_errors, replace_text
from gymsolve.runs.run import now

CLIENTS = ("claude-code", "codex", "cursor", "claude-desktop")
_NAME = "gymsolve"
_HEADER = re.compile(
    rf"""^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*["']?{_NAME}["']?[ \t]*\].*\n?""", re.MULTILINE
)
_TABLE = re.compile(r"^[ \t]*\[{1,2}[ \t]*[\w\"']", re.MULTILINE)
_OURS = re.compile(r"^[ \t]*(?:command|args)[ \t]*=")


@dataclass(frozen=True)
class Installation:
    """A planned change of one file."""

    client: str
    path: Path
    text: str
    """The whole file as it would be."""
    changes: bool
    """False if the file is like that already."""

    def write(self) -> Path | None:
        """Write the file; returns the copy of the earlier file, None if there was none."""
        kept, mode = None, None
        with os_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                stamp = re.sub(r"\D", "", now())[:20]
                kept = self.path.with_name(f"{self.path.name}.{stamp}.copy")
                shutil.copy2(self.path, kept)
                mode = self.path.stat().st_mode
        place = self.path.resolve()  # a link to where somebody keeps such files stays one
        replace_text(place, self.text)
        if mode is not None:
            place.chmod(mode)
        return kept


def plan_installation(client: str, words: list[str], home: Path | None = None) -> Installation:
    """The change for a client; `words` follow `gymsolve mcp`."""
    if client not in CLIENTS:
        hint = did_you_mean(client, CLIENTS) or f"One of: {', '.join(CLIENTS)}."
        raise UsageError(f"there is no client {client!r}.", where="--client", hint=hint)
    entry = {"command": sys.executable, "args": ["-P", "-m", "gymsolve", "mcp", *words]}
    if client == "codex":
        return _toml(client, _codex(home) / "config.toml", entry)
    path = {
        "claude-code": Path.cwd() / ".mcp.json",
        "cursor": Path.cwd() / ".cursor" / "mcp.json",
        "claude-desktop": _desktop(home or Path.home()),
    }[client]
    return _json(client, path, entry)


def _codex(home: Path | None) -> Path:
    own = os.environ.get("CODEX_HOME") if home is None else None
    return Path(own) if own else (home or Path.home()) / ".codex"


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
        kept = {name: value for name, value in servers.get(_NAME, {}).items() if name not in ("url", "type")}
        changes = servers.get(_NAME) != {**kept, **entry}
        servers[_NAME] = {**kept, **entry}
    except (ValueError, AttributeError, TypeError) as error:
        raise _refused(path) from error
    return Installation(client, path, json.dumps(stored, indent=2, ensure_ascii=False) + "\n", changes)


def _toml(client: str, path: Path, entry: dict[str, Any]) -> Installation:
    before = _read(path)
    ours = "".join(f"{name} = {json.dumps(value)}\n" for name, value in entry.items())
    try:
        wanted = tomllib.loads(before)
        servers = wanted.setdefault("mcp_servers", {})
        stored = servers.get(_NAME)
        if stored is not None and stored == {**stored, **entry}:
            return Installation(client, path, before, changes=False)
        servers[_NAME] = {**(stored or {}), **entry}
        text = _with_section(before, ours)
        if tomllib.loads(text) != wanted:  # ours in a form of their own, such as an inline table
            raise _refused(path)
    except (tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
        raise _refused(path) from error
    return Installation(client, path, text, changes=True)


def _with_section(before: str, ours: str) -> str:
    """The file with our two lines in our table; its other lines stay."""
    header = _HEADER.search(before)
    if header is None:
        gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
        return f"{before}{gap}[mcp_servers.{_NAME}]\n{ours}"
    following = _TABLE.search(before, header.end())
    end = len(before) if following is None else following.start()
    lines = before[header.end() : end].splitlines(keepends=True)
    kept = "".join(_without(lines))
    head = header[0] if header[0].endswith("\n") else f"{header[0]}\n"
    return f"{before[: header.start()]}{head}{ours}{kept}{before[end:]}"


def _without(lines: list[str]) -> list[str]:
    """The lines of a table without our two settings, whose values may take several lines."""
    kept, at = [], 0
    while at < len(lines):
        if not _OURS.match(lines[at]):
            kept.append(lines[at])
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not _is_whole("".join(lines[at:end])):
            end += 1
        at = end
    return kept


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _refused(path: Path) -> UsageError:
    return UsageError("the file is not what it should be, so nothing was changed.", where=str(path))


def _read(path: Path) -> str:
    with os_errors(path):
        try:
            return path.read_text(encoding="utf-8") if path.exists() else ""
        except UnicodeDecodeError as error:
            raise _refused(path) from error
