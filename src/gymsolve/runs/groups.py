"""Groups: runs that one `gymsolve train --seeds` began, which differ in their seed alone; names of queues.

`groups/<id>.json` beside the runs holds what is needed to go on: the seeds, and the words after
`gymsolve train` without one. Runs name their group in `run.json`, so a group is found without this file too.
Words that came from elsewhere start nothing unless the user trusts them (`runs/trust.py`).
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gymsolve.errors import RunDamagedError, UnknownRunError, did_you_mean
from gymsolve.runs.deleted import deleted_runs
from gymsolve.runs.files import os_errors, read_json, replace_json
from gymsolve.runs.index import list_runs
from gymsolve.runs.run import Run, now, open_run, slug
from gymsolve.runs.schema import GROUP as GROUP_FIELDS
from gymsolve.runs.schema import find_fault
from gymsolve.runs.summary import SCHEMA_VERSION, runs_folder
from gymsolve.runs.trust import trust_words

GROUP = "group:"
"""The prefix of references to groups."""


def groups_folder(base: Path) -> Path:
    """The folder of the groups' files, among the runs."""
    return base / "groups"


@dataclass(frozen=True)
class Group:
    """Several seeds of one configuration."""

    id: str
    name: str
    seeds: tuple[int, ...]
    words: tuple[str, ...]
    """The arguments of `gymsolve train`, without a seed."""
    base: Path
    """The folder of the runs."""

    @property
    def ref(self) -> str:
        return f"{GROUP}{self.id}"

    @property
    def path(self) -> Path:
        return groups_folder(self.base) / f"{self.id}.json"

    @property
    def log(self) -> Path:
        """The standard error of a group in the background."""
        return self.path.with_suffix(".log")

    def runs(self) -> dict[int, Run]:
        """The runs that have begun, by seed; the newest where a seed has several."""
        oldest_first = reversed(list_runs(self.base))
        begun = {run.seed: open_run(self.base / run.id) for run in oldest_first if run.group == self.id}
        return {seed: begun[seed] for seed in self.seeds if seed in begun}

    def deleted_seeds(self) -> set[int]:
        """Seeds whose run was deleted, and that have no other."""
        gone = {run.seed for run in deleted_runs(self.base).values() if run.group == self.id}
        return {seed for seed in gone - set(self.runs()) if seed is not None} if gone else set()


def create_group(base: Path | str | None, *, name: str, seeds: Sequence[int], words: Sequence[str]) -> Group:
    """Store the seeds and arguments of a group; nothing has begun yet."""
    folder = runs_folder(base).absolute()
    label = f"{slug(name)}-{len(seeds)}seeds-{os.urandom(2).hex()}"
    group = Group(label, name, tuple(seeds), tuple(words), folder)
    with os_errors(group.path):
        group.path.parent.mkdir(parents=True, exist_ok=True)
    facts = {key: value for key, value in asdict(group).items() if key != "base"}
    replace_json(group.path, {"schema_version": SCHEMA_VERSION, **facts, "created": now()})
    trust_words(group.id, group.words)
    return group


def find_queue(ref: str, base: Path | str | None = None) -> str | None:
    """The id of the stored queue that `group:ID` names, or a part of it; None where it names none."""
    part = ref.removeprefix(GROUP)
    ids = [path.stem for path in groups_folder(runs_folder(base).absolute()).glob("*.jsonl")]
    matches = [part] if part in ids else [name for name in ids if part and part in name]
    return matches[0] if len(matches) == 1 else None


def queue_stop(base: Path, queue: str) -> Path:
    """A file that is present while somebody asks a queue to stop."""
    return groups_folder(base) / f"{queue}.stop"


def find_group(ref: str, base: Path | str | None = None) -> Group:
    """The group that `group:ID` names; a part of the id will do that occurs in no other."""
    folder, part = runs_folder(base).absolute(), ref.removeprefix(GROUP)
    ids = sorted(path.stem for path in groups_folder(folder).glob("*.json"))
    matches = [part] if part in ids else [name for name in ids if part and part in name]
    if len(matches) > 1:
        message = f"'{ref}' fits {len(matches)} groups: {', '.join(matches)}."
        raise UnknownRunError(message, hint="Write more of the id.")
    if not matches:
        hint = did_you_mean(part, ids) or "Begin one with: gymsolve train ENV --seeds 5"
        raise UnknownRunError(f"no group in {folder} is called '{part}'.", hint=hint)
    return _read(folder, matches[0])


def _read(folder: Path, name: str) -> Group:
    path = groups_folder(folder) / f"{name}.json"
    stored = read_json(path)
    if stored.get("id") != name or find_fault(stored, GROUP_FIELDS) is not None:
        raise RunDamagedError("the file does not describe a group of runs.", where=str(path))
    return Group(name, str(stored.get("name")), tuple(stored["seeds"]), tuple(stored["words"]), folder)
