"""Signals that come while nothing trains: before a command begins, during imports, at the very end."""

import json

import pytest

# Sends the process a signal in a given moment of a command's life.
AT = """
import atexit, os, signal, sys

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), {number})
            except KeyboardInterrupt as error:
                raise ImportError("as extension modules do") from error

for number in (1, 2, 15):
    signal.signal(number, signal.default_int_handler if number == 2 else signal.SIG_DFL)
sys.meta_path.insert(0, Importing())
if {module!r} == "the end":
    atexit.register(os.kill, os.getpid(), {number})
sys.argv = ["gymsolve", *{words!r}]
from gymsolve.cli import main
sys.exit(main())
"""
EARLY = [("gymsolve.cli.entry", 2), ("typer", 15), ("gymsolve.cli.commands", 1), ("json", 15)]


@pytest.mark.parametrize(("module", "number"), [*EARLY, ("gymnasium", 2), ("gymnasium", 15)])
def test_a_signal_during_the_imports_ends_a_command_with_a_word(module, number, shell):
    words = ["train", "Bandit-v0", "--json"] if module == "gymnasium" else ["runs", "--json"]
    answer = shell(code=AT.format(module=module, number=number, words=words))
    assert answer.code == 128 + number, answer
    assert answer.json["error"]["exit_code"] == 128 + number
    assert answer.err == ""


def test_a_signal_after_the_answer_changes_nothing(shell):
    answer = shell(code=AT.format(module="the end", number=2, words=["recipes", "--json"]))
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)
