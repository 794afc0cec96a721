"""Logs of others as records of ours: CSV files of Stable-Baselines3, TensorBoard of it and of CleanRL."""

from gymsolve.metrics.foreign.find import ForeignLog, read_foreign

__all__ = ["ForeignLog", "read_foreign"]
