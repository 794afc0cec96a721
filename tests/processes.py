"""Processes that should be gone: looked at in /proc, as their owner may not be us."""

import time
from pathlib import Path

from quick_start import NAME

__all__ = ["children_of", "in_session", "is_running", "soon_gone"]


def is_running(pid: int) -> bool:
    """Whether a process is there and is not just waiting for somebody to ask how it ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def children_of(pid: int) -> list[int]:
    """The processes that a process has started itself and that run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    found = [int(word) for task in tasks for word in (task / "children").read_text().split()]
    return [child for child in found if is_running(child) and not _is_preloaded(child)]


def _is_preloaded(pid: int) -> bool:
    """Is the process one of `preloaded.py`, which gymsolve would not have without its tests?"""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == NAME
    except (FileNotFoundError, ProcessLookupError):
        return False


def soon_gone(*pids: int, seconds: float = 120.0) -> bool:
    """Wait until none of them runs: whoever is killed needs a moment, on a busy machine a long one."""
    deadline = time.monotonic() + seconds
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(is_running(pid) for pid in pids)


def in_session(leader: int) -> dict[int, int]:
    """The processes of a session that run, each with its parent."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, parent, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == leader and state != "Z" and not _is_preloaded(int(folder.name)):
            found[int(folder.name)] = int(parent)
    return found
