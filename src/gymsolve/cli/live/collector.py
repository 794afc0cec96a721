"""Switches the garbage collector off until a training begins: imports make many objects and no garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """No collection inside, until `collector_on`."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()  # also after a training that was refused


def collector_on() -> None:
    """Collect again, since everything is imported and built."""
    gc.enable()
