"""A limit on memory (`ulimit -v`) below what NumPy needs is said in one sentence.

Without room for its buffers, OpenBLAS, which NumPy loads, ends the process with a line of its own. Where
there is a limit, a copy of this process therefore imports NumPy first.
"""

import importlib
import mmap
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from gymsolve.errors import GymsolveError

if sys.platform != "win32":
    import resource

_ENDS_PROCESSES = "numpy"
_ROOM = 256 << 20
"""Bytes that a command takes besides: each of its threads reserves 64 MiB for what it will allocate."""
_SIGNS = ("failed to map segment", "cannot allocate memory", "can't allocate memory", "unable to allocate")
"""How libraries and the loader of shared objects say that memory ran out."""


def watch_limit() -> None:
    """From now on, importing NumPy raises an error where the limit on memory leaves no room for it."""
    if memory_limit() is not None and _ENDS_PROCESSES not in sys.modules:
        sys.meta_path.insert(0, _Trial())


def memory_limit() -> int | None:
    """The most bytes that this process may use; None without a limit."""
    if sys.platform == "win32":
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def is_about_memory(error: BaseException) -> bool:
    """The error, or one that has led to it, says that memory ran out."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or any(sign in str(seen).lower() for sign in _SIGNS):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def too_little(what: str) -> GymsolveError:
    """The error about a limit on memory that leaves no room for something."""
    limit = memory_limit()
    allowed = "" if limit is None else f": this process may use {limit >> 20:,} MiB"
    hint = "End other programs." if limit is None else "Raise the limit with: ulimit -v unlimited"
    return GymsolveError(f"there is not enough memory {what}{allowed}.", hint=hint)


class _Trial:
    """A finder of modules that finds none, and raises where importing one would end the process."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == _ENDS_PROCESSES:
            sys.meta_path.remove(self)
            if not _succeeds_in_a_copy(name):
                raise too_little(f"to import {name}")
        return None


def _succeeds_in_a_copy(name: str) -> bool:
    copy = os.fork()
    if copy:
        return os.waitpid(copy, 0)[1] == 0
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        room = mmap.mmap(-1, _ROOM)
        numpy = importlib.import_module(name)
        numpy.ones((256, 256)) @ numpy.ones((256, 256))  # takes the buffers
        room.close()
        code = 0
    except Exception as error:  # noqa: BLE001 - this process gets any other one itself
        code = int(is_about_memory(error))
    finally:
        os._exit(code)
