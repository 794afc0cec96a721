"""The command line, in this process (fast) and in one of its own (real); runs go to a temporary folder."""

import json
import os
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
            timeout=120,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def trained(cli: Cli) -> str:
    """The id of a small finished run that did not reach its threshold."""
    changes = ("--set", "eval.every=256", "--set", "solved_at=100")
    answer = cli("train", "Bandit-v0", "--steps", "512", *changes, "--json", "-q")
    assert answer.code == 0, answer.err
    return str(answer.json["run"])
