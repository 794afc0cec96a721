"""Threads that answer requests, one each; a server that ends does not wait long for them.

Calls that check whether they are still wanted (`jobs/cancellation.py`) end the processes they have started.
Others may hang in a file or in the network and end with the process. Starlette's own threads would keep the
process alive until they are done, and importing them takes longer than most answers.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from gymsolve.jobs.cancellation import wanted_until

Answer = TypeVar("Answer")
_AT_ONCE = 40
_PATIENCE = 5.0
"""Seconds in which calls may end what they have started."""
_GLANCE = 0.02


class Threads:
    """Calls that run beside the loop."""

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._running: set[threading.Thread] = set()

    async def run(self, call: Callable[[], Answer], gone: threading.Event | None = None) -> Answer:
        """Run a call in a thread, wanted until `gone` or the end; returns its result or raises its error."""
        async with self._free:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[Answer] = loop.create_future()

            def work() -> None:
                try:
                    with wanted_until(self._ending if gone is None else gone):
                        settle, result = answer.set_result, call()
                except BaseException as error:  # noqa: BLE001 - the waiting caller raises it
                    settle, result = answer.set_exception, error  # type: ignore[assignment]
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(lambda: None if answer.done() else settle(result))

            thread = threading.Thread(target=work, daemon=True, name="request")
            self._running.add(thread)
            thread.start()
            try:
                return await answer
            finally:
                self._running = {thread for thread in self._running if thread.is_alive()}

    async def end(self) -> None:
        """Cancel the calls, and wait a moment for them to end what they have started."""
        self._ending.set()
        until = time.monotonic() + _PATIENCE
        while any(thread.is_alive() for thread in self._running) and time.monotonic() < until:
            await asyncio.sleep(_GLANCE)
