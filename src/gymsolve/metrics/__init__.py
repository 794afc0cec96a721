"""What is measured, and what the numbers mean: catalogue, history, rules, alerts, lint.

    tables/, catalog.py    every metric, declared once         history.py   records as one series per metric
    rules/, alerts.py      when a number is a finding          lint.py      settings that cannot work well
    diagnosis.py           findings in causal order            foreign/     logs of other frameworks

Pure functions over records: the same rule runs live, in `gymsolve diagnose` and in tests. Nothing here
knows torch, gymnasium, a terminal or a training process.
"""
