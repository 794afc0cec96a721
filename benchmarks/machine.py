"""The machine the figures come from, and who else is using it.

The load average remembers the last minute, ours included; so what others do is read from the kernel's
counters: before a run, and again over the run itself, less what the run used.
"""

import os
import platform
import resource
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["CpuWatch", "busy_share", "describe_machine", "wait_until_idle"]

_TICK = os.sysconf("SC_CLK_TCK")
_PACKAGES = ("gymsolve", "numpy", "torch", "gymnasium", "ale-py", "envpool")
_HEAD = ("rev-parse", "--short=8", "HEAD")
_STATUS = ("status", "--porcelain", "--untracked-files=no", "--", "../src", "../pyproject.toml")
IDLE = 0.10
"""Share of all cores that others may use before a figure is called noisy."""


def describe_machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": _commit(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "load": round(os.getloadavg()[0], 2),
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def _commit() -> str | None:
    """The commit of this clone, with a + where sources have changed since; None without git."""
    try:
        commit, changed = (_git(*words) for words in (_HEAD, _STATUS))
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changed else commit


def _git(*words: str) -> str:
    here = Path(__file__).parent
    return subprocess.run(
        ["git", *words], cwd=here, capture_output=True, text=True, check=True
    ).stdout.strip()


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def wait_until_idle(patience: float = 60.0) -> float:
    """Wait for others to finish, at most `patience` seconds; the share of all cores still in use."""
    deadline = time.monotonic() + patience
    while True:
        share = busy_share()
        if share <= IDLE or time.monotonic() >= deadline:
            return share
        time.sleep(2.0)


def busy_share(seconds: float = 0.5) -> float:
    """How much of all cores is in use while this process sleeps."""
    busy, total = _cpu_seconds()
    time.sleep(seconds)
    busy_then, total_then = _cpu_seconds()
    return (busy_then - busy) / max(total_then - total, 1e-9)


class CpuWatch:
    """What others used of the machine between two moments."""

    def __init__(self) -> None:
        self.busy, self.total = _cpu_seconds()
        self.own = _own_seconds()

    def others_share(self) -> float:
        busy, total = _cpu_seconds()
        foreign = (busy - self.busy) - (_own_seconds() - self.own)
        return max(0.0, foreign) / max(total - self.total, 1e-9)


def _cpu_seconds() -> tuple[float, float]:
    """Busy and total seconds of all cores since boot; time stolen by other guests counts as busy."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    total = sum(fields)
    idle = fields[3] + fields[4]
    return (total - idle) / _TICK, total / _TICK


def _own_seconds() -> float:
    """Of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
