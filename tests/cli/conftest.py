"""The command line, in this process (fast) and in one of its own (real); runs go to a temporary folder."""

import contextlib
import io
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gymsolve.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value and nothing else."""
        return json.loads(self.out)


Cli = Callable[..., Answer]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory; runs go to `runs` in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_RECIPES", "GYMSOLVE_DEBUG", "GYMSOLVE_CONFIRM"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*arguments: str) -> Answer:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return call


@pytest.fixture
def shell(place: Path) -> Cli:
    """The real thing: `python -m gymsolve` in a process of its own."""

    def call(*arguments: str, code: str | None = None) -> Answer:
        command = ["-m", "gymsolve", *arguments] if code is None else ["-c", code]
        done = subprocess.run(
            [sys.executable, *command],
            cwd=place,
            env=os.environ | {"COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def terminal(place: Path) -> Cli:
    """`python -m gymsolve` on a terminal, where `said` is typed; `out` is all that the terminal shows."""

    def call(*arguments: str, said: bytes = b"") -> Answer:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "gymsolve", *arguments],
            cwd=place,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.write(ours, said)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        os.close(ours)
        return Answer(process.wait(120), shown.decode(), "")

    return call


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # how Linux says that the other side is gone
        return b""


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the runs of one small training."""
    folder = tmp_path_factory.mktemp("trained")
    changes = ("--set", "eval.every=256", "--set", "solved_at=100")
    output = contextlib.redirect_stdout(io.StringIO())
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder), output as said:
        patch.delenv("GYMSOLVE_RUNS", raising=False)
        assert main(["train", "Bandit-v0", "--steps", "512", *changes, "--json", "-q"]) == 0, said.getvalue()
    return folder


@pytest.fixture
def trained(trained_once: Path, place: Path) -> str:
    """The id of a small finished run that did not reach its threshold; a copy, so that it may be changed."""
    shutil.copytree(trained_once / "runs", place / "runs", dirs_exist_ok=True)
    return (place / "runs" / "@last").read_text().strip()
