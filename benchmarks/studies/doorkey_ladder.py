"""Is DoorKey on a large grid learned faster by way of smaller ones?"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.studies.study import Case, Row, Study, mean_and_range, newest_run, train_one
from gymsolve.runs.trust import buildable_settings
from gymsolve.view.stages import stage_stories, stage_visits, task_curves

__all__ = ["STUDY"]

_ENV = "MiniGrid-DoorKey-8x8-v0"
_ARMS = {"alone": _ENV, "ladder": f"{_ENV}:ladder"}
_STEPS = 300_000
_GOOD = 0.9


def _cases(seeds: Sequence[int]) -> list[Case]:
    return [Case("doorkey_ladder", arm, env, seed, _STEPS) for seed in seeds for arm, env in _ARMS.items()]


def _run(case: Case, root: Path) -> Row:
    row = train_one(case, root, {"eval.episodes": 10}, points=12)
    reached = next((step for step, value in row["curve"] if value >= _GOOD), None)
    row["first_at_0.9"] = reached
    if case.arm == "alone":
        return row
    run = newest_run(case.folder(root))
    config, _ = buildable_settings(run)
    visits = stage_visits(config, run.read_events().rows)
    curves = task_curves(run.read_metrics().rows, config.curriculum.names, by_success=False)
    stories = stage_stories(visits, curves)
    return row | {
        "stages": [[one.stage, one.began, one.how] for one in visits],
        "forgotten": {one.stage: one.forgotten for one in stories if one.forgotten is not None},
    }


def _page(rows: list[Row]) -> list[str]:
    lines = [f"| seed | arm | first evaluation ≥ {_GOOD} | last | mean of the curve | stages began |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for row in sorted(rows, key=lambda one: (one["seed"], one["arm"])):
        first = row["first_at_0.9"]
        began = ", ".join(f"{name} {step:,}" for name, step, _ in row.get("stages", []))
        cells = (row["seed"], row["arm"], "never" if first is None else f"{first:,}", row["last"])
        lines.append(f"| {' | '.join(map(str, cells))} | {row['mean_of_curve']} | {began} |")
    means = {
        arm: mean_and_range([row["mean_of_curve"] for row in rows if row["arm"] == arm]) for arm in _ARMS
    }
    lost = [value for row in rows for value in row.get("forgotten", {}).values()]
    told = "; ".join(f"{arm} {mean}" for arm, mean in means.items())
    return [*lines, "", f"Mean of the curve: {told}. Forgotten of earlier stages: {mean_and_range(lost)}."]


STUDY = Study(
    "doorkey_ladder",
    "Is DoorKey-8x8 learned faster by way of 5x5 and 6x6?",
    f"The recipe's PPO without a bonus for exploring, {_STEPS:,} steps. `alone` trains {_ENV}. `ladder` is "
    "its variant with a curriculum over three sizes, the steps of the smaller ones included. Twelve "
    "evaluations of ten episodes each, of 8x8 in both arms.",
    _cases,
    _run,
    _page,
)
