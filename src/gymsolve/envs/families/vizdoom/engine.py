"""The engine behind a Doom environment: a process of its own, which leaves nothing behind.

ViZDoom starts its engine in the working directory, where it writes a folder and a settings file, and leaves
it running when the process that plays is killed. Here a launcher goes between: the engine starts in a folder
that is gone once it runs, hears no Ctrl-C of the terminal and, on Linux, ends with the process that started
it.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_END_WITH_PARENT = (
    "import ctypes, os, sys; os.setsid(); ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
)
"""1 is PR_SET_PDEATHSIG, 9 is SIGKILL; both outlive the exec."""
_SHARED = Path("/dev/shm")
_NAMES = ("ViZDoomMQCtr", "ViZDoomMQDoom", "ViZDoomSM")


def start_engine(game: Any, program: str, begin: Callable[[], object]) -> int:
    """Let `begin` start the engine (`program`) of a game that is not running; its process."""
    game.set_doom_config_path(os.devnull)  # neither read nor written
    with tempfile.TemporaryDirectory(prefix="gymsolve-vizdoom-") as folder:
        launcher = Path(folder, "launch")
        launcher.write_text(_script(folder, program), encoding="utf-8")
        launcher.chmod(0o700)
        game.set_vizdoom_path(str(launcher))
        begin()
        process = int(Path(folder, "process").read_text(encoding="utf-8"))
    # Both sides hold their shared memory by now; its names would outlive a process that is killed.
    for name in _NAMES:
        (_SHARED / f"{name}{game.get_instance_id()}").unlink(missing_ok=True)
    return process


def is_alive(process: int) -> bool:
    """Does an engine still run? ViZDoom itself finds out with the next action only."""
    try:
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False  # ViZDoom has already waited for it


def _script(folder: str, program: str) -> str:
    python: tuple[str, ...] = ()
    if sys.platform == "linux":
        python = (sys.executable, "-IS", "-c", _END_WITH_PARENT)
    command = " ".join(shlex.quote(part) for part in (*python, program))
    return f'#!/bin/sh\ncd {shlex.quote(folder)}\necho $$ > process\nexec {command} "$@"\n'
