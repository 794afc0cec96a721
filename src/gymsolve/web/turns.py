"""Turns of requests that read: equal ones share an answer, few are worked on at once, and nobody waits long.

A request joins an equal one that has not begun, never one that has: its answer may be older than the request.
Of one address few are worked on at once, so that a long run does not keep the others waiting. A request that
would wait too long is told when to come back. What nobody waits for any more is dropped, or broken off.
"""

import asyncio
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from gymsolve.errors import GymsolveError
from gymsolve.web.threads import Threads

COME_BACK = 2
"""Seconds after which a request that was refused may come again."""
_AT_ONCE, _WAITING = 8, 400
_AT_ONCE_OF_ONE, _WAITING_OF_ONE = 2, 50
"""The same for a single address."""
_PATIENCE = 4.0
"""Seconds in which a turn has to begin."""


class BusyError(GymsolveError):
    """There is too much to do: nothing was begun."""


@dataclass(eq=False)
class _Turn:
    key: Hashable
    address: str
    call: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    limit: asyncio.TimerHandle | None = None
    waiting: int = 0
    """Requests that wait for the answer."""
    gone: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Requests that read, in the order in which they came."""

    def __init__(self) -> None:
        self._threads = Threads()
        self._waiting: dict[Hashable, _Turn] = {}
        self._begun: dict[_Turn, asyncio.Task[None]] = {}
        self._ending = False

    async def take(self, address: str, query: Hashable, call: Callable[[], Any]) -> Any:
        """The result of a call in a thread, or of an equal one that waits for its turn."""
        turn = self._join(address, query, call)
        turn.waiting += 1
        try:
            return await asyncio.shield(turn.answer)
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                self._drop(turn)

    def end(self) -> None:
        """Refuse what waits, and break off what has begun."""
        self._ending = True
        for turn in list(self._waiting.values()):
            self._refuse(turn)
        for turn in self._begun:
            turn.gone.set()

    def _join(self, address: str, query: Hashable, call: Callable[[], Any]) -> _Turn:
        key = address, query
        if (turn := self._waiting.get(key)) is not None:
            return turn
        beside = sum(turn.address == address for turn in self._waiting.values())
        if self._ending or len(self._waiting) >= _WAITING or beside >= _WAITING_OF_ONE:
            raise _busy()
        loop = asyncio.get_running_loop()
        turn = self._waiting[key] = _Turn(key, address, call, loop.create_future())
        turn.limit = loop.call_later(_PATIENCE, self._refuse, turn)
        self._begin()
        return turn

    def _begin(self) -> None:
        """Begin what may begin."""
        for turn in list(self._waiting.values()):
            beside = [other for other in self._begun if other.address == turn.address]
            if len(self._begun) == _AT_ONCE:
                return
            if len(beside) < _AT_ONCE_OF_ONE and all(other.key != turn.key for other in beside):
                self._leave_queue(turn)
                self._begun[turn] = asyncio.create_task(self._work(turn))

    async def _work(self, turn: _Turn) -> None:
        try:
            result = await self._threads.run(turn.call, turn.gone)
        except Exception as error:  # noqa: BLE001 - the waiting requests raise it
            if turn.waiting:  # an error that nobody takes would be told in the terminal
                turn.answer.set_exception(error)
        else:
            turn.answer.set_result(result)
        finally:
            del self._begun[turn]
            if not self._ending:
                self._begin()

    def _refuse(self, turn: _Turn) -> None:
        self._leave_queue(turn)
        turn.answer.set_exception(_busy())

    def _drop(self, turn: _Turn) -> None:
        """Nobody waits for it any more."""
        turn.gone.set()
        if self._waiting.get(turn.key) is turn:
            self._leave_queue(turn)

    def _leave_queue(self, turn: _Turn) -> None:
        del self._waiting[turn.key]
        if turn.limit is not None:
            turn.limit.cancel()


def _busy() -> BusyError:
    return BusyError("the server has too much to do now.", hint=f"Ask again in {COME_BACK} seconds.")
