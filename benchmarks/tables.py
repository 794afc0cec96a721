"""Measured runs → the tables of the page, one function per part. Pure: runs in, Markdown out."""

import math
from collections.abc import Iterable, Sequence

from benchmarks.cost import CASE, OFF, PARTS_OF_IT, SPLIT
from benchmarks.evaluating import most_time
from benchmarks.figures import Spread, line_fit, paired_ratios, quartiles, spread
from benchmarks.server import CASE as LISTED
from benchmarks.server import EMPTY
from benchmarks.stepping import OWN
from benchmarks.store import OURS, Record

__all__ = [
    "archive_table",
    "browser_table",
    "cost_table",
    "curiosity_table",
    "growth_tables",
    "limit_share",
    "limit_table",
    "markdown",
    "memory_line",
    "micro_table",
    "number",
    "percentages",
    "race_table",
    "server_table",
    "solve_tables",
    "stepping_table",
    "throughput_tables",
]

TITLES = {
    "gymsolve": "**gymsolve**",
    "gymsolve-torch": "gymsolve, `engine=torch`",
    "sb3": "Stable-Baselines3",
    "sbx": "SBX",
    "tianshou": "Tianshou",
    "sample_factory": "Sample Factory, one process",
    "sample_factory-async": "Sample Factory, several processes",
    "rejax": "rejax",
    "sb3-contrib": "sb3-contrib, RecurrentPPO",
}


def markdown(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def number(value: float | None) -> str:
    """Three figures that count, thousands apart."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _range(found: Spread | None, unit: str = "") -> str:
    if found is None:
        return "–"
    return f"{number(found.median)}{unit} ({number(found.low)} to {number(found.high)})"


def cases(runs: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(run["case"] for run in runs))


def _noisy(runs: Sequence[Record]) -> str:
    count = sum(bool(run.get("noisy")) for run in runs)
    return f"{count} of {len(runs)}" if count else "no"


def newest(runs: Sequence[Record], case: str, tool: str) -> list[Record]:
    """Runs of one tool in the newest session that has any."""
    found = [run for run in runs if run["case"] == case and run["tool"] == tool]
    last = max((run["session"] for run in found), default="")
    return [run for run in found if run["session"] == last]


def sound(runs: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Runs that ended well, and the reasons of those that did not."""
    good = [run for run in runs if "error" not in run]
    return good, [run["error"] for run in runs if "error" in run]


def throughput_tables(runs: Sequence[Record]) -> str:
    return "\n".join(f"### {case}\n\n{_throughput(runs, case)}" for case in cases(runs))


def _throughput(runs: Sequence[Record], case: str) -> str:
    headers = ("", "steps/s", "gymsolve is × faster", "steps/s without the environment", "× faster")
    rows = []
    for tool in (tool for tool in TITLES if any(r["tool"] == tool and r["case"] == case for r in runs)):
        own, failed = sound(newest(runs, case, tool))
        if not own:
            rows.append((TITLES[tool], f"not measured: {failed[-1]}", *[""] * 6))
            continue
        compared = tool != OURS
        ratio = spread(paired_ratios(runs, case, tool, "steps_per_second")) if compared else None
        bare = spread(paired_ratios(runs, case, tool, "without_env")) if compared else None
        rows.append(
            (
                TITLES[tool],
                _range(spread(run["steps_per_second"] for run in own)),
                _range(ratio) if compared else "",
                _range(spread(run["without_env"] or math.nan for run in own)),
                _range(bare) if compared else "",
                number(_median(run["startup"] for run in own)),
                number(_median(run["peak_mib"] for run in own)),
                _noisy(own),
            )
        )
    return markdown((*headers, "start-up, s", "memory, MiB", "noisy runs"), rows)


def _median(values: Iterable[float]) -> float | None:
    found = spread(values)
    return None if found is None else found.median


def solve_tables(runs: Sequence[Record]) -> str:
    parts = []
    headers = ("", "solved", "process start → solved, s", "first step → solved, s", "of it evaluating, s")
    for case in cases(runs):
        rows = []
        for tool in (OURS, "sb3"):
            own, failed = sound(newest(runs, case, tool))
            if not own:
                reason = failed[-1] if failed else "not measured yet"
                rows.append((TITLES[tool], reason, "", "", "", "", ""))
                continue
            rows.append(
                (
                    TITLES[tool],
                    f"{sum(run['solved'] for run in own)} of {len(own)} seeds",
                    _range(until_solved(own, "from_start")),
                    _range(until_solved(own, "from_first_step")),
                    number(_median(run["evaluating"] for run in own)),
                    number(_median(run["env_steps"] for run in own)),
                    _noisy(own),
                )
            )
        parts.append(f"### {case}\n\n{markdown((*headers, 'env steps', 'noisy runs'), rows)}")
    return "\n".join(parts)


def until_solved(runs: Sequence[Record], key: str) -> Spread | None:
    """Seconds; a seed that was not solved is infinitely late."""
    return quartiles([math.inf if run.get(key) is None else run[key] for run in runs if "error" not in run])


def race_table(runs: Sequence[Record]) -> str:
    rows = []
    for tool in (OURS, "rejax"):
        own, failed = sound([run for case in cases(runs) for run in newest(runs, case, tool)])
        if not own:
            rows.append((TITLES[tool], failed[-1] if failed else "not measured yet", "", ""))
            continue
        rows.append(
            (
                TITLES[tool],
                _range(spread(run["finished"] for run in own)),
                number(_median(run["startup"] for run in own)),
                _range(spread(run["steps_per_second"] for run in own)),
            )
        )
    headers = ("", "process start → last step, s", "of it before the first step, s", "steps/s after that")
    return markdown(headers, rows)


def limit_share(runs: Sequence[Record]) -> Spread | None:
    """Of the bound that was measured in the same round."""
    return spread(run["steps_per_second"] / run["bound"] for run in runs if "error" not in run)


def percentages(share: Spread) -> str:
    if share.low == share.high:
        return f"{share.median:.0%}"
    return f"{share.median:.0%} ({share.low:.0%} to {share.high:.0%})"


def limit_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        own, failed = sound(newest(runs, case, OURS))
        if not own:
            rows.append((case, failed[-1], "", "", "", "", ""))
            continue
        best = max(own, key=lambda run: run["bound"])
        share = limit_share(own)
        rows.append(
            (
                case,
                f"{number(1 / best['env_seconds'])} ({best['env_source']})",
                number(best["act_seconds"] * 1e6),
                number(best["minibatch_seconds"] * 1e3),
                number(best["bound"]),
                number(best["steps_per_second"]),
                "–" if share is None else percentages(share),
            )
        )
    headers = ("", "bare environment, steps/s and core", "acting, µs", "minibatch, ms", "bound, steps/s")
    return markdown((*headers, "measured, steps/s", "share"), rows)


def micro_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        own, failed = sound(newest(runs, case, OURS))
        if not own:
            rows.append((case, failed[-1], ""))
            continue
        found = spread(run["value"] for run in own)
        rows.append((case, _range(found, f" {own[-1]['unit']}"), _noisy(own)))
    return markdown(("", "median (range)", "noisy runs"), rows)


def growth_tables(runs: Sequence[Record]) -> str:
    families: dict[str, dict[int, list[Record]]] = {}
    for case in cases(runs):
        own, _ = sound(newest(runs, case, OURS))
        if own:
            family = case.rpartition(" ")[0]
            families.setdefault(family, {})[own[0]["value"]] = own
    parts = []
    for family, found in families.items():
        rows = [
            (
                str(value),
                _range(spread(run["steps_per_second"] for run in own)),
                number(_median(run["training_mib"] for run in own)),
            )
            for value, own in sorted(found.items())
        ]
        parts.append(f"### {family}\n\n" + markdown((family, "steps/s", "peak memory, MiB"), rows))
    if line := memory_line(runs):
        told = f"{line[0]:,.0f} bytes per step of the rollout on top of {line[1]:.0f} MiB (R² {line[2]:.3f})."
        parts.append(f"A straight line through the last table: {told}\n")
    return "\n".join(parts)


def archive_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        found = spread(run["microseconds_per_step"] for run in newest(runs, case, OURS))
        if found is not None:
            rows.append((case, _range(found)))
    return markdown(("archive", "µs per step"), rows) if rows else ""


def curiosity_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        own, _ = sound(newest(runs, case, OURS))
        shares = [run["share_of_plain"] for run in own if run["share_of_plain"]]
        if shares:
            speed = _range(spread(run["steps_per_second"] for run in own))
            rows.append((case, speed, f"{_median(shares):.0%}", _noisy(own)))
    head = ("environment, engine, bonus", "steps/s", "of the speed without", "noisy runs")
    return markdown(head, rows) if rows else ""


def memory_line(runs: Sequence[Record]) -> tuple[float, float, float] | None:
    """Bytes per step of a rollout, MiB without one, and R²; None with too few points."""
    points = []
    for case in (case for case in cases(runs) if case.startswith("rollout ")):
        own, _ = sound(newest(runs, case, OURS))
        if own:
            points.append((own[0]["rollout_steps"], spread(run["training_mib"] for run in own)))
    if len(points) < 3:
        return None
    slope, start, fit = line_fit([x for x, _ in points], [y.median for _, y in points if y])
    return slope * 2**20, start, fit


def cost_table(runs: Sequence[Record]) -> str:
    """What diagnostics add to a training, as a whole and by part; empty before the first pair."""
    shares = [ratio - 1.0 for ratio in paired_ratios(runs, CASE, OFF, "cpu_seconds")]
    whole = spread(shares)
    if whole is None:
        return ""
    sides = [run for tool in (OFF, OURS) for run in sound(newest(runs, CASE, tool))[0]]
    rows = [("**all of it**, beside a training without", _percent(whole), _noisy(sides))]
    parted, _ = sound(newest(runs, CASE, SPLIT))
    for part, title in PARTS_OF_IT.items():
        rows.append((title, _percent(spread(run["shares"].get(part, 0.0) for run in parted)), ""))
    together = spread(sum(run["shares"].values()) for run in parted)
    rows.append(("the parts together", _percent(together), _noisy(parted)))
    return markdown(("", "of training time", "noisy runs"), rows)


def _percent(found: Spread | None) -> str:
    if found is None:
        return "–"
    return f"{found.median:.1%} ({found.low:.1%} to {found.high:.1%})"


def browser_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        own, failed = sound(newest(runs, case, OURS))
        if not own:
            rows.append((case, f"not measured: {failed[-1]}", "", ""))
            continue
        last = own[-1]
        bound = f"≤ {last['most']:g}" if "most" in last else f"≥ {last['least']:g}" if "least" in last else ""
        found = _range(spread(run["value"] for run in own))
        rows.append((case, f"{found} {last['unit']}", bound, _noisy(own)))
    return markdown(("", "measured", "target", "noisy runs"), rows)


def stepping_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        ours, failed = sound(newest(runs, case, OURS))
        theirs, _ = sound(newest(runs, case, OWN))
        if not ours:
            rows.append((case, f"not measured: {failed[-1]}", "", "", ""))
            continue
        rates = [_range(spread(run["steps_per_second"] for run in own)) for own in (ours, theirs)]
        ratio = _range(spread(paired_ratios(runs, case, OWN, "steps_per_second")))
        rows.append((case, *rates, ratio, _noisy(ours)))
    return markdown(("", "gymsolve, steps/s", "the package's way, steps/s", "ratio", "noisy runs"), rows)


def server_table(runs: Sequence[Record]) -> str:
    rows = []
    for tool in (OURS, EMPTY):
        own = newest(runs, LISTED, tool)
        figures = [_range(spread(run[name] for run in own)) for name in ("seconds", "megabytes")]
        rows.append((tool, *figures, _noisy(own)))
    return markdown(("server", "first list of tools, s", "memory, MB", "noisy runs"), rows)


def evaluating_table(runs: Sequence[Record]) -> str:
    rows = []
    for case in cases(runs):
        own, failed = sound(newest(runs, case, OURS))
        if not own:
            rows.append((case, f"not measured: {failed[-1]}", "", "", ""))
            continue
        figures = (number(own[-1][name]) for name in ("mean_ep_length", "cost"))
        rows.append((case, *figures, f"{most_time(own[-1]):.1%}", _noisy(own)))
    head = ("recipe", "steps per episode", "cost of a step", "share of the time, at most", "noisy runs")
    return markdown(head, rows)
