"""Prints a sweep: its plan, and what it has found."""

from collections.abc import Sequence

from gymsolve.cli.printing.output import heading, print_pairs, print_section, print_whole_table, say
from gymsolve.jobs.sweeps.report import SearchedSetting, SweepReport, TriedConfiguration
from gymsolve.jobs.sweeps.verdict import Claim
from gymsolve.service.sweeps import PlannedSweep
from gymsolve.text import count, number, plural, setting, took

_UNITS = {"steps": "steps to solve", "seconds": "seconds to solve", "return": "evaluated return"}
_SHOWN = 15
_BAR = 20


def print_plan(plan: PlannedSweep) -> None:
    """Print the settings that will be searched, and the reasons for their ranges."""
    threshold = "" if plan.threshold is None else f" (threshold {number(plan.threshold)})"
    rungs = [count(level["until"]) for level in plan.levels if level["until"] is not None]
    seeds = sorted({level["seed"] for level in plan.levels if level["seed"] is not None})
    goes_on = f"; one in three goes on after {' and '.join(rungs)}" if rungs else ""
    pairs = [
        ("sweep", f"{plan.name}: {plural(plan.trials, 'configuration')} by {plan.sampler}, the recipe first"),
        (
            "better is",
            f"{'higher' if plan.objective == 'return' else 'lower'} {_UNITS[plan.objective]}{threshold}",
        ),
        ("budget", f"{count(plan.budget)} steps a trial{goes_on}"),
        ("seeds", f"the best race on {', '.join(map(str, seeds))}; the test has {_span(plan.test_seeds)}"),
        ("at a time", plural(plan.at_once, "run")),
    ]
    print_pairs(pairs)
    _print_space(plan.space)


def _span(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


def _print_space(space: Sequence[SearchedSetting]) -> None:
    rows = [(each.path, each.range, setting(each.recipe), each.reason) for each in space]
    print_section("Searched", ("setting", "range", "recipe", "because"), rows)


def print_report(report: SweepReport) -> None:
    """The best configurations, the settings that matter, and the claim."""
    heading(f"{_title(report)}  {report.sweep}")
    rows = [_row(row, report) for row in report.configurations[:_SHOWN]]
    headers = ("trial", "state", "level", "solved", "steps", "seconds", "return", "cheapest", "changes")
    print_whole_table(headers, rows, right=headers[2:7], expendable=("changes", "cheapest", "level"))
    if len(report.configurations) > _SHOWN:
        say(f"{len(report.configurations) - _SHOWN} more are in: gymsolve sweep show {report.sweep} --json")
    weighed = [each for each in report.space if each.importance is not None]
    weighed.sort(key=lambda each: -(each.importance or 0.0))
    bars = [
        (each.path, f"{each.importance:.0%}", "█" * round(_BAR * (each.importance or 0.0)))
        for each in weighed
    ]
    print_section("What matters after the first level", ("setting", "share", ""), bars, right=("share",))
    changes = [
        (path, setting(old), setting(new)) for path, (old, new) in report.changes.items() if old != new
    ]
    print_section(f"Best so far: trial {report.best}", ("setting", "recipe", "trial"), changes)
    _print_end(report)


def _title(report: SweepReport) -> str:
    claim = report.claim
    if claim is None:
        return {"running": "Under way", "stopped": "Stopped", "done": "Done"}[report.state]
    return {
        "better": f"Trial {claim.winner} is better than the recipe",
        "worse": f"Not better than the recipe: trial {claim.winner} is worse",
        "unclear": "Not better than the recipe, as far as these seeds show",
        "recipe": "Not better than the recipe",
    }[claim.verdict]


def _row(row: TriedConfiguration, report: SweepReport) -> tuple[str, ...]:
    changes = ", ".join(
        f"{path.removeprefix('algo.')}={setting(value)}" for path, value in row.settings.items()
    )
    return (
        "recipe" if row.trial == 0 else str(row.trial),
        row.state,
        f"{row.level}/{report.levels}",
        f"{row.solved}/{len(row.runs)}",
        "–" if row.steps_to_solve is None else count(row.steps_to_solve),
        number(row.seconds, 3),
        number(row.mean_reward),
        "•" if row.on_front else "",
        changes,
    )


def _print_end(report: SweepReport) -> None:
    pairs = []
    if report.claim is not None and report.claim.seeds:
        pairs = _claim_pairs(report.claim, report.objective)
    elif report.claim is not None:
        pairs = [("how sure", report.claim.certainty)]
    pairs.append(("spent", f"{count(report.env_steps)} steps, {took(report.seconds)} of training"))
    if report.state == "stopped":
        pairs.append(("go on", f"gymsolve sweep resume {report.sweep}"))
    claim = report.claim
    if claim is not None and claim.verdict == "unclear" and (claim.seeds_needed or 0) > len(claim.seeds):
        more = f"--test-seeds {claim.seeds_needed}"
        pairs.append(("know more", f"gymsolve sweep resume {report.sweep} {more}"))
    if report.claim is not None and report.claim.verdict == "better":
        pairs.append(("keep it", f"gymsolve sweep write {report.sweep}"))
    pairs.append(("browse", f"optuna-dashboard {report.path}/journal.log"))
    print_pairs(pairs)


def _claim_pairs(claim: Claim, objective: str) -> list[tuple[str, str]]:
    missing = "–" if objective == "return" else "never"
    written = count if objective == "steps" else number

    def told(values: Sequence[float | None]) -> str:
        return ", ".join(missing if value is None else written(value) for value in values)

    ratio = "" if claim.ratio is None else f" (median {claim.ratio:.0%} of the recipe's)"
    return [
        ("test", f"{_UNITS[objective]} on the fresh seeds {', '.join(map(str, claim.seeds))}"),
        ("recipe", told(claim.recipe_results)),
        (f"trial {claim.winner}", f"{told(claim.winner_results)}{ratio}"),
        ("how sure", claim.certainty),
    ]
