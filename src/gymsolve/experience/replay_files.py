"""Files of a replay buffer: each holds a stretch of steps with all frames and ends that they refer to.

`replay-<first>-<last>-<digest>.bin` has the steps from number `first` up to, and without, `last`. Files are
safetensors. They are never changed: other contents have another digest, so a run that repeats a stretch keeps
the files of its older checkpoints.
"""

import hashlib
from pathlib import Path

import numpy as np

from gymsolve.experience.ring import Ring
from gymsolve.runs.files import read_file
from gymsolve.runs.part_files import write_part_file
from gymsolve.runs.tensors import pack, unpack
from gymsolve.spec import Array

_MOST_BYTES = 64 << 20
"""Of steps in one file, pictures not counted."""


def read_span(name: str) -> tuple[int, int]:
    """Numbers of the first step in a file, and of the first one after it."""
    _, first, last, _ = name.removesuffix(".bin").rsplit("-", 3)
    return int(first), int(last)


def write_segments(ring: Ring, folder: Path, name: str, first: int) -> list[str]:
    """Write the steps from number `first` on into new files; their names."""
    width = sum(column.nbytes for column in ring.columns.values()) // ring.capacity
    most = max(1, _MOST_BYTES // max(1, width))
    written = []
    for start in range(first, ring.added, most):
        stop = min(start + most, ring.added)
        data = pack(_segment(ring, start, stop))
        file = f"{name}-{start}-{stop}-{hashlib.sha256(data).hexdigest()[:12]}.bin"
        path = folder / file
        if not (path.is_file() and read_file(path) == data):
            write_part_file(folder, file, data)
        written.append(file)
    return written


def _segment(ring: Ring, start: int, stop: int) -> dict[str, Array]:
    """Rows of some steps, the ends of episodes among them, and the frames that both refer to."""
    slots = np.arange(start, stop) % ring.capacity
    arrays = {name: column[slots] for name, column in ring.columns.items()}
    # An episode that was abandoned after the file before was written has its end there, in the row before.
    ends = [
        (step, env, last)
        for step in range(start - 1, stop)
        for env, last in sorted(ring.ends.get(step, {}).items())
    ]
    arrays["ends/steps"] = np.array([step for step, _, _ in ends], np.int64)
    arrays["ends/envs"] = envs = np.array([env for _, env, _ in ends], np.int64)
    for key in ring.spec.obs if ends else ():
        arrays[f"ends/obs/{key}"] = np.stack([last[key] for _, _, last in ends])
    for key in ring.stores:
        arrays |= _frames(ring, key, arrays[f"obs/{key}"], envs, arrays.get(f"ends/obs/{key}"))
    return arrays


def _frames(ring: Ring, key: str, rows: Array, envs: Array, last: Array | None) -> dict[str, Array]:
    """The frames of rows [T, N, k] and of ends [E, k] in environments [E], as they are stored."""
    needed = set()
    for env in range(ring.num_envs):
        needed |= {(env, number) for number in np.unique(rows[:, env]).tolist()}
    for env, stack in zip(envs.tolist(), [] if last is None else last.tolist(), strict=True):
        needed |= {(env, number) for number in stack}
    frames = sorted(needed)
    data = [ring.stores[key].packed(env, number) for env, number in frames]
    return {
        f"frames/{key}/places": np.array(frames, np.int64).reshape(-1, 2),
        f"frames/{key}/lengths": np.array([len(frame) for frame in data], np.int64),
        f"frames/{key}/bytes": np.frombuffer(b"".join(data), np.uint8),
    }


def load_segment(ring: Ring, path: Path) -> None:
    """Load the steps of a file, as far as the ring still has room for them."""
    arrays, _ = unpack(read_file(path))
    start, stop = read_span(path.name)
    steps = np.arange(start, stop)
    kept = (steps >= ring.oldest) & (steps < ring.added)
    for name, column in ring.columns.items():
        column[steps[kept] % ring.capacity] = arrays[name][kept]
    for key, store in ring.stores.items():
        data, at = arrays[f"frames/{key}/bytes"].tobytes(), 0
        places, lengths = arrays[f"frames/{key}/places"].tolist(), arrays[f"frames/{key}/lengths"].tolist()
        for (env, number), length in zip(places, lengths, strict=True):
            store.put_packed(env, number, data[at : at + length])
            at += length
    numbered = zip(arrays["ends/steps"].tolist(), arrays["ends/envs"].tolist(), strict=True)
    for row, (step, env) in enumerate(numbered):
        if ring.oldest <= step < ring.added:
            last = {key: arrays[f"ends/obs/{key}"][row] for key in ring.spec.obs}
            ring.ends[step] = {**ring.ends.get(step, {}), env: last}
            ring.columns["stops"][step % ring.capacity, env] = True
