"""Checkpoints: the whole state of a run at one moment, in a folder named by its env steps.

    checkpoints/120000/policy.safetensors    weights and statistics; all that acting needs
    checkpoints/120000/trainer.safetensors   arrays that only training needs (optimizer moments, …)
    checkpoints/120000/trainer.json          the rest of the trainer's state (counters, random streams)
    checkpoints/120000/meta.json             counters, the evaluation it got, checksums of the above
    checkpoints/best, checkpoints/last       names of folders
    checkpoints/parts/                       files that parts own and checkpoints share (`part_files.py`)

A folder appears under its name only when it is complete, and files are checked against their
checksums when they are read (`loading.py`). Only the training process writes here.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import CheckpointError, RunDamagedError, UnknownRunError
from gymsolve.runs.files import (
    make_folder,
    os_errors,
    read_json,
    read_pointer,
    remove_leftovers,
    replace_text,
    sync_folder,
    to_json,
    write_synced,
)
from gymsolve.runs.part_files import drop_part_files
from gymsolve.runs.run import Run, now
from gymsolve.runs.schema import META as META_FIELDS
from gymsolve.runs.schema import find_fault, is_steps
from gymsolve.runs.summary import SCHEMA_VERSION
from gymsolve.runs.tensors import pack

if TYPE_CHECKING:
    from gymsolve.runs.tensors import Arrays

_NEWEST = 2
"""The newest checkpoints are always kept."""
_LARGE = 1 << 20
"""Bytes of a checkpoint from which on threads write it faster."""
POLICY, TRAINER, STATE, META = "policy.safetensors", "trainer.safetensors", "trainer.json", "meta.json"

CELLS = "cells.png"
"""Pictures of an archive's places; a file of a checkpoint, for people."""


# ------------------------------------------------------------------------------------ saving


def save_checkpoint(
    run: Run,
    env_steps: int,
    *,
    policy: "Arrays",
    policy_metadata: dict[str, str],
    trainer_arrays: "Arrays",
    trainer_state: dict[str, Any],
    meta: dict[str, Any],
    extras: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a checkpoint and point `last` at it; one of the same `env_steps` is replaced.

    `meta` holds vec_steps, updates, reason, eval (the metrics of its evaluation, or None) and, where parts
    own files, part_files (`part_files.py`).
    `extras` are further files by name, for people.
    `trainer_state` is plain data; NaN, infinities and integers of any size come back unchanged.
    """
    folder = run.path / "checkpoints"
    contents = {
        POLICY: pack(policy, policy_metadata),
        TRAINER: pack(trainer_arrays),
        STATE: to_json(trainer_state, exact=True).encode(),
        **(extras or {}),
    }
    defaults = {"vec_steps": None, "updates": None, "time": now(), "reason": None, "eval": None}
    facts = {"schema_version": SCHEMA_VERSION, "env_steps": env_steps, **defaults, **meta}

    place = folder / str(env_steps)
    make_folder(folder)
    with os_errors(place):
        _clean(folder)
        fresh = folder / f".new-{env_steps}"
        try:
            _write_folder(fresh, contents, facts)
            _swap_in(fresh, place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)  # only still there when something went wrong
    replace_text(folder / "last", place.name + "\n")
    return place


def mark_best(run: Run, name: str) -> None:
    """Point `best` at a checkpoint."""
    find_place(run, name)
    replace_text(run.path / "checkpoints" / "best", name + "\n")


def update_meta(run: Run, name: str, **fields: Any) -> None:
    """Change fields of a checkpoint's meta, for example the result of a late evaluation."""
    place = find_place(run, name)
    replace_text(place / META, _sealed({**meta_in(place), **fields}))


def prune(run: Run, keep: int | None, *, spare: Iterable[str] = ()) -> list[str]:
    """Remove all but `keep` checkpoints, never `best`, `last` or `spare`; returns the removed names.

    The two newest stay; the others that stay are spread over the run, so that its progress can be shown.
    """
    if keep is None:
        return []
    folder = run.path / "checkpoints"
    newest = newest_first(run)[: min(keep, _NEWEST)]
    kept = {pointed(run, "best"), pointed(run, "last"), *_spread(list_checkpoints(run), newest, keep), *spare}
    doomed = [name for name in list_checkpoints(run) if name not in kept]
    for name in doomed:
        with os_errors(folder / name):
            # Out of sight first: a kill halfway through must not leave half a checkpoint.
            gone = find_place(run, name).rename(folder / f".drop-{name}-{os.urandom(4).hex()}")
            shutil.rmtree(gone)
    if part_folder(run).is_dir():
        metas = [meta_in(path) for path in (*_places(run), *(folder / "discarded").glob("*"))]
        drop_part_files(part_folder(run), metas)
    return doomed


def part_folder(run: Run) -> Path:
    """The folder of files that parts own (`part_files.py`); all checkpoints share it."""
    return run.path / "checkpoints" / "parts"


def _places(run: Run) -> list[Path]:
    return [find_place(run, name) for name in list_checkpoints(run)]


def _spread(names: list[str], newest: list[str], keep: int) -> list[str]:
    """Names of the newest and of `keep` in all; the one that leaves the smallest gap is dropped first."""
    steps = sorted(map(int, names))
    fixed = {*map(int, newest), *steps[: 1 if keep > len(newest) else 0]}
    while len(steps) > keep:
        gaps = {
            here: steps[place + 1] - steps[place - 1] if 0 < place < len(steps) - 1 else 0
            for place, here in enumerate(steps)
            if here not in fixed
        }
        steps.remove(min(gaps, key=lambda here: (gaps[here], -here)))
    return [str(step) for step in steps]


def discard_after(run: Run, env_steps: int) -> list[str]:
    """Set checkpoints beyond `env_steps` aside when training goes on from there; returns their names.

    They go to `checkpoints/discarded`. A `best` among them is removed: those steps count no more. A
    checkpoint that a kill left without its name gets it back.
    """
    folder = run.path / "checkpoints"
    if list_checkpoints(run):
        with os_errors(folder):
            _clean(folder)
    beyond = [name for name in list_checkpoints(run) if int(name) > env_steps]
    if beyond and str(env_steps) in list_checkpoints(run):
        replace_text(folder / "last", f"{env_steps}\n")
    with os_errors(folder):
        if pointed(run, "best") in beyond:
            (folder / "best").unlink()
        for name in beyond:
            aside = make_folder(folder / "discarded")
            find_place(run, name).rename(aside / f"{name}-{os.urandom(4).hex()}")
    return beyond


# ----------------------------------------------------------------------------------- looking


def list_checkpoints(run: Run) -> list[str]:
    """Names of the checkpoints, by env steps."""
    folder = run.path / "checkpoints"
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os_errors(folder):
        folders = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted({name for path in folders if is_steps(name := path.name.removeprefix(".old-"))}, key=int)


def newest_first(run: Run) -> list[str]:
    """Names by time, newest first; after a resume, a checkpoint with more steps may be older."""
    times: dict[str, str] = {}
    for name in list_checkpoints(run):
        try:
            times[name] = str(read_meta(run, name)["time"])
        except (CheckpointError, UnknownRunError):  # damaged, or removed by the trainer since the listing
            times[name] = ""
    return sorted(times, key=lambda name: (times[name], int(name)), reverse=True)


def pointed(run: Run, which: str) -> str | None:
    """The checkpoint that a pointer (`best`, `last`, `stage-…`) names, if it names one."""
    name = read_pointer(run.path / "checkpoints" / which)
    return name if is_steps(name) else None


def find_place(run: Run, name: str) -> Path:
    """The folder of a checkpoint, even while it is being replaced."""
    folder = run.path / "checkpoints"
    # The name is tried again at the end: the replacement may have happened between the two looks.
    for place in (folder / name, folder / f".old-{name}", folder / name):
        if is_steps(name) and place.is_dir() and not (place.is_symlink() or folder.is_symlink()):
            return place
    names = list_checkpoints(run)
    hint = f"There are: {', '.join(names)}." if names else "None has been saved yet."
    raise UnknownRunError(f"run {run.id} has no checkpoint '{name}'.", hint=hint)


def read_meta(run: Run, name: str) -> dict[str, Any]:
    """meta.json of a checkpoint, checked against its own checksum."""
    return meta_in(find_place(run, name))


def meta_in(place: Path) -> dict[str, Any]:
    """meta.json of the checkpoint in a folder, checked against its own checksum."""
    path = place / META
    try:
        meta = read_json(path)
    except RunDamagedError as error:
        raise CheckpointError(error.message, where=error.where) from error
    if meta.pop("checksum", None) != _checksum(meta):
        raise CheckpointError("the file was changed or damaged (its checksum differs).", where=str(path))
    if (fault := find_fault(meta, META_FIELDS)) is not None:
        raise CheckpointError(f"the file {fault}.", where=str(path))
    return meta


# ------------------------------------------------------------------------------ on the disk


def _write_folder(folder: Path, contents: dict[str, bytes], facts: dict[str, Any]) -> None:
    """Write the files, and `meta.json` with the facts and the checksums of the files."""
    folder.mkdir()
    paths = [folder / name for name in contents]
    if sum(len(data) for data in contents.values()) < _LARGE:
        digests = [_digest(data) for data in contents.values()]
        for path, data in zip(paths, contents.values(), strict=True):
            write_synced(path, data)
    else:
        # Checksums and the disk take as long as some minibatches; threads do both at once.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(3) as threads:
            written = threads.map(write_synced, paths, contents.values())
            digests = [*threads.map(_digest, contents.values())]
            list(written)  # raises errors of the threads
    files = {
        name: {"sha256": digest, "size": len(data)}
        for (name, data), digest in zip(contents.items(), digests, strict=True)
    }
    write_synced(folder / META, _sealed({**facts, "files": files}).encode())
    sync_folder(folder)


def _swap_in(fresh: Path, place: Path) -> None:
    """Give a complete folder its name. A folder cannot be replaced in one step, so the old one waits
    beside it, where `find_place` finds it should the process die in between."""
    old = place.with_name(f".old-{place.name}")
    if place.exists():
        place.rename(old)
    fresh.rename(place)
    sync_folder(place.parent)
    shutil.rmtree(old, ignore_errors=True)


def _clean(folder: Path) -> None:
    """Remove leftovers of a killed process; only the training process saves, so none is in use."""
    remove_leftovers(folder)
    for pattern in (".new-*", ".drop-*"):
        for path in folder.glob(pattern):
            _remove(path)
    for old in folder.glob(".old-*"):
        place = folder / old.name.removeprefix(".old-")
        if place.exists():
            _remove(old)
        else:
            old.rename(place)


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)


def _sealed(facts: dict[str, Any]) -> str:
    """meta.json with a checksum of itself, so that a flipped digit is noticed too."""
    body = {key: value for key, value in json.loads(to_json(facts)).items() if key != "checksum"}
    return to_json({**body, "checksum": _checksum(body)}, indent=2) + "\n"


def _checksum(body: dict[str, Any]) -> str:
    return _digest(json.dumps(body, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def survey_checkpoints(run: Run) -> tuple[list[dict[str, Any]], list[str]]:
    """Name, pointers, time, reason and evaluation of each checkpoint; and sentences about damage."""
    best, last = pointed(run, "best"), pointed(run, "last")
    entries, damage = [], []
    for name in list_checkpoints(run):
        try:
            meta = read_meta(run, name)
        except (CheckpointError, UnknownRunError) as error:  # damaged, or pruned since the listing
            damage.append(str(error))
            continue
        facts = {key: meta[key] for key in ("env_steps", "time", "reason", "eval")}
        entries.append({"name": name, "best": name == best, "last": name == last, **facts})
    return entries, damage
