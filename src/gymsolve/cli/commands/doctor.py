"""`gymsolve doctor`: what this machine has and lacks."""

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import print_json, print_table, say

_MARKS = {"ok": "✓", "missing": "✗", "warning": "!", "optional": "–"}


def doctor(runs_dir: RunsDir = None, json: Json = False) -> None:
    """Examine this machine: packages, extras, ffmpeg, display, devices, disk; name the fix of each fault."""
    from gymsolve.runs import runs_folder
    from gymsolve.service.machine import examine

    machine = examine(runs_folder(runs_dir))
    if json:
        print_json(machine.to_json())
        return
    rows = [
        (_MARKS[one.state], one.topic, f"optional: {one.detail}" if one.state == "optional" else one.detail)
        for one in machine.findings
    ]
    print_table(("", "", ""), rows)
    fixes = [one for one in machine.findings if one.fix is not None]
    if fixes:
        say("\nTo put right, where you need it:")
        for one in fixes:
            say(f"  {one.topic}: {one.fix}")
