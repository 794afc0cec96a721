"""What an archive costs per step, by the number of its cells: drawing, looking up, counting, replacing.

No environment is stepped: snapshots cost what the environment makes of them, whatever the archive's size.
"""

import time

import numpy as np

from benchmarks.harness import tell
from benchmarks.store import OURS, Store
from benchmarks.throughput import Options
from gymsolve.extensions.archive.cells import Archive, Place
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

__all__ = ["SIZES", "measure_archive"]

SIZES = (1_000, 10_000, 100_000)
_STEPS = 20_000


def measure_archive(options: Options) -> None:
    store = Store(options.results, "archive")
    for number in range(options.repeats):
        for size in SIZES[:2] if options.quick else SIZES:
            seconds = _seconds(size, _STEPS // 10 if options.quick else _STEPS, number)
            microseconds = 1e6 * seconds / _STEPS * (10 if options.quick else 1)
            record = {"case": f"{size} cells", "tool": OURS, "round": number, "size": size}
            store.add(record | {"microseconds_per_step": microseconds})
            tell(f"{size:8,} cells {microseconds:6.2f} µs per step")


def _seconds(size: int, steps: int, seed: int) -> float:
    """Each step looks up a cell and counts a visit; every tenth draws, finds a better way and a new cell."""
    obs = {"obs": ObsSpec("vector", (4,), "float32")}
    log = Trajectories(EnvSpec("archive", obs, ActionSpec("discrete", (), nvec=(2,), start=(0,))))
    archive, rng = Archive(10 * size), np.random.default_rng(seed)
    for key in range(size):
        archive.put(key, Place(0.0, 1, b"", b""), log)
    archive.see(range(size), rng.integers(1, 1000, size).tolist())
    keys = rng.integers(0, size, steps).tolist()
    began = time.perf_counter()
    for step, key in enumerate(keys):
        archive.find(key)
        archive.see((key,), (1,))
        if step % 10 == 0:
            archive.draw(rng)
            archive.put(key, Place(float(step), 1, b"", b"", _row(log)), log)
            archive.put(size + step, Place(0.0, 1, b"", b"", _row(log)), log)
    return time.perf_counter() - began


def _row(log: Trajectories) -> int:
    columns = {"actions": np.zeros((1, 1)), "rewards": np.zeros(1), "cells": np.zeros(1)}
    return int(log.add(np.array([NOWHERE]), columns, {"obs": np.zeros((1, 4), np.float32)})[0])
