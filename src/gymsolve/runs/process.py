"""The process that trains a run: its identity, its versions, and whether it is alive.

Process ids are used again; together with the boot and the start time, they identify a process.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SILENT_SECONDS = 1800.0
"""A run of another machine that wrote nothing for this long counts as dead."""


def identity(pid: int | None = None) -> dict[str, Any]:
    """A process of this machine, by default this one, as stored in `run.json`."""
    pid = os.getpid() if pid is None else pid
    return {"pid": pid, "process_start": _process_start(pid), "host": platform.node()}


def is_here(info: dict[str, Any]) -> bool:
    """The process of a run is on this machine."""
    return bool(info["host"] == platform.node())


def is_alive(info: dict[str, Any], folder: Path) -> bool:
    """The process of a run is alive."""
    if not is_here(info) or sys.platform == "win32":
        # Processes of another machine cannot be seen from here, but their files can.
        return time.time() - _last_write(folder) < SILENT_SECONDS
    if info["process_start"] is not None:
        return bool(_process_start(info["pid"]) == info["process_start"])
    try:
        os.kill(info["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # alive, and owned by another user
        return True
    return True


def versions() -> dict[str, str | None]:
    """Versions of Python and of the packages that decide a run's numbers; none is imported."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, used once per run

    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in ("gymsolve", "torch", "numpy", "gymnasium"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return versions


def git_commit() -> str | None:
    """The commit checked out in the working directory, if it belongs to a repository."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):  # git is not installed, or hangs on a network disk
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def _process_start(pid: int) -> str | None:
    """Boot and start tick of a process; None when it is dead or the system has no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return None
    # The command name in parentheses may itself contain spaces and parentheses.
    fields = stat[stat.rindex(")") + 2 :].split()
    if fields[0] in "ZX":  # dead, but its parent has not collected it yet
        return None
    return f"{boot[:8]}:{fields[19]}"


def _last_write(folder: Path) -> float:
    written = [folder / name for name in ("run.json", "metrics.jsonl", "events.jsonl", "log.txt")]
    return max((path.stat().st_mtime for path in written if path.exists()), default=0.0)
