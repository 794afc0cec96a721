"""Settings of many runs, for a table that shows them and groups runs by them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer
from gymsolve.errors import GymsolveError
from gymsolve.runs.run import Run
from gymsolve.runs.summary import RunSummary
from gymsolve.text import setting

ABSENT = "–"
_FACTS: dict[str, Callable[[RunSummary], str | None]] = {
    "env": lambda run: run.env_id,
    "algo": lambda run: run.algo,
    "variant": lambda run: run.variant,
    "status": lambda run: run.status,
    "group": lambda run: run.group,
    "tags": lambda run: " ".join(sorted(run.tags)),
}
"""Facts by which runs can be grouped as by settings; the words are those of a search."""
FACTS = tuple(_FACTS)


@dataclass(frozen=True)
class NamedSetting(Answer):
    """A setting of some runs."""

    path: str
    values: int
    """How many values it has among them."""


class StoredSettings:
    """Values of settings by run, as text. A file is read again only when it has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[tuple[str, str], tuple[Any, str]] = {}

    def value(self, summary: RunSummary, path: str) -> str:
        """One setting, or one fact, of a run; a dash where it has none."""
        if path in _FACTS:
            return _FACTS[path](summary) or ABSENT
        stamp = _stamp(self.folder / summary.id / "config.json")
        kept = self._kept.get((summary.id, path))
        if kept is None or kept[0] != stamp:
            kept = self._kept[summary.id, path] = stamp, _text_at(self._config(summary), path)
        return kept[1]

    def forget(self, names: Iterable[str]) -> None:
        """Drop what is kept of runs that are gone."""
        gone = set(names)
        self._kept = {key: kept for key, kept in self._kept.items() if key[0] not in gone}

    def name_all(self, runs: Iterable[RunSummary], check: Callable[[], None]) -> list[NamedSetting]:
        """Settings of these runs: first those that differ, each part by name."""
        values: dict[str, set[str]] = {}
        for run in runs:
            check()
            for path, value in leaves(self._config(run)):
                values.setdefault(path, set()).add(_text(value))
        named = [NamedSetting(path, len(texts)) for path, texts in values.items()]
        return sorted(named, key=lambda named: (named.values < 2, named.path))

    def _config(self, summary: RunSummary) -> dict[str, Any]:
        try:
            config = Run(self.folder / summary.id).config_json()["config"]
        except GymsolveError:  # the row of a damaged run says so
            return {}
        return config if isinstance(config, dict) else {}


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterable[tuple[str, Any]]:
    """Paths and values of settings, without mappings of settings."""
    if isinstance(node, dict) and node:
        for key, inner in node.items():
            yield from leaves(inner, (*path, str(key)))
    elif path:
        yield ".".join(path), node


def value_order(text: str) -> tuple[int, float, str]:
    """The order of values: numbers by size, then words, then runs that have none."""
    if text == ABSENT:
        return 2, 0.0, ""
    try:
        return 0, float(text.replace(",", "")), text
    except ValueError:
        return 1, 0.0, text.lower()


def _text_at(config: dict[str, Any], path: str) -> str:
    node: Any = config
    for key in path.split("."):
        if not isinstance(node, dict) or key not in node:
            return ABSENT
        node = node[key]
    return _text(node)


def _text(value: Any) -> str:
    """A value as `--set` takes it, with all digits: values that differ do not look the same."""
    return repr(value) if isinstance(value, float) else setting(value)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
