"""The targets, and whether the results meet them."""

import itertools
import math
from collections.abc import Mapping, Sequence

from benchmarks.archive import SIZES as ARCHIVES
from benchmarks.cost import CASE, OFF
from benchmarks.evaluating import MOST, is_limited, most_time
from benchmarks.figures import Spread, paired_ratios, spread
from benchmarks.recurrent import CASE as RECURRENT
from benchmarks.recurrent import CONTRIB
from benchmarks.server import CASE as LISTED
from benchmarks.server import EMPTY, MOST_LATER, MOST_MEGABYTES
from benchmarks.stepping import CASES, LEAST, OWN
from benchmarks.store import OURS, Record
from benchmarks.tables import limit_share, markdown, memory_line, newest, number, percentages, until_solved

__all__ = ["targets_table"]

_TORCH_PEERS = ("tianshou", "sample_factory", "sample_factory-async")


def targets_table(results: Mapping[str, Sequence[Record]]) -> str:
    """One row per target: what was asked, what was measured, met or not."""
    rows = [*_throughput(results["throughput"]), *_solve(results["solve"]), *_race(results["race"])]
    rows.append(_recurrent(results["recurrent"]))
    rows += _limit(results["limit"])
    rows += _growth(results["growth"])
    rows.append(_cost(results["cost"]))
    rows += _stepping(results["stepping"])
    rows += _bounds("browser", results["browser"])
    rows += _server(results["server"])
    rows += _bounds("crowd", results["crowd"])
    rows.append(_archive(results["archive"]))
    rows += _evaluating(results["evaluating"])
    return markdown(("target", "measured", "met"), rows)


def _row(name: str, target: float, found: Spread | float | None) -> tuple[str, str, str]:
    if found is None:
        return name, "not measured yet", ""
    value = found.median if isinstance(found, Spread) else found
    told = f"{number(value)}×"
    if isinstance(found, Spread):
        told += f" ({number(found.low)} to {number(found.high)}, {found.count} rounds)"
    return name, told, "yes" if value >= target else "**no**"


def _throughput(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    def ratio(case: str, peer: str, key: str = "steps_per_second") -> Spread | None:
        return spread(paired_ratios(runs, case, peer, key))

    others = [found for peer in _TORCH_PEERS if (found := ratio("CartPole-v1", peer))]
    nearest = min(others, key=lambda one: one.median, default=None)
    return [
        _row("CartPole, identical hyperparameters: ≥ 6× Stable-Baselines3", 6, ratio("CartPole-v1", "sb3")),
        _row("… ≥ 4× the fastest other PyTorch peer", 4, nearest),
        _row("LunarLander, identical: ≥ 10× Stable-Baselines3", 10, ratio("LunarLander-v3", "sb3")),
        _row(
            "Pendulum, identical: ≥ 5× Stable-Baselines3 without the environment's own time",
            5,
            ratio("Pendulum-v1", "sb3", "without_env"),
        ),
        _row("Pong from pixels, identical: ≥ 1.8× Stable-Baselines3", 1.8, ratio("ALE/Pong-v5", "sb3")),
        _row(
            "Pong from objects, identical: ≥ 2.5× Stable-Baselines3",
            2.5,
            ratio("ALE/Pong-v5:objects_calm", "sb3"),
        ),
    ]


def _evaluating(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    """One row for recipes whose evaluations are put off, one for those that only their cadence limits."""
    sound = [run for run in runs if "error" not in run]
    asked = f"≤ {MOST:.0%} of the time"
    return [
        _shares(
            f"evaluating, recipes with a limit (`eval.share`): {asked}, besides the proof of solved",
            [run for run in sound if is_limited(run)],
        ),
        _shares(
            f"… with a cadence of their own: {asked} by routine evaluations; proofs that fail come on top",
            [run for run in sound if not is_limited(run)],
        ),
    ]


def _shares(name: str, runs: Sequence[Record]) -> tuple[str, str, str]:
    shares = {run["case"]: most_time(run) for run in runs}
    if not shares:
        return name, "not measured yet", ""
    over = [case for case, share in shares.items() if share > MOST]
    told = f"at most {max(shares.values()):.1%} ({len(shares)} recipes"
    noisy = len({run["case"] for run in runs if run["noisy"]})
    told += f", {noisy} of them measured while others computed)" if noisy else ")"
    return name, f"{told}; above it: {', '.join(over)}" if over else told, "**no**" if over else "yes"


def _archive(runs: Sequence[Record]) -> tuple[str, str, str]:
    """The slowest of growing archives may take a quarter longer: caches do grow full."""
    few, many = (
        spread(run["microseconds_per_step"] for run in newest(runs, f"{size} cells", OURS))
        for size in (ARCHIVES[0], ARCHIVES[-1])
    )
    share = None if few is None or many is None else few.median / many.median
    return _row(f"An archive of {ARCHIVES[-1]:,} cells as fast as one of {ARCHIVES[0]:,}: ≥ 0.8×", 0.8, share)


def _recurrent(runs: Sequence[Record]) -> tuple[str, str, str]:
    found = spread(paired_ratios(runs, RECURRENT, CONTRIB, "steps_per_second"))
    return _row("CartPole without velocities, LSTM 64, identical: ≥ 4× sb3-contrib", 4, found)


def _solve(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    rows = []
    for case, factor in (("CartPole-v1", 8), ("LunarLander-v3", 12)):
        ours, theirs = newest(runs, case, OURS), newest(runs, case, "sb3")
        mine, other = until_solved(ours, "from_start"), until_solved(theirs, "from_start")
        name = f"{case}, process start → solved: all seeds, ≥ {factor}× faster than Stable-Baselines3"
        if mine is None or other is None:
            rows.append((name, "not measured yet", ""))
            continue
        solved = sum(bool(run.get("solved")) for run in ours)
        # Where most of their seeds never solve it, what those took is the least it can be.
        unsolved = [run["wall"] for run in theirs if run.get("solved") is False]
        ratio = (other.median if math.isfinite(other.median) else min(unsolved)) / mine.median
        more = "" if math.isfinite(other.median) else "at least "
        told = f"{more}{number(ratio)}×, {solved} of {len(ours)} seeds" if solved else "no seed solved"
        met = ratio >= factor and solved == len(ours)
        rows.append((name, told, "yes" if met else "**no**"))
    return rows


def _race(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    # Seconds: the slower one has the larger number, so ours over theirs is turned round.
    late = paired_ratios(runs, "CartPole-v1", "rejax", "finished")
    sooner = spread(1.0 / ratio for ratio in late)
    warm = spread(paired_ratios(runs, "CartPole-v1", "rejax", "steps_per_second"))
    return [
        _row("CartPole, process start → 500k steps: sooner than rejax", 1, sooner),
        _row("… warm throughput ≥ 0.5× rejax", 0.5, warm),
    ]


def _limit(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    rows = []
    for case in dict.fromkeys(run["case"] for run in runs):
        least = 0.6 if case.startswith("ALE/") else 0.4
        share = limit_share(newest(runs, case, OURS))
        name = f"{case}: ≥ {least:.0%} of the computed limit"
        if share is None:
            rows.append((name, "not measured yet", ""))
            continue
        rows.append((name, percentages(share), "yes" if share.median >= least else "**no**"))
    return rows


def _growth(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    rows = []
    for family in ("num_envs", "num_envs, LunarLander", "metrics"):
        found: dict[int, Spread] = {}
        for case in dict.fromkeys(run["case"] for run in runs):
            if case.rpartition(" ")[0] == family:
                own = [run for run in newest(runs, case, OURS) if "error" not in run]
                if measured := spread(run["steps_per_second"] for run in own):
                    found[own[0]["value"]] = measured
        name = f"throughput does not fall as `{family}` grows"
        if len(found) < 2:
            rows.append((name, "not measured yet", ""))
            continue
        ordered = [found[value] for value in sorted(found)]
        # A fall counts when the ranges do not overlap: less is noise.
        falls = any(after.high < before.low for before, after in itertools.pairwise(ordered))
        told = " → ".join(number(one.median) for one in ordered)
        rows.append((name, f"{told} steps/s", "**no**" if falls else "yes"))
    return [*rows, _memory(runs)]


def _memory(runs: Sequence[Record]) -> tuple[str, str, str]:
    name = "memory grows linearly with the rollout (R² ≥ 0.98)"
    line = memory_line(runs)
    if line is None:
        return name, "not measured yet", ""
    slope, _, fit = line
    return name, f"R² {fit:.3f}, {slope:,.0f} bytes per step", "yes" if fit >= 0.98 else "**no**"


def _cost(runs: Sequence[Record]) -> tuple[str, str, str]:
    name = "CartPole at its recipe, all diagnostics: < 5 % of training time"
    found = spread(ratio - 1.0 for ratio in paired_ratios(runs, CASE, OFF, "cpu_seconds"))
    if found is None:
        return name, "not measured yet", ""
    told = f"{found.median:.1%} ({found.low:.1%} to {found.high:.1%}, {found.count} pairs)"
    return name, told, "yes" if found.median < 0.05 else "**no**"


def _stepping(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    return [
        _row(
            f"bare stepping, {case}: ≥ {LEAST:g}× the package's own",
            LEAST,
            spread(paired_ratios(runs, case, OWN, "steps_per_second")),
        )
        for case in CASES
    ]


def _bounds(part: str, runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    """Figures that say themselves how large or small they should be."""
    rows = []
    for case in dict.fromkeys(run["case"] for run in runs):
        own = [run for run in newest(runs, case, OURS) if "error" not in run]
        found = spread(run["value"] for run in own)
        if found is None or not {"most", "least"} & set(own[-1]):
            continue
        most, least = own[-1].get("most", math.inf), own[-1].get("least", -math.inf)
        bound = f"≤ {most:g}" if math.isfinite(most) else f"≥ {least:g}"
        told = f"{number(found.median)} {own[-1]['unit']} ({number(found.low)} to {number(found.high)})"
        met = least <= found.median <= most
        rows.append((f"{part}, {case}: {bound} {own[-1]['unit']}", told, "yes" if met else "**no**"))
    return rows or [(part, "not measured yet", "")]


def _server(runs: Sequence[Record]) -> list[tuple[str, str, str]]:
    ours, empty = newest(runs, LISTED, OURS), newest(runs, LISTED, EMPTY)
    found = [
        ("first list", "s later than an empty one", MOST_LATER, _later(ours, empty)),
        ("memory", "MB", MOST_MEGABYTES, spread(run["megabytes"] for run in ours)),
    ]
    rows = []
    for what, unit, most, measured in found:
        name = f"server for agents, {what}: ≤ {most:g} {unit}"
        if measured is None:
            rows.append((name, "not measured yet", ""))
            continue
        told = f"{number(measured.median)} ({number(measured.low)} to {number(measured.high)})"
        rows.append((name, told, "yes" if measured.median <= most else "**no**"))
    return rows


def _later(ours: Sequence[Record], empty: Sequence[Record]) -> Spread | None:
    """Seconds by which ours comes later, within a round."""
    theirs = {run["round"]: run["seconds"] for run in empty}
    return spread(run["seconds"] - theirs[run["round"]] for run in ours if run["round"] in theirs)
