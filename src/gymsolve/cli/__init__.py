"""The command line: parse, call one verb, print.

    entry.py    errors and exit codes           app.py      which commands there are
    signal_guard.py     signals                 options.py  options that commands share
    commands/   one module per command, or per family of commands
    live/       what is seen of a run while it trains
    printing/   how answers are told: tables, panels, plans, verdicts, alerts

Nothing here decides anything about training: other doors share the verbs of `service/` and `training/`.
What needs torch or gymnasium is imported when a command that uses it runs.
"""

import sys
from collections.abc import Sequence

from gymsolve.cli.signal_guard import SignalGuard

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    Whoever calls this with arguments, as tests do, gets errors that nobody foresaw as they are.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    ending = SignalGuard(alone=argv is None, owes="--json" in given)
    with ending.in_order():
        from gymsolve.cli.entry import answer  # signals are heard before: this takes a tenth of a second

        return ending.leave_with(answer(given, ending, called=argv is not None))
    return ending.exit_code()
