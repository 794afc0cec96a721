"""The command line: parse, call one verb, print.

    entry.py         errors and exit codes      app.py      the commands by name
    signal_guard.py  signals                    options.py  options that commands share
    commands/   a module for each command or group of commands
    command_start.py  where a time limit begins
    live/       the progress of a run while it trains
    printing/   tables, panels, plans, verdicts, alerts

Nothing here decides anything about training: other doors share the verbs of `service/` and `training/`.
A command is imported when it is called, torch and gymnasium when it needs them.
"""

import sys
from collections.abc import Sequence

from gymsolve.cli.command_start import counted_from_now
from gymsolve.cli.signal_guard import SignalGuard

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    A caller that passes arguments, as tests do, gets unforeseen errors as exceptions.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    ending = SignalGuard(alone=argv is None, owes="--json" in given)
    with counted_from_now(alone=argv is None), ending.in_order():
        from gymsolve.cli.entry import answer  # signals are handled before: this takes a tenth of a second

        return ending.leave_with(answer(given, ending, called=argv is not None))
    return ending.exit_code()
