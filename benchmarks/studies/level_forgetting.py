"""Does training level 2 of a platform game forget level 1?"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.studies.study import Case, Row, Study, evaluate_in, mean_and_range, newest_run, train_one
from gymsolve.config import TrainConfig

__all__ = ["STUDY"]

_ENV = "Retro/MeadowRun-Nes-v0"
_LEVELS = ("Level1-1", "Level1-2")
_STEPS = {"level_1": 120_000, "level_2_after_1": 60_000, "level_2_alone": 60_000}
_EPISODES = 40


def _cases(seeds: Sequence[int]) -> list[Case]:
    return [
        Case("level_forgetting", arm, _ENV, seed, steps) for seed in seeds for arm, steps in _STEPS.items()
    ]


def _run(case: Case, root: Path) -> Row:
    level = _LEVELS[case.arm != "level_1"]
    source = None
    if case.arm == "level_2_after_1":
        first = Case(case.study, "level_1", _ENV, case.seed, _STEPS["level_1"])
        source = f"{newest_run(first.folder(root)).path}@last"
    settings = {"env.kwargs.state": level, "env.num_envs": 16, "eval.episodes": 16}
    row = train_one(case, root, settings, points=5, start_from=source)
    run = newest_run(case.folder(root))
    after = {one: evaluate_in(run, "last", _in_level(one), _EPISODES).success_rate for one in _LEVELS}
    return row | {"success_after": after}


def _in_level(level: str):  # type: ignore[no-untyped-def]
    def change(config: TrainConfig) -> TrainConfig:
        env = config.env.model_copy(update={"kwargs": config.env.kwargs | {"state": level}})
        return config.model_copy(update={"env": env})

    return change


def _page(rows: list[Row]) -> list[str]:
    if not rows:
        return ["Not run yet."]
    lines = [
        f"| after | {' | '.join(f'completes {level}' for level in _LEVELS)} | seeds |",
        "| --- | --- | --- | --- |",
    ]
    for arm in _STEPS:
        found = [row for row in rows if row["arm"] == arm]
        shares = [mean_and_range([row["success_after"][level] for row in found]) for level in _LEVELS]
        lines.append(f"| {arm} | {' | '.join(shares)} | {len(found)} |")
    by = {(row["arm"], row["seed"]): row["success_after"][_LEVELS[0]] for row in rows}
    lost = [
        by[("level_1", seed)] - by[("level_2_after_1", seed)]
        for arm, seed in by
        if arm == "level_2_after_1" and ("level_1", seed) in by
    ]
    return [
        *lines,
        "",
        f"Forgetting of {_LEVELS[0]} (share before less share after): {mean_and_range(lost)}.",
    ]


STUDY = Study(
    "level_forgetting",
    "Does training level 2 forget level 1?",
    f"The recipe's PPO on 16 copies of Meadow Run. {_LEVELS[0]} is trained for {_STEPS['level_1']:,} steps, "
    f"then {_LEVELS[1]} for {_STEPS['level_2_after_1']:,} from these weights (`train --from`), and "
    f"{_LEVELS[1]} alone for as many. Each policy plays {_EPISODES} fresh episodes of both levels.",
    _cases,
    _run,
    _page,
)
