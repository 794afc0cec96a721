"""One worker process: it builds its environments, then obeys until told to quit or nobody is left to tell.

The talk: an order is one byte, its end another. A call is followed by its name and arguments, and its
end by the result; a failure by the error. See `workers.py` for the side that gives the orders.
"""

import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import gymnasium as gym

from gymsolve.envs.backends.board import BoardPlan
from gymsolve.envs.backends.copies import Copies
from gymsolve.envs.build import CopyBuilder
from gymsolve.errors import GymsolveError

__all__ = ["CALL", "DONE", "FAILED", "LOST", "QUIT", "STEP", "Task", "serve"]

STEP, CALL, QUIT = b"s", b"c", b"q"
DONE, FAILED = b"d", b"f"
LOST = (EOFError, ConnectionError)
"""What it looks like when the other side is gone."""


@dataclass(frozen=True)
class Task:
    """What a worker needs to know; picklable."""

    builders: tuple[CopyBuilder, ...]
    plan: BoardPlan
    rows: slice
    memory: Any
    """The block that holds the board of all."""
    registered: Any
    """Gymnasium's registration: a process that was not forked may not know the environment."""


def serve(connection: Connection, far_end: Connection, task: Task) -> None:
    """The worker's life. What is not one of our errors ends it, with a traceback for the terminal."""
    far_end.close()  # a fork has it too, and would never see the other side close
    # Ctrl-C reaches the whole process group; whether to stop is the owner's decision alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gym.registry.setdefault(task.registered.id, task.registered)
    board = task.plan.place(task.memory).rows(task.rows)
    try:
        copies = Copies(task.builders, board)
    except GymsolveError as error:
        _fail(connection, error)
        return
    try:
        os.write(connection.fileno(), DONE)
        while (order := os.read(connection.fileno(), 1)) not in (QUIT, b""):
            _obey(order, connection, copies)
    except LOST:
        pass  # the owner is gone
    finally:
        copies.close()


def _obey(order: bytes, connection: Connection, copies: Copies) -> None:
    try:
        if order == STEP:
            copies.step(copies.board.actions.copy())  # an environment may keep the action it was given
            os.write(connection.fileno(), DONE)
        else:
            name, arguments = connection.recv()
            result = _call(copies, name, arguments)
            os.write(connection.fileno(), DONE)
            connection.send(result)
    except GymsolveError as error:
        _fail(connection, error)


def _call(copies: Copies, name: str, arguments: tuple[Any, ...]) -> Any:
    if name == "reset":
        return copies.reset(*arguments)
    if name == "restore":
        return copies.restore(*arguments)
    return copies.snapshots() if name == "snapshots" else copies.render()


def _fail(connection: Connection, error: GymsolveError) -> None:
    os.write(connection.fileno(), FAILED)
    connection.send(error)
