"""Metrics of runs as short series, for tables, pictures and language models."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymsolve.answers import Answer, left_out
from gymsolve.errors import UsageError, did_you_mean
from gymsolve.metrics.catalog import by_priority
from gymsolve.metrics.training_returns import CUT_SHARE, note
from gymsolve.runs import find_run, split_ref
from gymsolve.view.run_view import RunView
from gymsolve.view.runs import RunsDir
from gymsolve.view.thinning import samples

_USUAL = [
    "eval/mean_reward",
    "rollout/ep_rew_mean",
    "rollout/ep_len_mean",
    "train/entropy",
    "train/approx_kl",
]
_MOST_NAMES = 12


@dataclass(frozen=True)
class Series(Answer):
    """One metric of one run over environment steps."""

    run: str
    name: str
    points: list[tuple[int, float]]
    total: int
    """The number of recorded values; `points` are some of them, with the extremes."""
    note: str | None = left_out()
    """How training's mean return differs in kind from that of evaluations: per point, or of those left."""


@dataclass(frozen=True)
class Curves(Answer):
    """Series, and the names that there are."""

    series: list[Series]
    names: list[str]
    """Every metric that the runs recorded."""


def read_curves(
    refs: Sequence[str],
    names: Sequence[str],
    points: int,
    between: tuple[int, int | None],
    runs_dir: RunsDir = None,
) -> Curves:
    """Metrics by name or pattern (`train/*`) `between` two steps, each thinned to `points`."""
    read, notes = {}, {}
    for ref in refs:
        view = RunView(find_run(split_ref(ref)[0], runs_dir))
        recorded = read[view.run.id] = _by_name(view.run.read_metrics().rows, *between)
        _, cut_share = recorded.get(CUT_SHARE, [(0, None)])[-1]
        notes[view.run.id] = note(view.training_unit, cut_share)
    recorded_names = by_priority({name for series in read.values() for name in series})
    chosen = _choose(names, recorded_names)
    series = [
        Series(
            *(run, name, _thin(recorded[name], points), len(recorded[name])),
            notes[run] if name == "rollout/ep_rew_mean" else None,
        )
        for run, recorded in read.items()
        for name in chosen
        if name in recorded
    ]
    return Curves(series, recorded_names)


def _by_name(rows: list[dict[str, Any]], start: int, end: int | None) -> dict[str, list[tuple[int, float]]]:
    by_name: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        step = row["env_steps"]
        if step < start or (end is not None and step > end):
            continue
        for name, value in row.items():
            if "/" in name and isinstance(value, int | float):
                by_name.setdefault(name, []).append((step, float(value)))
    return by_name


def _thin(series: list[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    return [series[place] for place in samples([value for _, value in series], most)]


def _choose(names: Sequence[str], recorded: list[str]) -> list[str]:
    if not names:
        return [name for name in _USUAL if name in recorded]
    chosen: dict[str, None] = {}
    for name in names:
        hits = fnmatch.filter(recorded, name)
        if not hits and recorded:
            near = did_you_mean(name, recorded) or f"There are: {', '.join(recorded[:10])}, …"
            raise UsageError(f"no metric is called {name!r} here.", where="names", hint=near)
        chosen |= dict.fromkeys(hits)
    if len(chosen) > _MOST_NAMES:
        raise UsageError(
            f"{len(chosen)} metrics fit; at most {_MOST_NAMES} are given at once.",
            where="names",
            hint="Name fewer.",
        )
    return list(chosen)
