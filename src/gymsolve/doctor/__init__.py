"""The doctor: rules find problems in the history of metrics and propose remedies.

    history.py             records as one series per metric    lint.py         settings that cannot work well
    rules/, alerts.py      when a number is a finding          external_logs/  logs of other frameworks
    diagnosis.py           findings in causal order            fix.py          what a remedy's trial compares

Pure functions over records: the same rule runs live, in `gymsolve diagnose` and in tests. Nothing here knows
torch, gymnasium, a terminal or a training process.
"""
