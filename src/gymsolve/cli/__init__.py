"""The command line: parse, call one verb, print.

    entry.py    errors and exit codes        app.py      which commands there are
    train.py, evaluate.py, check.py          the commands that need torch or gymnasium, imported when they run
    runs.py, recipes.py, doctor.py, bench.py the light ones
    console.py, view.py                      what is seen of a run while it trains
    livetable.py, rows.py, livescreen.py     the same on a terminal: which lines, which rows, drawn in place
    plan.py, verdict.py, output.py, text.py  how things are told

Nothing here decides anything about training; other doors share the verbs of `service.py` and `training/`.
"""

from gymsolve.cli.entry import main

__all__ = ["main"]
