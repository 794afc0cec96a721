"""One worker process: it builds its environments, then obeys orders until its owner quits or is gone.

An order is one byte, and so is the answer that it was carried out. The name and arguments of a call follow
its byte; its result, or the error, follows the answer. `worker_pool.py` has the side that gives the orders.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import gymnasium as gym

from gymsolve.envs.backends.in_process import InProcessEnvs
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.build import CopyBuilder
from gymsolve.errors import GymsolveError

__all__ = ["CALL", "DONE", "FAILED", "LOST", "QUIT", "STEP", "Line", "Task", "call_method", "serve"]

STEP, CALL, QUIT = b"s", b"c", b"q"
DONE, FAILED = b"d", b"f"
LOST = (EOFError, ConnectionError)
"""Errors that mean that the other side is gone."""

_EAGER_SECONDS = 1e-3
"""How long an eager listener stays awake; waking a sleeping one may take 100 µs."""


class Line:
    """One end of the connection. An eager one polls for a while before it sleeps."""

    def __init__(self, connection: Connection, *, eager: bool) -> None:
        self.connection = connection
        self._number = connection.fileno()
        self._watch = select.poll() if eager else None
        if self._watch is not None:
            self._watch.register(self._number, select.POLLIN)

    def say(self, byte: bytes) -> None:
        os.write(self._number, byte)

    def hear(self) -> bytes:
        """The next byte; none at all when the other side is gone."""
        if self._watch is not None:
            until = time.perf_counter() + _EAGER_SECONDS
            while not self._watch.poll(0) and time.perf_counter() < until:
                os.sched_yield()  # lets others use this core, perhaps the process we wait for
        return os.read(self._number, 1)


@dataclass(frozen=True)
class Task:
    """What a worker needs to know; picklable."""

    builders: tuple[CopyBuilder, ...]
    plan: BufferPlan
    rows: slice
    memory: Any
    """The block of memory that holds the buffers of all environments."""
    registered: Any
    """Gymnasium's registration: a process that was not forked may not know the environment."""
    eager: bool
    """There is a core for each process, so polling takes a core from nobody."""


def serve(connection: Connection, far_end: Connection, task: Task) -> None:
    """Obey orders until the owner quits. Any error but ours ends the process with a traceback."""
    far_end.close()  # a fork has it too, and would never see the other side close
    # Ctrl-C reaches the whole process group; whether to stop is the owner's decision alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gym.registry.setdefault(task.registered.id, task.registered)
    line = Line(connection, eager=task.eager)
    buffers = task.plan.place(task.memory).rows(task.rows)
    try:
        copies = InProcessEnvs(task.builders, buffers)
    except GymsolveError as error:
        with suppress(*LOST):  # the owner did not wait for it
            _fail(line, error)
        return
    try:
        line.say(DONE)
        while (order := line.hear()) not in (QUIT, b""):
            _obey(order, line, copies)
    except LOST:
        pass  # the owner is gone
    finally:
        copies.close()


def _obey(order: bytes, line: Line, copies: InProcessEnvs) -> None:
    try:
        if order == STEP:
            copies.step(copies.buffers.actions.copy())  # an environment may keep the action it was given
            line.say(DONE)
        else:
            name, arguments = line.connection.recv()
            result = call_method(copies, name, arguments)
            line.say(DONE)
            line.connection.send(result)
    except GymsolveError as error:
        _fail(line, error)


def call_method(copies: InProcessEnvs, name: str, arguments: tuple[Any, ...]) -> Any:
    """Call one of the methods that are needed less often than `step`."""
    methods: dict[str, Callable[..., Any]] = {
        "configure": copies.configure,
        "jump": copies.jump,
        "render": copies.render,
        "reset": copies.reset,
        "restore": copies.restore,
        "snapshots": copies.snapshots,
    }
    return methods[name](*arguments)


def _fail(line: Line, error: GymsolveError) -> None:
    line.say(FAILED)
    line.connection.send(error)
