"""Work in another process, for environments of which a process can hold only one.

`call_apart` runs a function there and gives back what it returns; `Apart` keeps an object there and calls its
methods. The process ends with its owner.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from gymsolve.envs.processes import OwnProcess
from gymsolve.errors import EnvFaultError, GymsolveError

__all__ = ["Apart", "call_apart"]

_TRIES = 3
"""How often a function is called whose process is killed meanwhile."""


class _DiedError(EnvFaultError):
    """The process is gone; what it did may be done again."""


@runtime_checkable
class Closing(Protocol):
    """What has to be closed."""

    def close(self) -> None: ...


class Apart:
    """An object that lives in a process of its own."""

    def __init__(self, registered: Any, build: Callable[..., Any], *arguments: Any) -> None:
        """`build` makes the object there; `registered` makes its environment known there."""
        self._name = registered.id
        try:
            self._process = OwnProcess(_serve, registered, build, arguments)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise EnvFaultError(
                f"an environment cannot be sent to a process of its own: {error}.",
                hint="Register it with an entry point that can be imported.",
            ) from error
        try:
            self._hear()
        except BaseException:
            self.close()
            raise

    def call(self, name: str, *arguments: Any) -> Any:
        """What a method of the object returns."""
        try:
            self._process.connection.send((name, arguments))
        except OSError as error:
            raise self._died() from error
        return self._hear()

    def get(self) -> Any:
        """A copy of the object itself, sent here."""
        return self.call("")

    def close(self) -> None:
        """End the process; the object is closed there if it can be."""
        self._process.end()

    def _hear(self) -> Any:
        try:
            answer = self._process.connection.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error
        if isinstance(answer, GymsolveError):
            raise answer
        return answer

    def _died(self) -> EnvFaultError:
        return _DiedError(f"the process of {self._name} {self._process.last_words()}; see its output above.")


def call_apart(registered: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process that does nothing else; killed, it is called again."""
    for _ in range(_TRIES - 1):
        with suppress(_DiedError):
            return _call_once(registered, function, *arguments)
    return _call_once(registered, function, *arguments)


def _call_once(registered: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    apart = Apart(registered, function, *arguments)
    try:
        return apart.get()
    finally:
        apart.close()


def _serve(
    connection: Connection, registered: Any, build: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Serve calls until the owner quits. Any error but ours ends the process with a traceback."""
    gym.registry.setdefault(registered.id, registered)
    try:
        held = build(*arguments)
    except GymsolveError as error:
        with suppress(OSError):  # the owner did not wait for it
            connection.send(error)
        return
    try:
        connection.send(None)
        while True:
            name, given = connection.recv()
            connection.send(_answer(held, name, given))
    except (EOFError, OSError):
        pass  # the owner is gone, or done
    finally:
        if isinstance(held, Closing):
            held.close()


def _answer(held: Any, name: str, given: tuple[Any, ...]) -> Any:
    try:
        return getattr(held, name)(*given) if name else held
    except GymsolveError as error:
        return error
