"""One worker process: it builds its environments, then obeys orders until its owner quits or is gone.

An order is one byte, and so is the answer that it was carried out. The name and arguments of a call follow
its byte; its result, or the error, follows the answer. Building and calls take long, so the worker gives a
sign of life after each environment. `worker_pool.py` has the side that gives the orders.
"""

import faulthandler
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

import gymnasium as gym

from gymsolve.envs.backends.in_process import InProcessEnvs
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.build import CopyBuilder
from gymsolve.envs.processes import ENGINE_DIED
from gymsolve.errors import EngineDiedError, GymsolveError

STEP, CALL, QUIT = b"s", b"c", b"q"
DONE, FAILED, ALIVE = b"d", b"f", b"a"
LOST = (EOFError, OSError)
"""Errors that tell the owner that the worker is gone, perhaps in the middle of a message."""
_GONE = (EOFError, ConnectionError)
"""Errors that tell the worker that its owner is gone."""
SHOW_STACK = signal.SIGUSR1 if sys.platform != "win32" else signal.SIGTERM
"""Makes a worker write to standard error where it is, whatever it is doing."""

Progress: TypeAlias = Callable[[], tuple[int, float | None]]
"""A number that changes while a worker gets on, and for how many seconds it may stay the same."""

_EAGER_SECONDS = 1e-3
"""How long an eager listener stays awake; waking a sleeping one may take 100 µs."""
_TICK_SECONDS = 1.0


class SilenceError(TimeoutError):
    """The other side is there and does not answer; `seconds` says for how long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Line:
    """One end of the connection. An eager one polls for a while before it sleeps."""

    def __init__(self, connection: Connection, *, eager: bool) -> None:
        self.connection = connection
        self._number = connection.fileno()
        self._eager = eager
        self._watch = select.poll()
        self._watch.register(self._number, select.POLLIN)

    def say(self, byte: bytes) -> None:
        os.write(self._number, byte)

    def hear(self) -> bytes:
        """The next byte; none at all when the other side is gone."""
        if self._eager:
            self._stay_awake()
        return os.read(self._number, 1)

    def hear_end(self, progress: Progress) -> bytes:
        """The byte that ends an order, as `hear`; an error once there has been no progress for too long."""
        while (byte := self._hear_within(progress)) == ALIVE:
            pass
        return byte

    def _hear_within(self, progress: Progress) -> bytes:
        if self._eager and self._stay_awake():
            return os.read(self._number, 1)
        waited, last, tick = 0.0, -1, _TICK_SECONDS
        while not self._watch.poll(1000.0 * tick):
            # Ticks count, not seconds: while all processes are stopped (Ctrl-Z) nobody is to blame.
            now, limit = progress()
            waited = waited + tick if now == last else tick
            last = now
            if limit is not None and waited >= limit:
                raise SilenceError(waited)
        return os.read(self._number, 1)

    def _stay_awake(self) -> bool:
        """Look for a while without sleeping; whether something came."""
        until = time.perf_counter() + _EAGER_SECONDS
        while not self._watch.poll(0):
            if time.perf_counter() >= until:
                return False
            os.sched_yield()  # lets others use this core, perhaps the process we wait for
        return True


@dataclass(frozen=True)
class Task:
    """The arguments of a worker; picklable."""

    builders: tuple[CopyBuilder, ...]
    plan: BufferPlan
    rows: slice
    memory: Any
    """The block of memory that holds the buffers of all environments."""
    registered: Any
    """Gymnasium's registration: a process that was not forked may not know the environment."""
    eager: bool
    """There is a core for each process, so polling takes a core from nobody."""


def serve(connection: Connection, task: Task) -> None:
    """Obey orders until the owner quits. Any error but ours ends the process with a traceback."""
    if sys.platform != "win32":
        faulthandler.register(SHOW_STACK, file=2, all_threads=False)
    gym.registry.setdefault(task.registered.id, task.registered)
    line = Line(connection, eager=task.eager)
    buffers = task.plan.place(task.memory).rows(task.rows)
    try:
        copies = InProcessEnvs(task.builders, buffers, on_progress=lambda: line.say(ALIVE))
    except GymsolveError as error:
        with suppress(*_GONE):  # the owner did not wait for it
            _fail(line, error)
        return
    except _GONE:
        return  # the owner is gone
    try:
        line.say(DONE)
        while (order := line.hear()) not in (QUIT, b""):
            _obey(order, line, copies)
    except _GONE:
        pass  # the owner is gone
    except EngineDiedError:
        sys.exit(ENGINE_DIED)  # the owner starts another worker
    finally:
        copies.close()


def _obey(order: bytes, line: Line, copies: InProcessEnvs) -> None:
    try:
        if order == STEP:
            # An environment may keep the action it was given.
            if copies.step(copies.buffers.actions.copy()):
                raise EngineDiedError("an engine died")
            line.say(DONE)
        else:
            name, arguments = line.connection.recv()
            result = call_method(copies, name, arguments)
            line.say(DONE)
            line.connection.send(result)
    except EngineDiedError:
        raise
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
