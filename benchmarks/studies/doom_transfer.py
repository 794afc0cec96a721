"""Is Doom's DefendTheCenter learned faster after Basic?"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.studies.study import Case, Row, Study, mean_and_range, newest_run, train_one

__all__ = ["STUDY"]

_FIRST, _SECOND = "VizdoomBasic-v1", "VizdoomDefendCenter-v1"
_FIRST_STEPS, _SECOND_STEPS = 60_000, 80_000
_JUDGED = {"eval.episodes": 10, "eval.num_envs": 4}


def _cases(seeds: Sequence[int]) -> list[Case]:
    arms = (("basic", _FIRST, _FIRST_STEPS), ("scratch", _SECOND, _SECOND_STEPS))
    arms += (("after_basic", _SECOND, _SECOND_STEPS),)
    return [Case("doom_transfer", arm, env, seed, steps) for seed in seeds for arm, env, steps in arms]


def _run(case: Case, root: Path) -> Row:
    source = None
    if case.arm == "after_basic":
        basic = Case(case.study, "basic", _FIRST, case.seed, _FIRST_STEPS)
        source = f"{newest_run(basic.folder(root)).path}@last"
    return train_one(case, root, _JUDGED, start_from=source)


def _page(rows: list[Row]) -> list[str]:
    lines = [
        "| seed | from scratch: mean of the curve | after Basic | from scratch: last | after Basic |",
        "| --- | --- | --- | --- | --- |",
    ]
    by = {(row["arm"], row["seed"]): row for row in rows}
    seeds = sorted({seed for arm, seed in by if arm == "after_basic"})
    for seed in seeds:
        plain, after = by[("scratch", seed)], by[("after_basic", seed)]
        cells = (plain["mean_of_curve"], after["mean_of_curve"], plain["last"], after["last"])
        lines.append(f"| {seed} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    gains = [
        by[("after_basic", seed)]["mean_of_curve"] - by[("scratch", seed)]["mean_of_curve"] for seed in seeds
    ]
    better = sum(gain > 0 for gain in gains)
    lines += ["", f"After Basic the mean of the curve is higher with {better} of {len(seeds)} seeds; "]
    lines[-1] += f"the difference is {mean_and_range(gains)}. Counting the {_FIRST_STEPS:,} steps of Basic, "
    lines[-1] += "the way over Basic is the longer one unless the difference is large."
    return lines if seeds else ["Not run yet."]


STUDY = Study(
    "doom_transfer",
    "Is DefendTheCenter learned faster after Basic?",
    f"PPO as in the recipes. `scratch` trains {_SECOND} for {_SECOND_STEPS:,} steps. `after_basic` does the "
    f"same from the last weights of {_FIRST_STEPS:,} steps of {_FIRST} (`train --from`). Both scenarios have "
    "three buttons, left, right and attack, where left and right move in one and turn in the other; what "
    "does not fit (inputs for further game variables) begins anew. Ten evaluations of ten episodes each.",
    _cases,
    _run,
    _page,
)
