"""gymsolve in a process of its own, as W&B's client needs it: whatever it starts and patches ends with it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["commands_in_one_process", "python"]

_EACH = """
import contextlib, io, json, sys
from gymsolve.cli import main
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    print(json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue()}))
"""


def python(folder: Path, extra: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, in a folder that W&B keeps its things in."""
    places = {name: str(folder) for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | places | extra,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def commands_in_one_process(
    folder: Path, extra: dict[str, str], *commands: list[str]
) -> list[dict[str, Any]]:
    """Of each command its exit code and what it said; importing W&B takes longer than most of them."""
    done = python(folder, extra, "-c", _EACH, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
