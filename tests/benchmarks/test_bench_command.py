"""`gymsolve bench`: a thin door that says what it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.parts import PARTS
from benchmarks.throughput import Options
from gymsolve.cli.commands import bench
from gymsolve.errors import UsageError

ROOT = Path(__file__).parents[2]


def test_without_a_clone_one_sentence_says_so(tmp_path, monkeypatch):
    installed = tmp_path / "lib" / "site-packages" / "gymsolve" / "cli" / "bench.py"
    monkeypatch.setattr(bench, "__file__", str(installed))
    with pytest.raises(UsageError, match="part of the source tree"):
        bench.bench()


def test_the_help_names_every_part():
    assert bench._PARTS.split(", ") == list(PARTS)


def test_an_unknown_part_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "fast"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "'fast' is not among micro" in done.stderr


def test_a_task_may_belong_to_one_part_alone(tmp_path, capsys):
    options = Options(tmp_path, tasks=("VizdoomBasic-v1",))
    assert options.among(["CartPole-v1", "VizdoomBasic-v1"]) == ["VizdoomBasic-v1"]
    assert options.among(["CartPole-v1"]) == []
    assert "nothing of VizdoomBasic-v1 is measured here, only of CartPole-v1" in capsys.readouterr().err
    assert Options(tmp_path).among(["CartPole-v1"]) == ["CartPole-v1"]


def test_an_unknown_task_is_refused_with_those_of_all_parts():
    command = [sys.executable, "-m", "benchmarks", "stepping", "--tasks", "Vizdoom"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'Vizdoom' is not among CartPole-v1" in done.stderr
    assert "VizdoomBasic-v1" in done.stderr
