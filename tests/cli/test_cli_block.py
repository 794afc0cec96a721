"""Lines drawn in place for several runs at once, on a real terminal."""

import contextlib
import os
import pty

import pytest

from gymsolve.cli.live.block import Block


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    # What is left at the end cannot be written to a terminal that is closed.
    with contextlib.suppress(OSError), os.fdopen(slave, "w", encoding="utf-8") as stream:
        yield master, stream


def test_lines_are_drawn_over_the_last_ones_until_something_else_is_written(terminal):
    master, stream = terminal
    block = Block(stream)
    assert block.is_live
    block.draw(lambda height: ["one", "two"])
    block.draw(lambda height: ["three"])
    block.give_way()
    block.draw(lambda height: ["four"])
    seen = ""
    while "four" not in seen or not seen.endswith("\x1b[J"):  # a terminal gives what it has got so far
        seen += os.read(master, 1000).decode()
    assert seen.count("\x1b[2A") == 1  # over two lines
    assert "\x1b[1A" not in seen  # and not over the one that something else was written below
    assert all(f"{word}\x1b[K" in seen for word in ("one", "two", "three", "four"))
    os.close(master)


def test_a_terminal_that_is_closed_ends_nothing(terminal):
    master, stream = terminal
    block = Block(stream)
    block.draw(lambda height: ["one"])
    os.close(master)
    for _ in range(2):
        block.draw(lambda height: ["two"])
        block.say("three")
    assert block.is_gone
