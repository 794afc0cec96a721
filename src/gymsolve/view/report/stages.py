"""The section on a curriculum: its stages, every task over time, forgetting and forward transfer."""

from collections.abc import Mapping, Sequence

from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import STAGE
from gymsolve.settings.config import TrainConfig
from gymsolve.text import count, number
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.document import Block, Figures, Paragraph, Section, Table
from gymsolve.view.report.figures import Curves, Line
from gymsolve.view.stages import StageVisit, own_curve, stage_stories
from gymsolve.view.thinning import evenly
from gymsolve.view.transfer import Curve, forward_transfer, spread_of_tasks

_ROWS = 16
"""Rows of the table of tasks over time; the ends of stages are always among them."""


def stages(view: DiagnosedRun, scratch: Sequence[Run] = ()) -> Section:
    """The section; empty, and so left out, where there is no curriculum."""
    if not view.config.curriculum.stages:
        return Section("Stages", [])
    what = "share of successes" if view.config.solved_by == "success_rate" else "mean return"
    blocks: list[Block] = [_visited(view)] if view.stages else []
    if any(view.stage_curves.values()):
        blocks += [
            Figures([_figure(view, what)]),
            Paragraph(f"Every stage over time, by evaluation ({what}); * marks the end of a stage."),
            _matrix(view.stages, view.stage_curves),
            *_left(view, scratch),
        ]
    return Section("Stages", blocks)


def _visited(view: DiagnosedRun) -> Table:
    rows = [
        (
            visit.stage,
            count(visit.began),
            "" if visit.ended is None else count(visit.ended),
            visit.ending,
            _text(visit.achieved),
            "" if None in (visit.bound, visit.bar) else f"{_text(visit.bound)} (needed {_text(visit.bar)})",
            "" if visit.master is None else f"{view.run.id}@{STAGE}{visit.stage}",
        )
        for visit in view.stages
    ]
    headers = ("stage", "from step", "to step", "ended", "in training", "bound", "its weights")
    return Table(headers, rows, (1, 2, 4))


def _text(value: float | None) -> str:
    return "" if value is None else number(value)


def _figure(view: DiagnosedRun, what: str) -> Curves:
    lines = [
        Line(name, [(view.place(step), value) for step, value in curve])
        for name, curve in view.stage_curves.items()
    ]
    return Curves("Stages", lines, f"Evaluation of each stage: {what}.", x_label=view.axis)


def _matrix(visits: Sequence[StageVisit], curves: Mapping[str, Curve]) -> Table:
    """Results by task and time."""
    steps = spread_of_tasks(curves)
    ends = {float(visit.ended) for visit in visits if visit.ended is not None}
    kept = {steps[place] for place in evenly(len(steps), _ROWS)}
    by_step = {name: dict(curve) for name, curve in curves.items()}
    rows = [
        (
            count(int(step)) + ("*" if step in ends else ""),
            *(_text(by_step[name].get(step)) for name in curves),
        )
        for step in steps
        if step in kept or step in ends
    ]
    return Table(("steps", *curves), rows, tuple(range(len(curves) + 1)))


def _left(view: DiagnosedRun, scratch: Sequence[Run]) -> list[Block]:
    """A table of forgetting and forward transfer by stage."""
    gained = _gains(view, scratch)
    rows = [
        (
            story.stage,
            *map(_text, (story.at_end, story.now, story.forgotten)),
            *([_text(gained.get(story.stage))] if gained else []),
        )
        for story in stage_stories(view.stages, view.stage_curves)
    ]
    headers = ("stage", "at its end", "now", "forgotten", *(["forward transfer"] if gained else []))
    note = "Forgotten is what a stage came to at its end, less what is left of it now."
    if gained:
        note += (
            " Forward transfer is the share of what a run from scratch misses, over as many steps, that the "
            "stages before have brought: 0 is as from scratch, 1 the best possible."
        )
    return [Table(headers, rows, tuple(range(1, len(headers)))), Paragraph(note)]


def _gains(view: DiagnosedRun, scratch: Sequence[Run]) -> dict[str, float]:
    """Forward transfer by stage, where there is a run from scratch."""
    by_success = view.config.solved_by == "success_rate"
    gains: dict[str, float] = {}
    for alone in map(DiagnosedRun, scratch):
        curve = own_curve(alone.rows, by_success=by_success)
        for visit in view.stages:
            if visit.stage in gains or not _same_task(view.config, visit.stage, alone.config):
                continue
            best = 1.0 if by_success else _best(view, visit.stage)
            end = view.env_steps if visit.ended is None else visit.ended
            own = view.stage_curves[visit.stage]
            if best is None:
                continue
            gain = forward_transfer(own, curve, begin=visit.began, end=end, best=best)
            if gain is not None:
                gains[visit.stage] = gain
    return gains


def _best(view: DiagnosedRun, name: str) -> float | None:
    """The return that a stage is asked for: its threshold, else the one that promotes."""
    thresholds = [row[key] for row in view.rows if (key := f"task_threshold/{name}") in row]
    if thresholds:
        return float(thresholds[-1])
    settings, solved_by = view.config.curriculum, view.config.solved_by
    stage = next(stage for stage in settings.stages if stage.name == name)
    return None if settings.promotes_by_success(solved_by) else settings.bar(stage, solved_by, None)


def _same_task(config: TrainConfig, stage: str, alone: TrainConfig) -> bool:
    """Is a run from scratch about the same environment as a stage?"""
    mine, other = config.env.for_task(stage), alone.env
    names = ("id", "kwargs", "wrappers", "max_episode_steps")
    return all(vars(mine)[name] == vars(other)[name] for name in names)
