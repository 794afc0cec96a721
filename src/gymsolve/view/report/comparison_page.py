"""A comparison as one page."""

from collections.abc import Iterable, Sequence
from typing import Any

from gymsolve.text import count, number, setting
from gymsolve.view.report.claims import claim_differences, conclude
from gymsolve.view.report.comparison import Axis, Contender, compare_curves, differences, remark
from gymsolve.view.report.document import Document, Figures, Paragraph, Section, Table
from gymsolve.view.report.page import render_page
from gymsolve.view.report.seeds import seed_curves, spread_over_seeds


def render_comparison(contenders: Sequence[Contender], axis: Axis) -> str:
    letters = [run.letter for run in contenders]
    columns = range(1, len(letters) + 1)
    ids = Table(("", "run", "status"), [(run.letter, run.run.id, run.status) for run in contenders])
    differing = [(path, *map(setting, values)) for path, values in differences(contenders).items()]
    charts = [*seed_curves(contenders, axis), *compare_curves(contenders, axis)]
    without_effect = differences(contenders, incidental=True)
    settings = Table(("", *letters), differing) if differing else Paragraph("None.")
    conclusions = conclude(contenders, claim_differences(contenders))
    damage = [f"{run.letter}: {problem}" for run in contenders for problem in run.metrics.problems]
    return render_page(
        Document(
            title="Runs compared",
            badge=f"{len(letters)} runs",
            tone="calm",
            lead=remark(contenders) or f"{contenders[0].env_id}, trained {len(letters)} times.",
            sections=[
                Section("Conclusions", [Paragraph(line) for line in conclusions]),
                Section("Runs", [ids]),
                Section("Results", [Table(("", *letters), result_rows(contenders, axis), columns)]),
                Section(
                    "Over seeds", [Paragraph(group.sentence()) for group in spread_over_seeds(contenders)]
                ),
                Section("Curves", [Figures(charts)] if charts else []),
                Section("Settings that differ", [settings, *_aside(without_effect)]),
                Section("Could not be read", [Paragraph(line) for line in damage]),
            ],
        )
    )


def _aside(paths: Iterable[str]) -> list[Paragraph]:
    names = ", ".join(paths)
    return [Paragraph(f"Without effect on results, they also differ in {names}.")] if names else []


def result_rows(contenders: Sequence[Contender], axis: Axis) -> list[tuple[str, ...]]:
    """Names and one value per run, as text."""
    results = [result.results(axis) for result in contenders]
    unit = "s" if axis == "time" else axis.replace("_", " ")
    quality = [None if result["quality"] is None else round(result["quality"], 3) for result in results]
    by_success = any(result["success_needed"] is not None for result in results)
    shares = (
        "–" if result["best_success"] is None else f"{result['best_success']:.0%}" for result in results
    )
    return [
        *([("best share of successes", *shares)] if by_success else []),
        ("best evaluation", *(number(result["best_reward"]) for result in results)),
        ("last evaluation", *map(_last_evaluation, contenders, results)),
        ("training return, last 100 episodes", *map(_training, results)),
        ("threshold", *(_bar(result) for result in results)),
        (f"threshold reached at ({unit})", *(number(result["reached_at"]) for result in results)),
        ("quality", *(number(area) for area in quality)),
        ("steps per second", *("–" if result["fps"] is None else count(result["fps"]) for result in results)),
    ]


def _training(result: dict[str, Any]) -> str:
    words = result["training_note"]
    return number(result["training_reward"]) + ("" if words is None else f" ({words})")


def _bar(result: dict[str, Any]) -> str:
    share = result["success_needed"]
    return number(result["threshold"]) if share is None else f"{share:.0%} successes"


def _last_evaluation(run: Contender, result: dict[str, Any]) -> str:
    if run.status != "running":
        return number(result["final_reward"])
    return "none yet" if result["final_reward"] is None else f"{number(result['final_reward'])} so far"
