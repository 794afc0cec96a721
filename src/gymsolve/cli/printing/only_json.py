"""With `--json`, standard output holds one JSON value and nothing else, whatever an environment prints.

While a command runs, `sys.stdout` leads to standard error, and so does the file descriptor, which other
processes and compiled code write to. `answer_stream` is where the answer goes.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from gymsolve.errors import GymsolveError

_STDOUT, _STDERR = 1, 2


def unwritten(error: OSError, hint: str | None = None) -> GymsolveError:
    """The error about an answer that could not be written: a full disk, or `> /dev/full`."""
    return GymsolveError(
        f"the output cannot be written: {(error.strerror or str(error)).lower()}.", hint=hint
    )


class Answer:
    """Remembers whether a command has printed its answer."""

    def __init__(self, *, missing: bool) -> None:
        self.missing = missing


class _Aside(io.TextIOBase):
    """Stands in for standard output and writes to standard error; keeps the stream for answers."""

    def __init__(self, answers: TextIO) -> None:
        self.answers = answers
        self.answer = Answer(missing=True)

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def isatty(self) -> bool:
        return self.answers.isatty()

    def fileno(self) -> int:
        return sys.stderr.fileno()


def answer_stream() -> TextIO:
    """The real standard output, to which a command prints its answer."""
    if not isinstance(sys.stdout, _Aside):
        return sys.stdout
    sys.stdout.answer.missing = False
    return sys.stdout.answers


@contextmanager
def only_json(asked: bool) -> Iterator[Answer]:
    """Keep everything but the answer off standard output, if `asked`."""
    if not asked:
        yield Answer(missing=False)
        return
    plain = sys.stdout
    plain.flush()
    if not isinstance(plain, io.TextIOWrapper) or plain is not sys.__stdout__:
        # Output is captured, as in tests: there is no file descriptor to redirect.
        sys.stdout = aside = _Aside(plain)
        try:
            yield aside.answer
        finally:
            sys.stdout = plain
        return
    answers = os.fdopen(os.dup(_STDOUT), "w", encoding=plain.encoding, errors=plain.errors)
    os.dup2(_STDERR, _STDOUT)
    sys.stdout = aside = _Aside(answers)
    try:
        yield aside.answer
        answers.flush()
    finally:
        plain.flush()
        sys.stdout = plain
        os.dup2(answers.fileno(), _STDOUT)
        with suppress(OSError):  # of what could not be written the flush has told already
            answers.close()
