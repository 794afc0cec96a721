"""Sweeps on disk: `sweeps/<id>/` among the runs, with what was asked, Optuna's journal and events.

In `sweep.json` only the numbers of trials and of fresh seeds ever change. The state of a sweep is in its
journal (which configurations there are) and in the folders of its runs (how far they have come), so a process
may die between any two writes.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from gymsolve.errors import CodeRefusedError, RunDamagedError, UnknownRunError, UsageError, did_you_mean
from gymsolve.jobs.sweeps.ladder import Level
from gymsolve.recipes import validate
from gymsolve.recipes.search.space import Dimension, Space, read_space
from gymsolve.runs.files import HeldError, locked, os_errors, read_json, replace_json, replace_text
from gymsolve.runs.records import append_record
from gymsolve.runs.run import now, slug
from gymsolve.runs.summary import SCHEMA_VERSION, runs_folder
from gymsolve.runs.trust import are_trusted_words, trust_words
from gymsolve.settings.config import TrainConfig

Objective = Literal["steps", "seconds", "return"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
Sampler = Literal["tpe", "qmc", "random", "gp", "cmaes"]
SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)


@dataclass(frozen=True)
class Sweep:
    """A search that was asked for."""

    id: str
    name: str
    """The recipe that it begins with."""
    env: str
    """ENV[:VARIANT] of the trials' commands."""
    overrides: tuple[str, ...]
    """Settings that all trials have, as `--set` takes them."""
    own: dict[str, Any]
    """The recipe's own values of settings that only trials have otherwise, such as videos."""
    config: TrainConfig
    """The settings of the recipe with these on top."""
    space: Space
    objective: Objective
    threshold: float | None
    sampler: Sampler
    trials: int
    """Configurations, the recipe among them."""
    levels: tuple[Level, ...]
    test_seeds: tuple[int, ...]
    at_once: int
    seed: int
    base: Path
    """The folder of the runs."""

    @property
    def path(self) -> Path:
        return sweeps_folder(self.base) / self.id

    @property
    def journal(self) -> Path:
        return self.path / "journal.log"

    @property
    def jobs(self) -> Path:
        return self.path / "jobs"

    @property
    def tuning_seeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(level.seed for level in self.levels))

    def label(self, purpose: str, number: int) -> str:
        """The `--trial` of a run: which configuration it tries, and whether to search or to test."""
        return f"sweep {self.id} {purpose} {number}"

    def log_event(self, kind: str, **data: Any) -> None:
        append_record(self.path / "events.jsonl", {"time": now(), "kind": kind, **data})

    def stop_requested(self) -> bool:
        return (self.path / "stop").exists()

    def request_stop(self) -> None:
        replace_text(self.path / "stop", now() + "\n")

    def clear_stop(self) -> None:
        with os_errors(self.path / "stop"):
            (self.path / "stop").unlink(missing_ok=True)

    def is_worked_on(self) -> bool:
        """True if a process holds the sweep."""
        try:
            with locked(self.path / ".lock", timeout=0.0):
                return False
        except HeldError:
            return True

    def held(self) -> "AbstractContextManager[None]":
        """The right to work on the sweep, which one process has at a time."""
        return _Held(self)

    def require_trust(self, *, trust: bool) -> None:
        """Refuse to start runs for a sweep that this user did not begin here."""
        words = [self.env, *self.overrides, *(str(dimension) for dimension in self.space)]
        if trust:
            trust_words(self.id, words)
        elif not are_trusted_words(self.id, words):
            raise CodeRefusedError(
                f"the sweep would run 'gymsolve train {shlex.join(words[:1])} …', and it was not made here.",
                where=self.id,
                hint="If you know where it comes from: --trust, once.",
            )


class _Held:
    """Holds the lock of a sweep; a second process is refused in one sentence."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep, self._lock = sweep, locked(sweep.path / ".lock", timeout=0.0)

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except HeldError as error:
            raise UsageError(
                "another process works on this sweep.",
                where=self._sweep.id,
                hint=f"Stop it first with: gymsolve sweep stop {self._sweep.id}",
            ) from error

    def __exit__(self, *error: Any) -> None:
        self._lock.__exit__(*error)


def sweeps_folder(base: Path) -> Path:
    """The folder of the sweeps, among the runs."""
    return base / "sweeps"


def new_id(name: str) -> str:
    return f"{slug(name)}-sweep-{os.urandom(2).hex()}"


def store_sweep(sweep: Sweep) -> None:
    """Make the folder of a new sweep; nothing has begun yet."""
    with os_errors(sweep.path):
        sweep.path.mkdir(parents=True)
    facts = {
        name: value
        for name, value in vars(sweep).items()
        if name not in ("base", "config", "space", "levels")
    }
    space = {dimension.path: dimension.to_json() for dimension in sweep.space}
    about = {each.path: {"reason": each.reason, "place": each.place} for each in sweep.space}
    further = {
        "overrides": list(sweep.overrides),
        "test_seeds": list(sweep.test_seeds),
        "config": sweep.config.model_dump(mode="json"),
        "levels": [asdict(level) for level in sweep.levels],
        "search": space,
        "search_from": about,
    }
    replace_json(
        sweep.path / "sweep.json", {"schema_version": SCHEMA_VERSION, **facts, **further, "created": now()}
    )
    sweep.require_trust(trust=True)


def enlarge_sweep(sweep: Sweep, trials: int | None = None, test_seeds: int | None = None) -> Sweep:
    """The sweep with more configurations or fresh seeds, which is stored."""
    for option, wanted, has in (
        ("--trials", trials, sweep.trials),
        ("--test-seeds", test_seeds, len(sweep.test_seeds)),
    ):
        if wanted is not None and wanted < has:
            raise UsageError(f"the sweep has {has}, and none is taken back.", where=option)
    first, seeds = sweep.test_seeds[0], test_seeds or len(sweep.test_seeds)
    larger = replace(sweep, trials=trials or sweep.trials, test_seeds=tuple(range(first, first + seeds)))
    path = sweep.path / "sweep.json"
    if larger != sweep:
        replace_json(path, read_json(path) | {"trials": larger.trials, "test_seeds": list(larger.test_seeds)})
    return larger


def find_sweep(ref: str, runs_dir: Path | str | None = None) -> Sweep:
    """The sweep of this id, of a part that occurs in no other id, or the newest one: `@last`."""
    base = runs_folder(runs_dir).absolute()
    ids = _ids(base)
    if ref == "@last" and ids:
        return read_sweep(base, ids[0])
    matches = [ref] if ref in ids else [name for name in ids if ref and ref.lower() in name.lower()]
    if len(matches) == 1:
        return read_sweep(base, matches[0])
    if matches:
        listed = ", ".join(matches[:5])
        raise UnknownRunError(f"'{ref}' fits {len(matches)} sweeps: {listed}.", hint="Write more of the id.")
    hint = did_you_mean(ref, ids) or "Begin one with: gymsolve sweep CartPole-v1"
    raise UnknownRunError(f"no sweep in {sweeps_folder(base)} is called '{ref}'.", hint=hint)


def list_sweeps(runs_dir: Path | str | None = None) -> list[Sweep]:
    """All sweeps that can be read, the newest first."""
    base = runs_folder(runs_dir).absolute()
    sweeps = []
    for name in _ids(base):
        try:
            sweeps.append(read_sweep(base, name))
        except RunDamagedError:
            continue
    return sweeps


def _ids(base: Path) -> list[str]:
    paths = [path for path in sweeps_folder(base).glob("*/sweep.json") if path.is_file()]
    return [path.parent.name for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)]


def read_sweep(base: Path, name: str) -> Sweep:
    path = sweeps_folder(base) / name / "sweep.json"
    stored = read_json(path)
    try:
        if stored["id"] != name or stored["objective"] not in OBJECTIVES or stored["sampler"] not in SAMPLERS:
            raise ValueError("it names something else")
        return Sweep(
            id=name,
            name=str(stored["name"]),
            env=str(stored["env"]),
            overrides=tuple(map(str, stored["overrides"])),
            own=dict(stored["own"]),
            config=validate(stored["config"], str(path)),
            space=_space(stored["search"], stored["search_from"], path),
            objective=stored["objective"],
            threshold=None if stored["threshold"] is None else float(stored["threshold"]),
            sampler=stored["sampler"],
            trials=int(stored["trials"]),
            levels=tuple(Level(**level) for level in stored["levels"]),
            test_seeds=tuple(map(int, stored["test_seeds"])),
            at_once=int(stored["at_once"]),
            seed=int(stored["seed"]),
            base=base,
        )
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        raise RunDamagedError("the file does not describe a sweep.", where=str(path)) from error


def _space(search: Mapping[str, Any], about: Mapping[str, Any], path: Path) -> Space:
    dimensions: Sequence[Dimension] = read_space(search, str(path))
    return tuple(
        Dimension(each.path, each.domain, each.when, **about.get(each.path, {})) for each in dimensions
    )
