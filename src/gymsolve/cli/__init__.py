"""The command line: parse, call one verb, print.

    entry.py    errors and exit codes           app.py      which commands there are
    options.py  options that commands share     docs.py     docs/cli.md, made from the help
    commands/   one module per command, or per family of commands
    live/       what is seen of a run while it trains
    printing/   how answers are told: tables, panels, plans, verdicts, alerts

Nothing here decides anything about training: other doors share the verbs of `service/` and `training/`.
What needs torch or gymnasium is imported when a command that uses it runs.
"""

from gymsolve.cli.entry import main

__all__ = ["main"]
