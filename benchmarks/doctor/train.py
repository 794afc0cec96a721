"""One training with its fault, in a process of its own, and what the doctor says of it."""

import multiprocessing
import shutil
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import gymsolve
from benchmarks.doctor.cases import Case
from benchmarks.doctor.patches import PATCHES
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.errors import DivergenceError, EnvFaultError
from gymsolve.recipes import resolve

__all__ = ["judge", "run_folder", "start_training"]

_LONGEST = 900.0
"""Seconds of training, many times what any takes on a busy machine; what hangs is judged by what it has."""


def run_folder(root: Path, case: Case) -> Path:
    return root / case.key.replace("/", "__").replace(":", "-")


def start_training(case: Case, root: Path) -> BaseProcess:
    """Train in a fork, so that patches end with it."""
    folder = run_folder(root, case)
    shutil.rmtree(folder, ignore_errors=True)
    worker = multiprocessing.get_context("fork").Process(target=_train, args=(case, folder))
    worker.start()
    return worker


def judge(case: Case, root: Path) -> dict[str, Any]:
    """The diagnosis of a stored run, as `gymsolve diagnose` gives it."""
    found = next(path for path in sorted(run_folder(root, case).iterdir()) if path.is_dir())
    told = diagnose_path(str(found)).to_json()
    alerts = [*told["roots"], *told["consequences"]]
    serious = [one for one in alerts if one["severity"] != "info"]
    return {
        "fired": [one["id"] for one in sorted(serious, key=lambda one: one["onset"])],
        "roots": [one["id"] for one in told["roots"] if one["severity"] != "info"],
        "unchecked": sorted(told["not_checked"]),
        "env_steps": told["env_steps"],
    }


def _train(case: Case, folder: Path) -> None:
    base = case.overrides()
    config = resolve(case.env, base).config
    if case.fault.patch:
        PATCHES[case.fault.patch]()
    settings = base | {"max_seconds": _LONGEST} | case.fault.settings(config)
    # Some faults end a training; the run on disk says so.
    with suppress(DivergenceError, EnvFaultError):
        gymsolve.train(case.env, settings, runs_dir=folder)
