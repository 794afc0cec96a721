"""Stages that a run with a curriculum went through: pure functions over its events and evaluations."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.view.transfer import Curve, forgetting, value_at

if TYPE_CHECKING:  # the settings take a moment to import, and most runs have no stages
    from gymsolve.settings.config import TrainConfig

_MOVES = ("promoted", "demoted")


@dataclass(frozen=True)
class StageVisit:
    """A stretch of a run in one stage."""

    stage: str
    began: int
    """Environment steps."""
    ended: int | None
    """None for the stage that the run is in."""
    how: str
    """`promoted` or `demoted`; empty for the stage that the run is in."""
    by: str
    """`bound`: the bound on the results was good enough; `steps`: its steps were spent."""
    achieved: float | None
    """Mean return or share of successes of the episodes that decided."""
    bound: float | None
    bar: float | None
    episodes: int
    judged: str = ""
    """The stage whose episodes decided: of a demotion, the one that has collapsed."""


@dataclass(frozen=True, kw_only=True)
class VisitedStage(Answer, StageVisit):
    """A visit, its checkpoint, and the newest evaluation of its stage."""

    ending: str
    """Its end, in words."""
    master: str | None
    """The checkpoint with the weights at its end."""
    now: float | None
    """The newest evaluation of the stage."""
    forgotten: float | None
    """The evaluation at its end less the newest one."""


@dataclass(frozen=True)
class StageStory:
    """The outcome of one stage."""

    stage: str
    ended: int | None
    """The step of its last promotion; None before that."""
    at_end: float | None
    """The result of evaluation there, on this stage."""
    now: float | None
    """The result of the newest evaluation."""
    forgotten: float | None
    """The difference of both."""


def how_it_ended(visit: StageVisit) -> str:
    """In words; empty for the stage that the run is in."""
    if visit.how == "demoted":
        return f"demoted, {visit.judged} collapsed"
    return f"{visit.how}, steps spent" if visit.by == "steps" else visit.how


def stage_visits(config: "TrainConfig", events: Sequence[Mapping[str, Any]]) -> list[StageVisit]:
    """The visits in order; empty without a ladder of stages."""
    names = config.curriculum.names
    if not names or config.curriculum.choice != "ladder":
        return []
    visits, here, since = [], names[0], 0
    for event in _moves(events):
        measured = {key: event.get(key) for key in ("achieved", "bound", "bar")}
        seen = int(event.get("episodes") or 0)
        ended = int(event["env_steps"])
        judged, by = str(event.get("judged")), str(event.get("by"))
        visits.append(
            StageVisit(here, since, ended, event["kind"], by, **measured, episodes=seen, judged=judged)
        )
        here, since = str(event.get("next")), ended
    return [*visits, StageVisit(here, since, None, "", "", None, None, None, 0)]


def _moves(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Changes of stage that a resume from an earlier step has not undone, each once."""
    kept: list[Mapping[str, Any]] = []
    for event in events:
        kind, step = event.get("kind"), event.get("env_steps")
        if not isinstance(step, int):
            continue
        if kind == "resumed":
            kept = [move for move in kept if move["env_steps"] <= step]
        elif kind in _MOVES and all((move["kind"], move["env_steps"]) != (kind, step) for move in kept):
            kept.append(event)
    return sorted(kept, key=lambda move: int(move["env_steps"]))


def task_curves(
    rows: Iterable[Mapping[str, Any]], tasks: Iterable[str], *, by_success: bool
) -> dict[str, list[tuple[float, float]]]:
    """Results of evaluations on each task, by environment steps."""
    kept = list(rows)
    key = "task_eval_success/" if by_success else "task_eval/"
    return {task: _points(kept, f"{key}{task}") for task in tasks}


def own_curve(rows: Iterable[Mapping[str, Any]], *, by_success: bool) -> list[tuple[float, float]]:
    """Results of evaluations of a run with one task."""
    return _points(rows, "eval/success_rate" if by_success else "eval/mean_reward")


def _points(rows: Iterable[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    points = [(float(row["env_steps"]), row[name]) for row in rows if isinstance(row.get(name), int | float)]
    return [(step, float(value)) for step, value in points if math.isfinite(value)]


def stage_stories(visits: Sequence[StageVisit], curves: Mapping[str, Curve]) -> list[StageStory]:
    """Results of each stage at its end and now, in the order of the curves."""
    stories = []
    for stage, curve in curves.items():
        ends = [visit.ended for visit in visits if (visit.stage, visit.how) == (stage, "promoted")]
        ended = ends[-1] if ends else None
        then = None if ended is None else value_at(curve, ended)
        lost = None if ended is None else forgetting(curve, ended)
        stories.append(StageStory(stage, ended, then, curve[-1][1] if curve else None, lost))
    return stories


def tell_stages(
    visits: Sequence[StageVisit], curves: Mapping[str, Curve], masters: Mapping[str, str]
) -> list[VisitedStage]:
    """The visits with results; `masters` are the checkpoints at the ends of stages."""
    stories = {story.stage: story for story in stage_stories(visits, curves)}
    return [
        VisitedStage(
            **vars(visit),
            ending=how_it_ended(visit),
            master=name if (name := masters.get(visit.stage)) == str(visit.ended) else None,
            now=stories[visit.stage].now,
            forgotten=stories[visit.stage].forgotten if stories[visit.stage].ended == visit.ended else None,
        )
        for visit in visits
    ]
