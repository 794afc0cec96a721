"""Calls a command of gymsolve in a process of its own and reads its JSON.

Servers, which import neither torch nor gymnasium, evaluate, film and examine environments this way.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from gymsolve.errors import GymsolveError, UsageError
from gymsolve.jobs.cancellation import require_wanted

LONGEST_CALL = 45.0
"""Seconds; hosts of servers give up on a request after sixty."""
_GLANCE = 0.2


class TookTooLongError(GymsolveError):
    """A command was ended because it took too long."""


def call_command(words: Sequence[str], limit: float = LONGEST_CALL) -> Any:
    """The JSON that `gymsolve WORDS… --json` prints; raises the error that it reports.

    Ends the process and all that it started after `limit` seconds, or as soon as the call is cancelled.
    """
    with subprocess.Popen(
        # -P as in the installed script: a file of the working directory must not shadow a package.
        [sys.executable, "-P", "-m", "gymsolve", *words, "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            output = _output(process, words, limit)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return _answer(words, output, process.returncode)


def _output(process: "subprocess.Popen[bytes]", words: Sequence[str], limit: float) -> bytes:
    deadline = time.monotonic() + limit
    while True:
        try:
            return process.communicate(timeout=_GLANCE)[0]
        except subprocess.TimeoutExpired as error:
            require_wanted()
            if time.monotonic() >= deadline:
                raise TookTooLongError(
                    f"`gymsolve {words[0]}` took longer than {limit:g} seconds and was ended.",
                    hint=f"In a terminal it may take its time: gymsolve {' '.join(words)}",
                ) from error


def _answer(words: Sequence[str], output: bytes, code: int) -> Any:
    try:
        answer = json.loads(output)
    except ValueError as error:
        raise GymsolveError(f"`gymsolve {words[0]}` ended with exit code {code} and no answer.") from error
    fault = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(fault, dict):
        kind = UsageError if fault.get("exit_code") == 2 else GymsolveError
        raise kind(str(fault.get("message")), where=fault.get("where"), hint=fault.get("hint"))
    return answer
