"""One worker process as its owner sees it: orders go there, answers come back, and it may be lost."""

import os
import sys
import time
from typing import Any

from gymsolve.envs.backends.worker_process import (
    CALL,
    FAILED,
    QUIT,
    SHOW_STACK,
    Line,
    Progress,
    SilenceError,
    Task,
    serve,
)
from gymsolve.envs.processes import OwnProcess
from gymsolve.errors import GymsolveError


class Worker:
    """One process, its rows, and the connection to it."""

    def __init__(self, task: Task) -> None:
        self.task, self.rows = task, task.rows
        self.own = OwnProcess(serve, task)
        self._line = Line(self.own.connection, eager=task.eager)
        self.lost: str | None = None
        """How it died; None while it lives."""
        self.hung = False
        self.busy = True
        """It builds its environments or carries out an order, and has not said that it is done."""

    def order(self, what: bytes) -> None:
        self.busy = True
        self._line.say(what)

    def call(self, name: str, *arguments: Any) -> None:
        self.order(CALL)
        self.own.connection.send((name, arguments))

    def await_end(self, progress: Progress) -> GymsolveError | None:
        """Wait until the order is carried out; what went wrong, if anything did."""
        end = self._line.hear_end(progress)
        if not end:
            raise EOFError
        self.busy = False
        return self.own.connection.recv() if end == FAILED else None

    def await_result(self, progress: Progress) -> tuple[GymsolveError | None, Any]:
        """The error of a call, if it raised one, and its result."""
        error = self.await_end(progress)
        return error, None if error is not None else self.own.connection.recv()

    def give_up(self, error: Exception, what: str) -> None:
        """Note how it was lost, which the error tells; one that does not return from `what` is killed."""
        if isinstance(error, SilenceError):
            self.hung = True
            self._show_stack()
            self.own.process.kill()
            self.lost = f"was killed: {what} did not return for {error.seconds:g} seconds"
        else:
            self.lost = self.own.describe_end()

    def _show_stack(self) -> None:
        """Let it write where it hangs to standard error."""
        process = self.own.process
        if process.is_alive() and sys.platform != "win32":
            os.kill(process.pid, SHOW_STACK)
            time.sleep(0.2)  # it takes no longer, and nobody can tell when it is done

    def quit(self) -> None:
        try:
            self._line.say(QUIT)
        except OSError:
            return  # the worker is gone

    def bury(self, patience: float) -> None:
        self.own.end(patience)
