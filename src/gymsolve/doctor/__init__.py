"""The doctor: rules find problems in the history of metrics and propose remedies.

Pure functions over records: the same rule runs live, in `gymsolve diagnose` and in tests. Nothing here knows
torch, gymnasium, a terminal or a training process.
"""
