"""`gymsolve doctor`: what this machine has and lacks."""

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import print_json, print_table, say
from gymsolve.runs import runs_folder
from gymsolve.service.machine import examine

_MARKS = {"ok": "✓", "missing": "✗", "warning": "!", "optional": "–"}


def doctor(runs_dir: RunsDir = None, json: Json = False) -> None:
    """Examine this machine: packages, extras, ffmpeg, display, devices, disk; name the fix of each fault."""
    machine = examine(runs_folder(runs_dir))
    if json:
        print_json(machine.to_json())
        return
    rows = []
    for item in machine.findings:
        prefix = "optional: " if item.state == "optional" else ""
        rows.append((_MARKS[item.state], item.topic, f"{prefix}{item.detail}"))
    print_table(("", "", ""), rows)
    fixes = [f"  {item.topic}: {item.fix}" for item in machine.findings if item.fix is not None]
    if fixes:
        say("\n".join(["\nTo put right, where you need it:", *fixes]))
