"""A comparison as one page."""

from collections.abc import Iterable, Sequence
from typing import Any

from gymsolve.text import count, number, setting
from gymsolve.view.report.bands import seed_curves
from gymsolve.view.report.comparison import Axis, Contender, compare_curves, differences, remark
from gymsolve.view.report.document import Document, Figures, Paragraph, Section, Table
from gymsolve.view.report.page import render_page
from gymsolve.view.report.seeds import spread_over_seeds


def render_comparison(contenders: Sequence[Contender], axis: Axis) -> str:
    letters = [one.letter for one in contenders]
    columns = range(1, len(letters) + 1)
    ids = Table(("", "run", "status"), [(one.letter, one.run.id, one.status) for one in contenders])
    differing = [(path, *map(setting, values)) for path, values in differences(contenders).items()]
    charts = [*seed_curves(contenders, axis), *compare_curves(contenders, axis)]
    without_effect = differences(contenders, incidental=True)
    settings = Table(("", *letters), differing) if differing else Paragraph("None.")
    damage = [f"{one.letter}: {problem}" for one in contenders for problem in one.metrics.problems]
    return render_page(
        Document(
            title="Runs compared",
            badge=f"{len(letters)} runs",
            tone="calm",
            lead=remark(contenders) or f"{contenders[0].env_id}, trained {len(letters)} times.",
            sections=[
                Section("Runs", [ids]),
                Section("Results", [Table(("", *letters), result_rows(contenders, axis), columns)]),
                Section("Over seeds", [Paragraph(one.remark()) for one in spread_over_seeds(contenders)]),
                Section("Curves", [Figures(charts)] if charts else []),
                Section("Settings that differ", [settings, *_aside(without_effect)]),
                Section("Could not be read", [Paragraph(line) for line in damage]),
            ],
        )
    )


def _aside(paths: Iterable[str]) -> list[Paragraph]:
    told = ", ".join(paths)
    return [Paragraph(f"Without effect on results, they also differ in {told}.")] if told else []


def result_rows(contenders: Sequence[Contender], axis: Axis) -> list[tuple[str, ...]]:
    """Names and one value per run, as text."""
    results = [one.results(axis) for one in contenders]
    unit = "s" if axis == "time" else axis.replace("_", " ")
    quality = [None if one["quality"] is None else round(one["quality"], 3) for one in results]
    by_success = any(one["success_needed"] is not None for one in results)
    shares = ("–" if one["best_success"] is None else f"{one['best_success']:.0%}" for one in results)
    return [
        *([("best share of successes", *shares)] if by_success else []),
        ("best evaluation", *(number(one["best_reward"]) for one in results)),
        ("last evaluation", *map(_last_evaluation, contenders, results)),
        ("training return, last 100 episodes", *(number(one["training_reward"]) for one in results)),
        ("threshold", *(_bar(one) for one in results)),
        (f"threshold reached at ({unit})", *(number(one["reached_at"]) for one in results)),
        ("quality", *(number(one) for one in quality)),
        ("steps per second", *("–" if one["fps"] is None else count(one["fps"]) for one in results)),
    ]


def _bar(result: dict[str, Any]) -> str:
    share = result["success_needed"]
    return number(result["threshold"]) if share is None else f"{share:.0%} successes"


def _last_evaluation(one: Contender, result: dict[str, Any]) -> str:
    if one.status != "running":
        return number(result["final_reward"])
    return "none yet" if result["final_reward"] is None else f"{number(result['final_reward'])} so far"
