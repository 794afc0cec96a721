"""Does training level 2 of a platform game forget level 1?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.studies.study import Case, Row, Study, evaluate_in, mean_and_range, newest_run, train_one
from gymsolve.runs.run import Run
from gymsolve.settings.config import TrainConfig

__all__ = ["STUDY"]

_ENV = "Retro/MeadowRun-Nes-v0"
_LEVELS = ("Level1-1", "Level1-2")
_STEPS = {"level_1": 300_000, "level_2_after_1": 25_000, "rehearsed": 25_000, "level_2_alone": 25_000}
_EPISODES = 20
_UNTIL_SOLVED = {"eval.stop_when_solved": True, "eval.every": 0}
_SHORT = {"eval.episodes": 16, "eval.num_envs": 8}
_REHEARSED = {
    "env.tasks": {
        _LEVELS[0]: {"kwargs": {"state": _LEVELS[0]}},
        _LEVELS[1]: {"kwargs": {"state": _LEVELS[1]}},
    },
    f"env.tasks.{_LEVELS[1]}.share": 3.0,
    "net.tasks.input": False,
    "net.tasks.values": "shared",
}
"""A quarter of the copies plays the first level; the networks are those of one level: its weights fit."""


def _cases(seeds: Sequence[int]) -> list[Case]:
    return [
        Case("level_forgetting", arm, _ENV, seed, steps) for seed in seeds for arm, steps in _STEPS.items()
    ]


def _run(case: Case, root: Path) -> Row:
    rehearsed, level = case.arm == "rehearsed", _LEVELS[case.arm != "level_1"]
    source = None
    if case.arm in ("level_2_after_1", "rehearsed"):
        first = Case(case.study, "level_1", _ENV, case.seed, _STEPS["level_1"])
        source = f"{newest_run(first.folder(root)).path}@last"
    settings = _UNTIL_SOLVED if case.arm == "level_1" else _SHORT
    row = train_one(
        case,
        root,
        settings | (_REHEARSED if rehearsed else {"env.kwargs.state": level}),
        points=1,
        start_from=source,
    )
    return row | _play_both(newest_run(case.folder(root)), rehearsed)


def _play_both(run: Run, rehearsed: bool) -> Row:
    """Which share of fresh episodes completes each level."""
    if rehearsed:
        played = evaluate_in(run, "last", lambda config: config, _EPISODES).tasks
        return {"success_after": {one: played[one].success_rate for one in _LEVELS}}
    after = {
        one: evaluate_in(run, "last", partial(_in_level, one), _EPISODES).success_rate for one in _LEVELS
    }
    return {"success_after": after}


def _in_level(level: str, config: TrainConfig) -> TrainConfig:
    env = config.env.model_copy(update={"kwargs": config.env.kwargs | {"state": level}})
    return config.model_copy(update={"env": env})


def _page(rows: list[Row]) -> list[str]:
    lines = [
        f"| after | {' | '.join(f'completes {level}' for level in _LEVELS)} | seeds |",
        "| --- | --- | --- | --- |",
    ]
    for arm in _STEPS:
        found = [row for row in rows if row["arm"] == arm]
        shares = [mean_and_range([row["success_after"][level] for row in found]) for level in _LEVELS]
        lines.append(f"| {arm} | {' | '.join(shares)} | {len(found)} |")
    told = "; ".join(f"{arm} {_forgotten(rows, arm)}" for arm in ("level_2_after_1", "rehearsed"))
    return [*lines, "", f"Forgetting of {_LEVELS[0]} (share before less share after): {told}."]


def _forgotten(rows: list[Row], arm: str) -> str:
    """Of the first level, by what trained after it."""
    by = {(row["arm"], row["seed"]): row["success_after"][_LEVELS[0]] for row in rows}
    seeds = [seed for other, seed in by if other == arm and ("level_1", seed) in by]
    return mean_and_range([by[("level_1", seed)] - by[(arm, seed)] for seed in seeds])


STUDY = Study(
    "level_forgetting",
    "Does training level 2 forget level 1?",
    f"The recipe's PPO on Meadow Run. {_LEVELS[0]} is trained until it is solved, for {_STEPS['level_1']:,} "
    f"steps at most, then {_LEVELS[1]} for {_STEPS['level_2_after_1']:,} from there (`train --from`). "
    f"`rehearsed` does so with a quarter of the copies in {_LEVELS[0]} (`env.tasks`); `level_2_alone` begins "
    f"with {_LEVELS[1]}. "
    f"Each policy plays {_EPISODES} fresh episodes of both levels.",
    _cases,
    _run,
    _page,
    note=(
        "Made before commit 1b8b378b, since which `platformer` counts a game that shows the end of a level "
        "neither as stuck nor as time spent: today's figures may differ."
    ),
)
