"""results/doctor.md from the results."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.doctor.cases import CASES
from benchmarks.doctor.faults import FAULTS, HEALTHY, METHODS
from benchmarks.doctor.results import Result
from benchmarks.doctor.score import TARGETS, Score, is_healthy, is_named, is_noticed, score

__all__ = ["render", "summarize", "write_page"]

_HALVES = ("calibration", "held-out")


def summarize(results: Sequence[Result]) -> str:
    """The three figures, per half."""
    rows = [("all", score(results))]
    rows += [(half, score([one for one in results if one["half"] == half])) for half in _HALVES]
    lines = [
        "| half | faulty runs | recall | root cause first | healthy runs | false alarms |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_line(name, one) for name, one in rows),
        f"| *target* | | ≥ {TARGETS['recall']:.0%} | ≥ {TARGETS['root']:.0%} | "
        f"| ≤ {TARGETS['false_alarms']:.0%} |",
    ]
    return "\n".join(lines)


def render(results: Sequence[Result]) -> str:
    unchecked = sorted({name for one in results for name in one["unchecked"]})
    return (
        "\n\n".join(
            [
                "<!-- Made by `python -m benchmarks.doctor` from doctor.json; do not edit. -->",
                "# The doctor, scored",
                _about(results),
                summarize(results),
                f"## Faults\n\n{_faults(results)}",
                f"## Healthy runs\n\n{_healthy(results)}",
                "Rules that some run could not check, for want of a metric or of sense: "
                f"{', '.join(unchecked) or 'none'}.",
            ]
        )
        + "\n"
    )


def write_page(path: Path, results: Sequence[Result]) -> None:
    path.write_text(render(results), encoding="utf-8")


def _about(results: Sequence[Result]) -> str:
    return (
        f"{len(results)} of {len(CASES)} trainings. *Recall*: an alert fired that names the fault or is "
        "a known symptom of it. *Root cause first*: the first cause that the diagnosis gives names the fault "
        "(`benchmarks/doctor/faults.py` says which alerts do). *False alarms*: healthy runs in which any "
        "warning or error fired, even for a moment.\n\n"
        "The halves are fixed by a checksum of fault and environment. Thresholds and causal order were "
        "adjusted on the calibration half; rows of the held-out half from earlier rounds had been "
        "seen by then."
    )


def _line(name: str, one: Score) -> str:
    cells = [name, str(one.faulty), _percent(one.recall), _percent(one.root), str(one.healthy)]
    return f"| {' | '.join([*cells, _percent(one.false_alarms)])} |"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _faults(results: Sequence[Result]) -> str:
    lines = [
        "| fault | environment | half | noticed | named first | first causes given |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for fault in FAULTS:
        for env in fault.envs:
            runs = [one for one in results if one["fault"] == fault.name and one["env"] == env]
            if runs:
                firsts = sorted({next(iter(one["roots"]), "nothing") for one in runs})
                cells = [fault.about, env, runs[0]["half"], _count(runs, is_noticed), _count(runs, is_named)]
                lines.append(f"| {' | '.join([*cells, ', '.join(firsts)])} |")
    return "\n".join(lines)


def _healthy(results: Sequence[Result]) -> str:
    lines = [
        "| run | trained | half | runs | with an alarm | alarms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    about = {one.name: one.about for one in (HEALTHY, *METHODS)}
    healthy = [one for one in results if is_healthy(one)]
    for name, env in dict.fromkeys((one["fault"], one["env"]) for one in healthy):
        runs = [one for one in healthy if (one["fault"], one["env"]) == (name, env)]
        alarms = sorted({alarm for one in runs for alarm in one["fired"]})
        ill = sum(bool(one["fired"]) for one in runs)
        cells = [env, about[name], runs[0]["half"], str(len(runs)), str(ill), ", ".join(alarms) or "none"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _count(runs: Sequence[Result], good: Callable[[Result], bool]) -> str:
    return f"{sum(good(one) for one in runs)}/{len(runs)}"
