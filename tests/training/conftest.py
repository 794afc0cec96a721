import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _one_thread(tmp_path, monkeypatch):
    """Runs go to a folder of their own, and two workers do not fight over cores."""
    monkeypatch.setenv("GYMSOLVE_RUNS", str(tmp_path / "runs"))
    torch.set_num_threads(1)
