"""The sections of a report that are text and tables: alerts, what the run left and cost, its settings."""

import shlex
from collections.abc import Sequence
from statistics import median
from typing import Any

from gymsolve.metrics.tasks import task_verdicts
from gymsolve.metrics.wording import evidence_text, lasting, remedy_text
from gymsolve.runs.checkpoints import CELLS
from gymsolve.runs.logbook import LogEntry
from gymsolve.runs.videos import cut_note
from gymsolve.text import count, duration, number, plural, score, setting, took
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.curves import archive_figures, time_split
from gymsolve.view.report.document import (
    Block,
    Bullets,
    Clip,
    Code,
    Figures,
    Finding,
    Fold,
    Paragraph,
    Picture,
    Section,
    Table,
)

_SHOWN = 12
"""Rows of a table before the rest is folded away."""
_BY_HAND = ("--set", "auto")
"""Settings that no recipe decides: given on the command line, or measured on the machine."""


def findings(view: DiagnosedRun) -> Section:
    """Root causes with their consequences, settings that rarely work, and checks that did not fire."""
    diagnosis = view.diagnosis.to_json()
    blocks: list[Block] = [_finding(alert, diagnosis["consequences"]) for alert in diagnosis["roots"]]
    if not blocks:
        blocks.append(Paragraph("No alert fired, which is not to say that all is well."))
    if view.diagnosed_now:
        blocks.append(Paragraph(view.diagnosed_now))
    if view.lint:
        blocks += [Paragraph("Settings that rarely work:"), Bullets(view.lint)]
    return Section("Alerts", [*blocks, *_quiet(view)])


def problems(view: DiagnosedRun) -> Section:
    """Damage in the run's files; left out where there is none."""
    return Section("Could not be read", [Bullets(view.problems)] if view.problems else [])


def logbook(view: DiagnosedRun) -> Section:
    """Entries of people and agents about the run; left out where there are none."""
    rows = [
        (entry.time[:16].replace("T", " "), entry.by, _entry_text(entry), entry.verdict)
        for entry in view.logbook
    ]
    return Section("Logbook", [Table(("time", "by", "entry", "verdict"), rows)] if rows else [])


def _entry_text(entry: LogEntry) -> str:
    parts = {"hypothesis": entry.hypothesis, "change": entry.change, "result": entry.result}
    return "; ".join(
        [entry.note] * bool(entry.note) + [f"{name}: {text}" for name, text in parts.items() if text]
    )


def _finding(alert: dict[str, Any], consequences: list[dict[str, Any]]) -> Finding:
    follows = [other for other in consequences if other["because"] == alert["id"]]
    spent = f"{count(alert['steps'])} steps"
    if alert["seconds"] is not None:
        spent += f" and {duration(alert['seconds'])}"
    state = ", still active at the end" if alert["active"] else ""
    when = lasting(alert, follows)
    details = [
        ("evidence", f"{evidence_text(alert['evidence'])}, step {count(alert['step'])}"),
        ("when", when if alert["ended"] else f"{when}{state}; fired {plural(alert['count'], 'time')}"),
        *([] if alert["ended"] else [("cost", f"{spent} ({alert['share']:.0%} of training)")]),
        ("likely cause", alert["cause"]),
        ("remedy", remedy_text(alert)),
    ]
    if alert["effect"]:
        details.append(("expect", alert["effect"]))
    if follows:
        details.append(("explains", "; ".join(f"{other['title']} [{other['id']}]" for other in follows)))
    return Finding(alert["severity"], f"{alert['title']} [{alert['id']}]", details)


def _quiet(view: DiagnosedRun) -> list[Block]:
    quiet, unchecked = view.diagnosis.not_fired, view.diagnosis.not_checked
    blocks: list[Block] = []
    if quiet:
        blocks.append(Fold(f"{plural(len(quiet), 'check')} did not fire", [Paragraph(", ".join(quiet))]))
    if unchecked:
        reasons = [f"{name}: {reason}" for name, reason in unchecked]
        blocks.append(Fold(f"{plural(len(unchecked), 'check')} could not be made", [Bullets(reasons)]))
    return blocks


def video(view: DiagnosedRun) -> Section:
    """A video of the best policy."""
    best = view.video
    if best is None:
        return Section("Video", [])
    about = [f"policy of step {count(best.facts['env_steps'])}"] if "env_steps" in best.facts else []
    if "return" in best.facts:
        about.append(f"return {number(best.facts['return'])}")
    if best.facts.get("complete") is False:
        about.append(cut_note(best.facts).removeprefix(", "))
    blocks: list[Block] = [Clip(f"videos/{best.path.name}", ", ".join([f"{best.name}.mp4", *about]))]
    others = [other.path.name for other in view.videos if other.path != best.path]
    if others:
        blocks.append(Paragraph(f"Also in videos/: {', '.join(others)}."))
    return Section("Video", blocks)


def archive(view: DiagnosedRun) -> Section:
    """Cells of the archive over time; left out for runs without one."""
    charts = archive_figures(view) if view.points("archive/cells") else []
    if not charts:
        return Section("Archive", [])
    blocks: list[Block] = [Figures(charts)]
    for saved in reversed(view.checkpoints):
        place = f"checkpoints/{saved['name']}/{CELLS}"
        if (view.run.path / place).is_file():
            blocks.append(Picture(place, "places of the archive, of each task from the first to the newest"))
            break
    return Section("Archive", blocks)


def evaluations(view: DiagnosedRun) -> Section:
    rows = [
        (
            count(row["env_steps"]),
            score(row["eval/mean_reward"], row.get("eval/std_reward")),
            number(row.get("eval/min_reward")),
            number(row.get("eval/max_reward")),
            count(row.get("eval/episodes") or 0),
            "yes" if row.get("solved") == 1.0 else "",
        )
        for row in view.judged
    ]
    headers = ("steps", "mean return", "smallest", "largest", "episodes", "solved")
    return Section("Evaluations", _long_table(headers, rows, (0, 1, 2, 3, 4)))


def tasks(view: DiagnosedRun) -> Section:
    """Results of each of several tasks, in the best and in the newest evaluation."""
    newest = {task.name: task for task in task_verdicts(view.judged[-1] if view.judged else {})}
    rows = [
        (
            task.name,
            score(task.mean, task.std),
            "–" if task.success_rate is None else f"{task.success_rate:.0%}",
            number(task.threshold),
            "yes" if task.reached else "no",
            number(newest[task.name].mean if task.name in newest else None),
            number(view.last(f"task_return/{task.name}")),
            number(view.last(f"task_steps/{task.name}")),
        )
        for task in task_verdicts(view.best or {})
    ]
    headers = (
        "task",
        "best evaluation",
        "successes",
        "threshold",
        "reached",
        "newest evaluation",
        "training",
        "share of steps",
    )
    return Section("Tasks", [Table(headers, rows, (1, 2, 3, 5, 6, 7))] if rows else [])


def checkpoints(view: DiagnosedRun) -> Section:
    rows = []
    for saved in view.checkpoints:
        judged = saved["eval"] or {}
        marks = ", ".join(mark for mark in ("best", "last") if saved[mark])
        reward = score(judged.get("eval/mean_reward"), judged.get("eval/std_reward"))
        rows.append((count(saved["env_steps"]), marks, saved["reason"] or "", reward))
    headers = ("steps", "pointers", "saved because", "evaluation")
    return Section("Checkpoints", _long_table(headers, rows, (0, 3)))


def speed(view: DiagnosedRun) -> Section:
    """Steps per second, and the time by part."""
    rates = view.values("time/fps")
    if not rates:
        return Section("Speed", [])
    updates = view.last("updates") or 0
    started = view.event("started") or {}
    means = [f"engine {started['engine']}"] if "engine" in started else []
    means += [f"kernels {started['kernels']}"] if started.get("kernels") else []
    means += [f"environments stepped by {started['backend']}"] if "backend" in started else []
    text = (
        f"While training, {count(median(rates))} environment steps per second (median; "
        f"{count(min(rates))} to {count(max(rates))}), {plural(int(updates), 'update')} in "
        f"{took(view.seconds)}. "
    )
    text += f"{'; '.join(means).capitalize()}." if means else ""
    split = time_split(view)
    return Section("Speed", [Paragraph(text), *([] if split is None else [Figures([split])])])


def _long_table(
    headers: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...]
) -> list[Block]:
    if not rows:
        return []
    if len(rows) <= _SHOWN:
        return [Table(headers, rows, right)]
    newest = Table(headers, rows[-_SHOWN:], right)
    return [newest, Fold(f"all {len(rows)}", [Table(headers, rows, right)])]


def configuration(view: DiagnosedRun) -> Section:
    """Decided settings, with the defaults folded away."""
    rows = [
        (path, setting(value), view.stored["provenance"].get(path, "default"))
        for path, value in view.settings.items()
        if path != "description"
    ]
    headers = ("setting", "value", "from")
    decided = [row for row in rows if row[2] != "default"]
    rest = [row for row in rows if row[2] == "default"]
    blocks: list[Block] = [Table(headers, decided)] if decided else []
    return Section("Settings", [*blocks, Fold(f"{len(rest)} defaults", [Table(headers, rest)])])


def reproduce(view: DiagnosedRun) -> Section:
    """Exact commands, seed and versions."""
    info = view.info
    commands = [train_command(view)]
    if info.get("command"):
        commands.append(f"# as it was started: {shlex.join(info['command'])}")
    if info.get("resumed_with"):
        commands.append(f"# resumed with: {shlex.join(info['resumed_with'])}")
    commands += ["", *(f"gymsolve {verb} {view.run.id}" for verb in ("eval", "record", "resume"))]
    versions = ", ".join(f"{name} {value}" for name, value in (info.get("versions") or {}).items() if value)
    commit = f"; git commit {info['git']} in the working directory" if info.get("git") else ""
    text = (
        f"Seed {view.config.seed}. The same seed gives the same run with the same versions on the same kind "
        f"of machine: {versions or 'versions unknown'}{commit}."
    )
    return Section("How to reproduce it", [Paragraph(text), Code("\n".join(commands))])


def train_command(view: DiagnosedRun) -> str:
    """The command with all settings that the recipe does not decide."""
    words = ["gymsolve", "train", view.summary.name, "--seed", str(view.config.seed)]
    words += ["--steps", str(view.config.steps)]
    for path, source in view.stored["provenance"].items():
        if source.startswith(_BY_HAND) and path in view.settings:
            words += ["--set", f"{path}={setting(view.settings[path])}"]
    parent = view.info.get("parent")
    if parent and parent["checkpoint"] is not None:
        words += ["--from", f"{parent['run']}@{parent['checkpoint']}"]
    return shlex.join(words)
