"""The section on a curriculum: its stages, every task over time, what was forgotten and what was gained."""

from collections.abc import Mapping, Sequence

from gymsolve.recipes import validate
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import STAGE, find_masters
from gymsolve.settings.config import TrainConfig
from gymsolve.text import count, number
from gymsolve.view.report.document import Block, Figures, Paragraph, Section, Table
from gymsolve.view.report.facts import Facts
from gymsolve.view.report.figures import Curves, Line
from gymsolve.view.stages import (
    StageVisit,
    how_it_ended,
    own_curve,
    stage_stories,
    stage_visits,
    task_curves,
)
from gymsolve.view.transfer import Curve, forward_transfer, spread_of_tasks

_SHOWN = 16
"""Rows of the table of tasks over time; the ends of stages are always among them."""


def stages(facts: Facts) -> Section:
    """Left out where there is no curriculum."""
    settings = facts.config.curriculum
    if not settings.stages:
        return Section("Stages", [])
    by_success = facts.config.solved_by == "success_rate"
    visits = stage_visits(facts.config, facts.events)
    curves = task_curves(facts.rows, settings.names, by_success=by_success)
    what = "share of successes" if by_success else "mean return"
    blocks: list[Block] = [_visited(facts.run, visits)] if visits else []
    if any(curves.values()):
        blocks += [
            Figures([_figure(facts, curves, what)]),
            Paragraph(f"Every stage over time, by evaluation ({what}); * marks the end of a stage."),
            _matrix(visits, curves),
            *_left(facts, visits, curves),
        ]
    return Section("Stages", blocks)


def _visited(run: Run, visits: Sequence[StageVisit]) -> Table:
    masters = {int(name): f"{run.id}@{STAGE}{stage}" for stage, name in find_masters(run).items()}
    rows = [
        (
            one.stage,
            count(one.began),
            "" if one.ended is None else count(one.ended),
            how_it_ended(one),
            number(one.achieved) if one.achieved is not None else "",
            "" if one.bound is None or one.bar is None else f"{number(one.bound)} (needed {number(one.bar)})",
            masters.get(one.ended, "") if one.ended is not None else "",
        )
        for one in visits
    ]
    headers = ("stage", "from step", "to step", "ended", "in training", "bound", "its weights")
    return Table(headers, rows, (1, 2, 4))


def _figure(facts: Facts, curves: Mapping[str, Curve], what: str) -> Curves:
    lines = [
        Line(name, [(facts.place(step), value) for step, value in curve]) for name, curve in curves.items()
    ]
    return Curves("Stages", lines, f"Evaluation of each stage: {what}.", x_label=facts.axis)


def _matrix(visits: Sequence[StageVisit], curves: Mapping[str, Curve]) -> Table:
    """Task by time."""
    steps = spread_of_tasks(curves)
    ends = {float(one.ended) for one in visits if one.ended is not None}
    kept = {steps[round(place * (len(steps) - 1) / (_SHOWN - 1))] for place in range(_SHOWN)}
    found = {name: dict(curve) for name, curve in curves.items()}
    rows = [
        (
            count(int(step)) + ("*" if step in ends else ""),
            *(number(found[name].get(step)) if step in found[name] else "" for name in curves),
        )
        for step in steps
        if step in kept or step in ends
    ]
    return Table(("steps", *curves), rows, tuple(range(len(curves) + 1)))


def _left(facts: Facts, visits: Sequence[StageVisit], curves: Mapping[str, Curve]) -> list[Block]:
    """What is left of each stage, and what it gained from those before."""
    gained = _gains(facts, visits, curves)
    rows = [
        (
            story.stage,
            number(story.at_end) if story.at_end is not None else "",
            number(story.now) if story.now is not None else "",
            number(story.forgotten) if story.forgotten is not None else "",
            *([number(gained[story.stage]) if story.stage in gained else ""] if gained else []),
        )
        for story in stage_stories(visits, curves)
    ]
    headers = ("stage", "at its end", "now", "forgotten", *(["forward transfer"] if gained else []))
    told = "Forgotten is what a stage came to at its end, less what is left of it now."
    if gained:
        told += (
            " Forward transfer is the share of what a run from scratch misses, over as many steps, that the "
            "stages before have brought: 0 is as from scratch, 1 the best possible."
        )
    return [Table(headers, rows, tuple(range(1, len(headers)))), Paragraph(told)]


def _gains(facts: Facts, visits: Sequence[StageVisit], curves: Mapping[str, Curve]) -> dict[str, float]:
    """Forward transfer by stage, for those that a run from scratch was given of."""
    by_success = facts.config.solved_by == "success_rate"
    found = {}
    for run in facts.scratch:
        alone = validate(run.config_json()["config"], f"{run.id}/config.json")
        curve = own_curve(run.read_metrics().rows, by_success=by_success)
        for visit in visits:
            if visit.stage in found or not _same_task(facts.config, visit.stage, alone):
                continue
            best = 1.0 if by_success else _best(facts, visit.stage)
            end = facts.env_steps if visit.ended is None else visit.ended
            gain = (
                None
                if best is None
                else forward_transfer(curves[visit.stage], curve, begin=visit.began, end=end, best=best)
            )
            if gain is not None:
                found[visit.stage] = gain
    return found


def _best(facts: Facts, name: str) -> float | None:
    """The most that a stage is asked for: the return that counts as solved there, else what promotes."""
    found = [row[key] for row in facts.rows if (key := f"task_threshold/{name}") in row]
    if found:
        return float(found[-1])
    settings, solved_by = facts.config.curriculum, facts.config.solved_by
    stage = next(one for one in settings.stages if one.name == name)
    return None if settings.promotes_by_success(solved_by) else settings.bar(stage, solved_by, None)


def _same_task(config: TrainConfig, stage: str, alone: TrainConfig) -> bool:
    """Is a run from scratch about the same environment as a stage?"""
    mine, other = config.env.for_task(stage), alone.env
    return (mine.id, mine.kwargs, mine.wrappers, mine.max_episode_steps) == (
        other.id,
        other.kwargs,
        other.wrappers,
        other.max_episode_steps,
    )
