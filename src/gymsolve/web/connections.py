"""Closes connections that have stopped halfway: half a request, or an answer that nobody reads.

The server of HTTP waits for both without end, and each holds a file open.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

_LOOK_EVERY = 1.0
_LOOKS = 10
"""So many looks may find a connection as it was."""


async def close_half_open(connections: Iterable[Any]) -> None:
    """Look at the connections of a server of uvicorn until this is cancelled."""
    seen: dict[Any, tuple[Any, int]] = {}
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        halted = {one: state for one in list(connections) if (state := _halted(one)) is not None}
        seen = {one: (state, _times(seen.get(one), state)) for one, state in halted.items()}
        for one, (_, times) in seen.items():
            if times >= _LOOKS:
                one.transport.abort()


def _times(before: tuple[Any, int] | None, state: Any) -> int:
    return 1 if before is None or before[0] != state else before[1] + 1


def _halted(connection: Any) -> Any:
    """What a connection waits for; None where it is the server's turn. Sockets of sessions are pinged."""
    if not hasattr(connection, "cycle"):
        return None
    unread = connection.transport.get_write_buffer_size()
    if unread:
        return connection.cycle, unread
    between = connection.cycle is None or connection.cycle.response_complete
    return (connection.cycle, 0) if between else None
