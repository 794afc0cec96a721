"""Work in another process, for environments of which a process can hold only one.

`call_apart` runs a function there and gives back what it returns; `Apart` keeps an object there and calls its
methods. The process ends with its owner.
"""

import multiprocessing
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from gymsolve.errors import EnvFaultError, GymsolveError

__all__ = ["Apart", "call_apart", "can_fork", "start_process"]

_PATIENCE = 5.0
"""Seconds that the process gets to close what it holds."""


WATCH = "gymsolve watch:"
"""How names of threads begin that only wait and look: they hold no lock then, so a fork may lose them."""


def can_fork() -> bool:
    """Is a fork of this process safe?"""
    busy = [thread for thread in threading.enumerate() if not thread.name.startswith(WATCH)]
    return sys.platform == "linux" and len(busy) == 1 and "torch" not in sys.modules


def start_process(serve: Callable[..., None], *arguments: Any) -> tuple[Any, Connection]:
    """Start a process that runs `serve(its connection, ours, *arguments)`; the process and our connection."""
    context: Any = multiprocessing.get_context("fork" if can_fork() else "spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, ours, *arguments), daemon=True)
    try:
        process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise EnvFaultError(
            f"an environment cannot be sent to a process of its own: {error}.",
            hint="Register it with an entry point that can be imported.",
        ) from error
    finally:
        theirs.close()
    return process, ours


@runtime_checkable
class Closing(Protocol):
    """What has to be closed."""

    def close(self) -> None: ...


class Apart:
    """An object that lives in a process of its own."""

    def __init__(self, registered: Any, build: Callable[..., Any], *arguments: Any) -> None:
        """`build` makes the object there; `registered` makes its environment known there."""
        self._name = registered.id
        self._process, self._connection = start_process(_serve, registered, build, arguments)
        try:
            self._hear()
        except BaseException:
            self.close()
            raise

    def call(self, name: str, *arguments: Any) -> Any:
        """What a method of the object returns."""
        try:
            self._connection.send((name, arguments))
        except ConnectionError as error:
            raise self._died() from error
        return self._hear()

    def get(self) -> Any:
        """A copy of the object itself, sent here."""
        return self.call("")

    def close(self) -> None:
        """End the process; the object is closed there if it can be."""
        self._connection.close()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _hear(self) -> Any:
        try:
            answer = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise self._died() from error
        if isinstance(answer, GymsolveError):
            raise answer
        return answer

    def _died(self) -> EnvFaultError:
        return EnvFaultError(f"the process of {self._name} died; see its output above.")


def call_apart(registered: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process that does nothing else."""
    apart = Apart(registered, function, *arguments)
    try:
        return apart.get()
    finally:
        apart.close()


def _serve(
    connection: Connection,
    far_end: Connection,
    registered: Any,
    build: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Serve calls until the owner quits. Any error but ours ends the process with a traceback."""
    far_end.close()  # a fork has it too, and would never see the other side close
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the owner's business
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gym.registry.setdefault(registered.id, registered)
    try:
        held = build(*arguments)
    except GymsolveError as error:
        with suppress(ConnectionError):  # the owner did not wait for it
            connection.send(error)
        return
    try:
        connection.send(None)
        while True:
            name, given = connection.recv()
            connection.send(_answer(held, name, given))
    except (EOFError, ConnectionError):
        pass  # the owner is gone, or done
    finally:
        if isinstance(held, Closing):
            held.close()


def _answer(held: Any, name: str, given: tuple[Any, ...]) -> Any:
    try:
        return getattr(held, name)(*given) if name else held
    except GymsolveError as error:
        return error
