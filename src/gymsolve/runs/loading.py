"""Reads checkpoints back, and refuses files that are not exactly what was saved."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import CheckpointError, RunDamagedError, UnknownRunError
from gymsolve.runs.checkpoints import (
    POLICY,
    STATE,
    TRAINER,
    find_place,
    list_checkpoints,
    meta_in,
    newest_first,
    pointed,
)
from gymsolve.runs.files import from_exact, parse_json, read_file
from gymsolve.runs.part_files import verify_part_files
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import STAGE, find_masters
from gymsolve.runs.tensors import TensorFormatError, metadata_in, unpack

if TYPE_CHECKING:
    from gymsolve.runs.tensors import Arrays

_LOOKS = 20
_BEYOND = 1 << 20
"""Bytes that are read of a file beyond those that were saved, to say how many there are."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory; every array in it is a writable copy."""

    path: Path
    policy: "Arrays"
    policy_metadata: dict[str, str]
    trainer: "Arrays"
    trainer_state: dict[str, Any]
    meta: dict[str, Any]
    part_files: "Mapping[str, tuple[str, ...]]" = field(default_factory=dict)
    """Names of the files in `files_folder` that the state of each part needs; they were verified."""
    notes: tuple[str, ...] = ()
    """Sentences for the user, such as that the last checkpoint is damaged and an older one was loaded."""

    @property
    def files_folder(self) -> Path:
        """The folder of the files that parts own."""
        return self.path.parent / "parts"

    @property
    def name(self) -> str:
        return str(self.meta["env_steps"])


def load_checkpoint(run: Run, which: str = "last", *, policy_only: bool = False) -> Checkpoint:
    """The checkpoint `last`, `best`, `stage-<name>` or of a number of env steps, verified.

    Instead of a damaged `last`, the newest intact one is loaded, with a note; any other damaged one is an
    error. `policy_only` leaves the trainer's files unread.
    """
    if which == "last":
        return _load_last(run, policy_only)
    if which.startswith(STAGE):
        return _load(run, _master(run, which), policy_only)
    name = pointed(run, "best") if which == "best" else which.replace("_", "")
    if name is None:
        hint = f"Use the last one: {run.id}@last" if list_checkpoints(run) else "None has been saved yet."
        raise UnknownRunError(f"run {run.id} has no best checkpoint.", hint=hint)
    return _load(run, name, policy_only)


def _master(run: Run, which: str) -> str:
    """The checkpoint at the end of a stage."""
    masters = find_masters(run)
    stage = which.removeprefix(STAGE)
    if stage in masters:
        return masters[stage]
    ended = ", ".join(f"{run.id}@{STAGE}{name}" for name in masters)
    hint = f"There are: {ended}." if masters else "No stage has ended yet, or the run has no curriculum."
    raise UnknownRunError(f"run {run.id} has no checkpoint at the end of a stage '{stage}'.", hint=hint)


def load_policy_file(path: Path | str) -> "tuple[Arrays, dict[str, str]]":
    """Arrays and metadata of a policy file on its own, outside of any run."""
    try:
        if Path(path).exists() and not Path(path).is_file():  # a pipe or a device may have no end
            raise CheckpointError("this is not a plain file.", where=str(path))
        return unpack(Path(path).read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CheckpointError(f"the policy cannot be read: {reason}.", where=str(path)) from error
    except TensorFormatError as error:
        raise CheckpointError(f"not a safetensors file ({error}).", where=str(path)) from error


def newest_metadata(run: Run) -> dict[str, str] | None:
    """The metadata of the policy in the newest intact checkpoint; None without one."""
    for name in _last_first(run):
        with suppress(CheckpointError, UnknownRunError, TensorFormatError):
            place = find_place(run, name)
            return metadata_in(_verified(place / POLICY, meta_in(place)))
    return None


def _load_last(run: Run, policy_only: bool) -> Checkpoint:
    damage: list[CheckpointError] = []
    notes: list[str] = []
    for name in _last_first(run):
        try:
            checkpoint = _load(run, name, policy_only)
        except CheckpointError as error:
            damage.append(error)
            notes.append(f"checkpoint passed over: {error.where}: {error.message}")
        except UnknownRunError:
            notes.append(f"checkpoint {name} is missing")
        else:
            if notes:
                notes.append(f"checkpoint {name} was loaded instead")
            return replace(checkpoint, notes=tuple(notes))
    if damage:
        raise damage[0]
    raise UnknownRunError(f"run {run.id} has no checkpoint: none has been saved yet.")


def _last_first(run: Run) -> Iterator[str]:
    """The checkpoint that `last` names, then, in case it is damaged, the others."""
    named = pointed(run, "last")
    if named is not None:
        yield named
    yield from (name for name in newest_first(run) if name != named)


def _load(run: Run, name: str, policy_only: bool) -> Checkpoint:
    for looks_left in reversed(range(_LOOKS)):
        place = find_place(run, name)
        before = _version(place)
        try:
            return _read(place, policy_only)
        except CheckpointError as error:
            if before is None or _version(place) != before:
                # Not damaged: the training process replaced it meanwhile.
                continue
            if looks_left and place.name != name:
                # It waits to be removed; within one tick of the clock, that leaves no trace in its times.
                continue
            others = [f"{run.id}@{other}" for other in newest_first(run) if other != name]
            hint = f"Use another checkpoint: {', '.join(others[:3])}" if others else "There is no other one."
            raise CheckpointError(error.message, where=error.where, hint=hint) from error
    raise CheckpointError("the checkpoint changes faster than it can be read.", where=str(place))


def _read(place: Path, policy_only: bool) -> Checkpoint:
    meta = meta_in(place)
    policy, policy_metadata = _tensors(place / POLICY, meta)
    if policy_only:
        return Checkpoint(place, policy, policy_metadata, {}, {}, meta)
    trainer, state = _trainer(place, meta)
    files = verify_part_files(place.parent / "parts", meta.get("part_files", {}))
    return Checkpoint(place, policy, policy_metadata, trainer, state, meta, files)


def _version(place: Path) -> tuple[int, int] | None:
    try:
        stat = place.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_ctime_ns


def _trainer(place: Path, meta: dict[str, Any]) -> "tuple[Arrays, dict[str, Any]]":
    arrays, _ = _tensors(place / TRAINER, meta)
    raw = _verified(place / STATE, meta)
    try:
        state = from_exact(parse_json(raw, exact=True))
    except (ValueError, TypeError, RecursionError) as error:
        message = "the file does not hold a trainer's state."
        raise CheckpointError(message, where=str(place / STATE)) from error
    if not isinstance(state, dict):
        raise CheckpointError("the file does not hold a JSON object.", where=str(place / STATE))
    return arrays, state


def _tensors(path: Path, meta: dict[str, Any]) -> "tuple[Arrays, dict[str, str]]":
    try:
        return unpack(_verified(path, meta))
    except TensorFormatError as error:
        raise CheckpointError(f"not a safetensors file ({error}).", where=str(path)) from error


def _verified(path: Path, meta: dict[str, Any]) -> bytes:
    """The bytes of a file if they are those that were saved."""
    expected = meta["files"].get(path.name)
    if expected is None:
        raise CheckpointError("the checkpoint was saved without this file.", where=str(path))
    if not path.exists() and not path.is_symlink():
        raise CheckpointError("the file is missing.", where=str(path))
    try:
        data = read_file(path, most=expected["size"] + _BEYOND)
    except RunDamagedError as error:
        raise CheckpointError(f"the file cannot be read: {error.message}", where=str(path)) from error
    if len(data) != expected["size"]:
        message = f"the file is cut off or overwritten ({len(data)} of {expected['size']} bytes)."
        raise CheckpointError(message, where=str(path))
    if hashlib.sha256(data).hexdigest() != expected["sha256"]:
        raise CheckpointError("the file is damaged (its checksum differs).", where=str(path))
    return data
