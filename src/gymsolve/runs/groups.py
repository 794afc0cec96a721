"""Groups: runs that one `gymsolve train --seeds` began, which differ in their seed alone.

`groups/<id>.json` beside the runs holds what is needed to go on: the seeds, and the words after
`gymsolve train` without one. Runs name their group in `run.json`, so a group is found without this file too.
Words that came from elsewhere start nothing unless the user trusts them (`runs/trust.py`).
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gymsolve.errors import RunDamagedError, UnknownRunError, did_you_mean
from gymsolve.runs.files import os_errors, read_json, replace_json
from gymsolve.runs.index import list_runs
from gymsolve.runs.run import Run, now, open_run, slug
from gymsolve.runs.summary import SCHEMA_VERSION, runs_folder
from gymsolve.runs.trust import trust_words

GROUP = "group:"
"""How references to groups begin."""


def groups_folder(base: Path) -> Path:
    """Where groups are described, beside the runs."""
    return base / "groups"


@dataclass(frozen=True)
class Group:
    """Several seeds of one configuration."""

    id: str
    name: str
    seeds: tuple[int, ...]
    words: tuple[str, ...]
    """What follows `gymsolve train`, without a seed."""
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
        """What a group in the background writes to standard error."""
        return self.path.with_suffix(".log")

    def runs(self) -> dict[int, Run]:
        """The runs that have begun, by seed; the newest where a seed has several."""
        there = reversed(list_runs(self.base))
        found = {one.seed: open_run(self.base / one.id) for one in there if one.group == self.id}
        return {seed: found[seed] for seed in self.seeds if seed in found}


def create_group(base: Path | str | None, *, name: str, seeds: Sequence[int], words: Sequence[str]) -> Group:
    """Write down what will be trained; nothing has begun yet."""
    folder = runs_folder(base).absolute()
    label = f"{slug(name)}-{len(seeds)}seeds-{os.urandom(2).hex()}"
    group = Group(label, name, tuple(seeds), tuple(words), folder)
    with os_errors(group.path):
        group.path.parent.mkdir(parents=True, exist_ok=True)
    facts = {key: value for key, value in asdict(group).items() if key != "base"}
    replace_json(group.path, {"schema_version": SCHEMA_VERSION, **facts, "created": now()})
    trust_words(group.id, group.words)
    return group


def find_group(ref: str, base: Path | str | None = None) -> Group:
    """The group that `group:ID` names; a part of the id will do that occurs in no other."""
    folder, part = runs_folder(base).absolute(), ref.removeprefix(GROUP)
    ids = sorted(path.stem for path in groups_folder(folder).glob("*.json"))
    found = [part] if part in ids else [one for one in ids if part and part in one]
    if len(found) > 1:
        raise UnknownRunError(
            f"'{ref}' fits {len(found)} groups: {', '.join(found)}.", hint="Write more of the id."
        )
    if not found:
        hint = did_you_mean(part, ids) or "Begin one with: gymsolve train ENV --seeds 5"
        raise UnknownRunError(f"no group in {folder} is called '{part}'.", hint=hint)
    return _read(folder, found[0])


def _read(folder: Path, name: str) -> Group:
    path = groups_folder(folder) / f"{name}.json"
    stored = read_json(path)
    seeds, words = stored.get("seeds"), stored.get("words")
    sound = (
        isinstance(seeds, list)
        and all(isinstance(one, int) for one in seeds)
        and isinstance(words, list)
        and all(isinstance(one, str) for one in words)
        and stored.get("id") == name
    )
    if not sound or not isinstance(seeds, list) or not isinstance(words, list):
        raise RunDamagedError("the file does not describe a group of runs.", where=str(path))
    return Group(name, str(stored.get("name")), tuple(seeds), tuple(words), folder)
