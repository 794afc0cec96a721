"""The settings with where each came from, and the commands that bring the run about again."""

import shlex

from gymsolve.metrics.report.document import Block, Code, Fold, Paragraph, Section, Table
from gymsolve.metrics.report.facts import Facts
from gymsolve.text import setting

__all__ = ["configuration", "reproduce", "train_command"]

_BY_HAND = ("--set", "auto")
"""What no recipe says: given on the command line, or measured on the machine."""


def configuration(facts: Facts) -> Section:
    """Decided settings in the open, defaults folded away."""
    rows = [
        (path, setting(value), facts.provenance.get(path, "default"))
        for path, value in facts.settings.items()
        if path != "description"
    ]
    headers = ("setting", "value", "from")
    decided = [row for row in rows if row[2] != "default"]
    rest = [row for row in rows if row[2] == "default"]
    blocks: list[Block] = [Table(headers, decided)] if decided else []
    return Section("Settings", [*blocks, Fold(f"{len(rest)} defaults", [Table(headers, rest)])])


def reproduce(facts: Facts) -> Section:
    """Exact commands, seed and versions."""
    info = facts.info
    commands = [f"{train_command(facts)}"]
    as_typed = shlex.join(info.get("command") or [])
    notes = [f"# as it was started: {as_typed}"] if as_typed else []
    if info.get("resumed_with"):
        notes.append(f"# resumed with: {shlex.join(info['resumed_with'])}")
    more = [
        f"gymsolve eval {facts.run.id}",
        f"gymsolve record {facts.run.id}",
        f"gymsolve resume {facts.run.id}",
    ]
    versions = ", ".join(f"{name} {value}" for name, value in (info.get("versions") or {}).items() if value)
    commit = f"; git commit {info['git']} in the working directory" if info.get("git") else ""
    told = (
        f"Seed {facts.config.seed}. The same seed gives the same run with the same versions on the same kind "
        f"of machine: {versions or 'versions unknown'}{commit}."
    )
    return Section("How to reproduce it", [Paragraph(told), Code("\n".join([*commands, *notes, "", *more]))])


def train_command(facts: Facts) -> str:
    """One command that says all that was decided outside of the recipe."""
    words = ["gymsolve", "train", facts.summary.name, "--seed", str(facts.config.seed)]
    words += ["--steps", str(facts.config.steps)]
    for path, source in facts.provenance.items():
        if source.startswith(_BY_HAND) and path in facts.settings:
            words += ["--set", f"{path}={setting(facts.settings[path])}"]
    parent = facts.info.get("parent")
    if parent and parent["checkpoint"] is not None:
        words += ["--from", f"{parent['run']}@{parent['checkpoint']}"]
    return shlex.join(words)
