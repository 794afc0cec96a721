"""Closes connections that have stopped halfway: half a request, or an answer that nobody reads.

The server of HTTP waits for both without end, and each holds a file open.
"""

import asyncio
from collections.abc import Collection
from typing import Any

_LOOK_EVERY = 1.0
_LOOKS, _LOOKS_UNREAD = 10, 60
"""So many looks may find a connection as it was. An answer waits longer: a film that pauses is not read."""

_State = tuple[Any, int]


async def close_half_open(connections: Collection[Any], every: float = _LOOK_EVERY) -> None:
    """Look at the connections of a server of uvicorn until this is cancelled."""
    seen: dict[Any, tuple[_State, int]] = {}
    while True:
        await asyncio.sleep(every)
        states = [(connection, _halted(connection)) for connection in list(connections)]
        seen = {
            connection: (state, _looks(seen.get(connection), state))
            for connection, state in states
            if state is not None
        }
        for connection, (state, looks) in seen.items():
            if looks >= (_LOOKS_UNREAD if state[1] else _LOOKS):
                connection.transport.abort()


def _looks(before: tuple[_State, int] | None, state: _State) -> int:
    """How many looks in a row have found this state."""
    return 1 if before is None or before[0] != state else before[1] + 1


def _halted(connection: Any) -> _State | None:
    """The request and the unread bytes of a connection that waits for its client; None for others."""
    if not hasattr(connection, "cycle"):  # a socket of a session, which is pinged
        return None
    cycle, unread = connection.cycle, connection.transport.get_write_buffer_size()
    return (cycle, unread) if unread or cycle is None or cycle.response_complete else None
