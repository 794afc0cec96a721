"""Work in another process, for environments of which a process can hold only one.

`call_isolated` runs a function there and returns its result; `Isolated` keeps an object there and calls its
methods. The process ends with its owner.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from gymsolve.envs.processes import OwnProcess
from gymsolve.errors import EnvFaultError, EnvLostError, GymsolveError
from gymsolve.settings.config import EnvConfig

_TICK_SECONDS = 1.0
_BUSY_PATIENCE = 1.0
"""Seconds until a process is killed that is to end and still owes an answer."""
_TRIES = 3
"""How often a function is called whose process is killed meanwhile."""


@runtime_checkable
class Closing(Protocol):
    """An object that has to be closed."""

    def close(self) -> None: ...


class Isolated:
    """An object that lives in a process of its own."""

    def __init__(
        self, registered: Any, build: Callable[..., Any], *arguments: Any, patience: float | None = None
    ) -> None:
        """`build` makes the object there; `registered` makes its environment known there.

        An answer may take `patience` seconds; None waits for ever.
        """
        self._name, self._patience, self._busy = registered.id, patience, True
        try:
            self._process = OwnProcess(_serve, registered, build, arguments)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise EnvFaultError(
                f"an environment cannot be sent to a process of its own: {error}.",
                hint="Register it with an entry point that can be imported.",
            ) from error
        try:
            self._hear()
        except BaseException:  # the caller gets no object to close
            self.close()
            raise

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the object and return its result."""
        self._busy = True
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
        self._process.end(*([_BUSY_PATIENCE] if self._busy else []))

    def _hear(self) -> Any:
        try:
            self._wait()
            answer = self._process.connection.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error
        self._busy = False
        if isinstance(answer, GymsolveError):
            raise answer
        return answer

    def _wait(self) -> None:
        waited = 0.0
        while not self._process.connection.poll(_TICK_SECONDS):
            waited += _TICK_SECONDS  # ticks, not seconds: while all processes are stopped nobody is to blame
            if self._patience is not None and waited >= self._patience:
                self._process.process.kill()
                raise EnvFaultError(
                    f"the process of {self._name} has not answered for {waited:g} seconds and was killed.",
                    hint="If that is how long it takes, raise env.build_timeout and env.reset_timeout.",
                )

    def _died(self) -> EnvLostError:
        return EnvLostError(
            f"the process of {self._name} {self._process.describe_end()}; see its output above."
        )


def call_isolated(
    registered: Any, function: Callable[..., Any], *arguments: Any, patience: float | None = None
) -> Any:
    """Call a function in a process that does nothing else; if that process is killed, call it again."""
    for _ in range(_TRIES - 1):
        with suppress(EnvLostError):
            return _call_once(registered, function, arguments, patience)
    return _call_once(registered, function, arguments, patience)


def _call_once(
    registered: Any, function: Callable[..., Any], arguments: tuple[Any, ...], patience: float | None
) -> Any:
    apart = Isolated(registered, function, *arguments, patience=patience)
    try:
        return apart.get()
    finally:
        apart.close()


def longest_call(config: EnvConfig) -> float | None:
    """Seconds that building an environment and a first look at it may take; None for any time."""
    limits = config.build_timeout, config.reset_timeout, config.step_timeout
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None


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
