"""The verbs that every door shares (command line, Python, servers): light, with typed records as answers.

    runs.py      list, show, stop                     start.py    start and resume runs in the background
    comparing.py compare
    diagnose.py  what went wrong                      fix.py, trials.py   try a remedy, and compare
    report.py    write a report                       recipes.py  list, show, check, format
    environments.py  check one, tune its speed
    machine.py   what this machine has and lacks      share.py    push to and pull from W&B
    runs_table.py, overview.py, following.py, tracks.py, side_by_side.py   what pages show of runs
    steering.py  starts within the limits of `budget.py`

Importing these needs neither torch nor gymnasium: a run trains in a process of its own.
"""
