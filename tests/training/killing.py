"""Trainings that die: a forked child trains and is killed, as `kill -9` would do it."""

import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

import gymsolve.api  # noqa: F401 — before forking, so that children need not import torch
from gymsolve.training.observer import Silent


class KillAt(Silent):
    """Kills its own process, without any warning, at the n-th record or rollout step."""

    def __init__(self, *, records: int = 0, steps: int = 0) -> None:
        self.records, self.steps = records, steps

    def record(self, record: dict[str, Any]) -> None:
        self.records -= 1
        if self.records == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def rollout_step(self, step: int, total: int) -> None:
        self.steps -= 1
        if self.steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], object]) -> int:
    """Do `work` in a forked process; the signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except Exception:  # noqa: BLE001 — shown here, and failing the parent below
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, "the child failed"
    return os.WTERMSIG(status)
