"""What does a policy do without sticky actions that was trained with them?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.studies.study import Case, Row, Study, evaluate_in, mean_and_range, newest_run, train_one
from gymsolve.recipes import resolve
from gymsolve.settings.config import TrainConfig

__all__ = ["STUDY"]

_ENV = "Retro/MeadowRun-Nes-v0"
_ARMS = {"sticky": "train", "plain": None}
"""Who has sticky actions while it trains."""
_PROBABILITY = 0.25
_STEPS, _EPISODES = 150_000, 100
_PLAYED = ("without", "with")


def _cases(seeds: Sequence[int]) -> list[Case]:
    return [Case("sticky_training", arm, _ENV, seed, _STEPS) for seed in seeds for arm in _ARMS]


def _run(case: Case, root: Path) -> Row:
    role = _ARMS[case.arm]
    settings = {"env.num_envs": 16, "eval.episodes": 16}
    if role is not None:
        settings["env.wrappers"] = _with_sticky_actions(resolve(_ENV).config, [role])
    row = train_one(case, root, settings, points=5)
    run = newest_run(case.folder(root))
    found = {played: evaluate_in(run, "last", partial(_change, played), _EPISODES) for played in _PLAYED}
    return row | {
        "success": {played: one.success_rate for played, one in found.items()},
        "repeated": {played: round(one.repeated or 0.0, 4) for played, one in found.items()},
    }


def _with_sticky_actions(config: TrainConfig, roles: list[str]) -> list[dict[str, Any]]:
    """The wrappers of these settings, with sticky actions for these roles alone, right above the buttons."""
    written = config.model_dump(mode="json")["env"]["wrappers"]
    kept = [one for one in written if "sticky_actions" not in one]
    above = 1 + next(index for index, one in enumerate(kept) if "button_actions" in one)
    sticky = {"sticky_actions": {"probability": _PROBABILITY, "roles": roles}}
    return [*kept[:above], *([sticky] if roles else []), *kept[above:]]


def _change(played: str, config: TrainConfig) -> TrainConfig:
    wrappers = _with_sticky_actions(config, ["eval"] if played == "with" else [])
    env = type(config.env).model_validate(config.env.model_dump(mode="json") | {"wrappers": wrappers})
    return config.model_copy(update={"env": env})


def _page(rows: list[Row]) -> list[str]:
    lines = [
        "| trained | played | levels completed | choices that repeat the last one | seeds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for arm in _ARMS:
        found = [row for row in rows if row["arm"] == arm]
        for played in _PLAYED:
            cells = [mean_and_range([row[key][played] for row in found]) for key in ("success", "repeated")]
            lines.append(f"| {arm} | {played} | {' | '.join(cells)} | {len(found)} |")
    return lines


STUDY = Study(
    "sticky_training",
    "What does a policy do without sticky actions that was trained with them?",
    f"The recipe's PPO on 16 copies of Meadow Run, level 1-1, {_STEPS:,} steps. `sticky`: in training, the "
    f"last action is executed again instead of the chosen one with probability {_PROBABILITY}. `plain`: "
    f"never. Each policy plays {_EPISODES} fresh episodes without sticky actions, as evaluation does, and as "
    "many with them. Choices are what the policy decides, before an action sticks: a policy that leaves the "
    "holding of buttons to the wrapper would repeat itself less often, and fail without it.",
    _cases,
    _run,
    _page,
    note=(
        "Made before commit 1b8b378b, since which `platformer` counts a game that shows the end of a level "
        "neither as stuck nor as time spent: today's figures may differ."
    ),
)
