"""Runs on disk: the folder that training writes and every other part reads.

Importing this needs neither NumPy nor torch nor gymnasium.
"""

from gymsolve.runs.checkpoints import (
    list_checkpoints,
    mark_best,
    prune,
    read_meta,
    save_checkpoint,
    update_meta,
)
from gymsolve.runs.files import to_json
from gymsolve.runs.index import list_runs
from gymsolve.runs.loading import Checkpoint, load_checkpoint, load_policy_file
from gymsolve.runs.records import Records
from gymsolve.runs.refs import best_reward, find_run, needed_reward, select_runs, split_ref
from gymsolve.runs.run import Run, create_run, open_run
from gymsolve.runs.summary import STATUSES, RunSummary, Status, runs_folder

__all__ = [
    "STATUSES",
    "Checkpoint",
    "Records",
    "Run",
    "RunSummary",
    "Status",
    "best_reward",
    "create_run",
    "find_run",
    "list_checkpoints",
    "list_runs",
    "load_checkpoint",
    "load_policy_file",
    "mark_best",
    "needed_reward",
    "open_run",
    "prune",
    "read_meta",
    "runs_folder",
    "save_checkpoint",
    "select_runs",
    "split_ref",
    "to_json",
    "update_meta",
]
