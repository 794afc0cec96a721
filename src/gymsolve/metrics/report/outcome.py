"""What a run left and what it cost: video, evaluations, checkpoints, speed."""

import math
from collections.abc import Sequence
from statistics import median

from gymsolve.metrics.report.curves import time_split
from gymsolve.metrics.report.document import Block, Clip, Figures, Fold, Paragraph, Section, Table
from gymsolve.metrics.report.facts import Facts
from gymsolve.text import count, duration, number, plural, score

__all__ = ["checkpoints", "evaluations", "speed", "video"]

_SHOWN = 12
"""Rows of a table before the rest is folded away."""


def video(facts: Facts) -> Section:
    """The best policy at work, beside the report."""
    one = facts.video
    if one is None:
        return Section("Video", [])
    about = [f"policy of step {count(one.facts['env_steps'])}"] if "env_steps" in one.facts else []
    if "return" in one.facts:
        about.append(f"return {number(one.facts['return'])}")
    if one.facts.get("complete") is False:
        about.append("cut before its end")
    blocks: list[Block] = [Clip(f"videos/{one.path.name}", ", ".join([f"{one.name}.mp4", *about]))]
    others = [other.path.name for other in facts.videos if other.path != one.path]
    if others:
        blocks.append(Paragraph(f"Also in videos/: {', '.join(others)}."))
    return Section("Video", blocks)


def evaluations(facts: Facts) -> Section:
    rows = [
        (
            count(row["env_steps"]),
            score(row["eval/mean_reward"], row.get("eval/std_reward")),
            number(row.get("eval/min_reward")),
            number(row.get("eval/max_reward")),
            count(row.get("eval/episodes") or 0),
            "yes" if row.get("solved") == 1.0 else "",
        )
        for row in facts.evaluations
    ]
    headers = ("steps", "mean return", "smallest", "largest", "episodes", "solved")
    return Section("Evaluations", _long_table(headers, rows, (0, 1, 2, 3, 4)))


def checkpoints(facts: Facts) -> Section:
    rows = []
    for one in facts.checkpoints:
        judged = one["eval"] or {}
        marks = ", ".join(mark for mark in ("best", "last") if one[mark])
        reward = score(judged.get("eval/mean_reward"), judged.get("eval/std_reward"))
        rows.append((count(one["env_steps"]), marks, one["reason"] or "", reward))
    headers = ("steps", "pointers", "saved because", "evaluation")
    return Section("Checkpoints", _long_table(headers, rows, (0, 3)))


def speed(facts: Facts) -> Section:
    """Steps per second and where the time went."""
    rates = [y for _, y in facts.points("time/fps") if math.isfinite(y)]
    if not rates:
        return Section("Speed", [])
    updates = facts.last("updates") or 0
    started = facts.event("started") or {}
    means = [f"engine {started['engine']}"] if "engine" in started else []
    means += [f"kernels {started['kernels']}"] if started.get("kernels") else []
    means += [f"environments stepped by {started['backend']}"] if "backend" in started else []
    told = (
        f"While training, {count(median(rates))} environment steps per second (median; "
        f"{count(min(rates))} to {count(max(rates))}), {plural(int(updates), 'update')} in "
        f"{duration(facts.seconds)}. {_filmed(facts)}"
    )
    told += f"{'; '.join(means).capitalize()}." if means else ""
    split = time_split(facts)
    return Section("Speed", [Paragraph(told), *([] if split is None else [Figures([split])])])


def _filmed(facts: Facts) -> str:
    spent = [one.get("recording_seconds") or 0.0 for one in facts.events if one.get("kind") == "video"]
    return f"Videos took {sum(spent):.1f} s after it. " if sum(spent) >= 0.1 else ""


def _long_table(
    headers: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...]
) -> list[Block]:
    if not rows:
        return []
    if len(rows) <= _SHOWN:
        return [Table(headers, rows, right)]
    newest = Table(headers, rows[-_SHOWN:], right)
    return [newest, Fold(f"all {len(rows)}", [Table(headers, rows, right)])]
