"""Logs of others as records of ours: CSV files, TensorBoard, W&B."""

from gymsolve.doctor.external_logs.find import ForeignLog, read_foreign, wandb_log
from gymsolve.doctor.external_logs.wandb import fetch_wandb

__all__ = ["ForeignLog", "fetch_wandb", "read_foreign", "wandb_log"]
