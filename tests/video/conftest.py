"""Short trainings whose runs go to a temporary folder."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gymsolve
from gymsolve.runs import Run

sys.path.insert(0, str(Path(__file__).parent))

Train = Callable[..., Run]


@pytest.fixture(autouse=True)
def _all_the_time_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to draw than a user should wait, and the video would be cut."""
    monkeypatch.setattr("gymsolve.apps.video.automatic._PATIENCE", (math.inf, math.inf))


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """A short training."""

    def go(env: str, changes: dict[str, Any] | None = None, **options: Any) -> Run:
        settings = {"env.num_envs": 2, "algo.num_steps": 16, "eval.episodes": 2, "solved_at": 1e9}
        settings |= {"steps": 64, **(changes or {})}
        return gymsolve.train(env, settings, runs_dir=tmp_path / "runs", **options).run

    return go
