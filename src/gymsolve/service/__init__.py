"""The verbs that every door shares (command line, Python, servers): light, with typed records as answers.

    recipes.py       list, show, check, format           environments.py  check one, tune its speed
    machine.py       what this machine has and lacks     share.py         push to and pull from W&B
    report.py        write a report                      run_changes.py   what changed since a client looked
    group_changes.py  the state of a group of seeds
    start_requests.py  starts within the limits of `agent_limits.py`

Verbs about stored runs are in `view/`, those that start runs in `jobs/`, diagnosis in `doctor/`.
Importing these needs neither torch nor gymnasium: a run trains in a process of its own.
"""
