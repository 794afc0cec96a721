"""Environments in processes that start in milliseconds: forked from one that has imported what they need.

Nothing of the test's own process is in them but what a new Python would be given, too: path, folder,
arguments and environment variables. A new Python takes a second of computing for each. Tests that are about
the start itself carry the marker `real_start`. Processes that look who their parent is, such as evaluators,
are started as ever.
"""

import multiprocessing
import os
from multiprocessing.context import ForkServerContext, ForkServerProcess
from types import FunctionType
from typing import Any

__all__ = ["quick_context", "real_context"]

real_context = multiprocessing.get_context
_HOME = os.getpid()


class _Told(ForkServerProcess):
    """The server has the variables of the moment when it was started; these are those of now."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._variables = dict(os.environ)

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._variables)
        super().run()


class _Context(ForkServerContext):
    def Process(self, **options: Any) -> Any:  # type: ignore[override]  # noqa: N802 - multiprocessing's name
        serve = next(iter(options.get("args", ())), None)  # as `OwnProcess` has it
        if isinstance(serve, FunctionType) and serve.__module__.startswith("gymsolve.envs."):
            return _Told(**options)
        return real_context("spawn").Process(**options)


_server = _Context()
_server.set_forkserver_preload(["gymsolve.envs.backends.worker_process", "gymsolve.envs.make"])


def quick_context(method: str | None = None) -> Any:
    """`multiprocessing.get_context`, in which `spawn` is quick; a fork of the tests is not served."""
    return _server if method == "spawn" and os.getpid() == _HOME else real_context(method)
