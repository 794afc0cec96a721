"""Decides whether the code that a run names may be imported; all that build a run's parts ask here.

Code that the user names, on the command line or in a recipe, is imported as it is. Code that a *run* names
is imported only if the run was made by this user on this machine, or if the user says so: with `--trust`,
or asked on a terminal. Otherwise a run from elsewhere could execute anything within Python's reach.

The user's state folder has a list of trusted runs: `$XDG_STATE_HOME/gymsolve/trusted`, by default below
`~/.local/state`. A line is a digest of a run's id and of all its settings that can lead to an import. A run
that came from elsewhere is not on it, nor is one whose settings were edited. A run's own folder holds nothing
that could make it trusted, and reading a run writes nothing into it.
"""

import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import CodeRefusedError
from gymsolve.own_code import code_of, modules_of, own_parts
from gymsolve.own_faults import require_found

if TYPE_CHECKING:
    from gymsolve.recipes import Overrides
    from gymsolve.runs.run import Run
    from gymsolve.settings.config import TrainConfig

_IMPORTING = ("id", "kwargs", "wrappers")
"""Settings of an environment, or of one of its tasks, that can lead to an import."""


def buildable_settings(
    run: "Run", overrides: "Overrides" = (), *, trust: bool = False
) -> "tuple[TrainConfig, dict[str, tuple[Any, Any]]]":
    """The settings of a run to build its parts with, and every path that overrides changed.

    Refused if they name code and the run is neither from here nor trusted; `trust` trusts it from now on.
    Code that overrides name is the user's own choice.
    """
    # Pydantic takes longer than a whole list of runs.
    from gymsolve.recipes import apply_overrides, import_algorithm, validate

    before, stored = _read(run)
    config, changes = apply_overrides(before, overrides)
    wanted = config.model_dump(mode="json")
    foreign = [name for name in code_of(wanted) if name in code_of(stored)]
    if foreign and not _is_trusted(run.id, stored):
        if not trust:
            raise CodeRefusedError(
                f"run {run.id} would import {', '.join(map(repr, foreign))}, and it was not made here "
                "(or before gymsolve kept account of that, or its settings were edited).",
                hint="If you know where it comes from: --trust (in Python trust=True), once.",
            )
        trust_run(run.id, stored)
    require_found(modules_of(wanted), run.info().get("code") or {}, run.id)
    if ":" not in config.algo.name:
        return config, changes
    import_algorithm(config.algo.name)  # from here on, its own class checks the settings
    return apply_overrides(validate(stored, f"{run.id}/config.json"), overrides)


def doubted_code(run: "Run") -> tuple[str, ...]:
    """The code that a run names and that must not be imported unless the user agrees."""
    config = _read(run)[1]
    return () if _is_trusted(run.id, config) else code_of(config)


def _read(run: "Run") -> "tuple[TrainConfig, dict[str, Any]]":
    """The settings of a run, and the same as plain data, in which an own algorithm's are as stored."""
    from gymsolve.recipes import validate

    given = run.config_json()["config"]
    config = validate(given, f"{run.id}/config.json")
    plain = config.model_dump(mode="json")
    # Its class may have changed since, and with it what it makes of the same data.
    return config, plain | ({"algo": dict(given["algo"])} if ":" in config.algo.name else {})


def trust_words(group_id: str, words: Sequence[str]) -> bool:
    """Enter the arguments with which a group starts trainings; False where the list cannot be written."""
    return trust_run(group_id, _as_settings(words))


def are_trusted_words(group_id: str, words: Sequence[str]) -> bool:
    """This user wrote these arguments of a group here; a file among runs may come from anybody."""
    return _is_trusted(group_id, _as_settings(words))


def _as_settings(words: Sequence[str]) -> dict[str, Any]:
    return {"env": {"id": "gymsolve:train", "kwargs": {"words": list(words)}}}  # any word may name code


def trust_run(run_id: str, config: Mapping[str, Any]) -> bool:
    """Enter a run into the list if its settings name code; False where the list cannot be written."""
    if _is_trusted(run_id, config):
        return True
    path = trusted_list()
    if path is None:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{_digest(run_id, config)} {_plain(run_id)}\n".encode())
        finally:
            os.close(descriptor)
    except OSError:  # a home that is read-only, or of another user
        return False
    return _is_trusted(run_id, config)


def forget_run(run_id: str) -> None:
    """Take a run off the list: a run of this id that comes from elsewhere may be another one."""
    path = trusted_list()
    lines = [] if path is None else _lines(path)
    kept = [line for line in lines if line.partition(" ")[2] != _plain(run_id)]
    if path is None or len(kept) == len(lines):
        return
    temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.writelines(f"{line}\n" for line in kept)
        temporary.replace(path)
    except OSError as error:
        raise CodeRefusedError(
            f"run {run_id} is trusted from before, and that cannot be taken back: {error.strerror}.",
            where=str(path),
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def note_on_trust(run: "Run") -> list[str]:
    """A note for the user who starts a run with code of their own, where the list cannot be written."""
    if not doubted_code(run):
        return []
    place = trusted_list() or "the home folder"
    return [
        f"{place} cannot be written, so gymsolve will not know this run for yours: "
        "eval, record, resume and fix need --trust to import its code"
    ]


def trusted_list() -> Path | None:
    """The path of the list; None for a user without a home."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        state = given if given.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return state / "gymsolve" / "trusted"


def _is_trusted(run_id: str, config: Mapping[str, Any]) -> bool:
    """The run names no code at all, or is on the list."""
    if not code_of(config):
        return True
    path = trusted_list()
    digest = _digest(run_id, config)
    return path is not None and any(line.partition(" ")[0] == digest for line in _lines(path))


def _lines(path: Path) -> list[str]:
    """The lines of the list; none where others could have written it."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            facts = os.fstat(file.fileno())
            if sys.platform != "win32" and (facts.st_uid != os.geteuid() or facts.st_mode & 0o022):
                return []
            return file.read().splitlines() if stat.S_ISREG(facts.st_mode) else []
    except OSError:
        return []


def _plain(run_id: str) -> str:
    """An id as one word of ASCII, since the name of a folder may hold a newline."""
    return ascii(run_id)[1:-1].replace(" ", "_")


def _digest(run_id: str, config: Mapping[str, Any]) -> str:
    env = config.get("env") or {}
    facts = [run_id, *_importing(env)]
    tasks = env.get("tasks") or {}
    if tasks:  # without any, as it was before there were tasks: the list outlives versions
        facts.append({name: _importing(task) for name, task in tasks.items()})
    parts = own_parts(config)
    if parts:
        facts.append({"parts": parts})
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _importing(env: Mapping[str, Any]) -> list[Any]:
    return [env.get(name) or None for name in _IMPORTING]
