"""Recurrent cells on their own."""

import numpy as np
import pytest
import torch

from gymsolve.nn.memory import Cell
from gymsolve.settings.config import MemoryConfig


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("keep", [0.0, 1.0, -2.0])
def test_a_new_cell_keeps_the_share_that_its_setting_says(cell, keep):
    """Nothing to see and nothing handed on: memory shrinks by the logistic function of the bias alone."""
    made = Cell(3, MemoryConfig(cell=cell, size=4, keep=keep), 0, np.random.default_rng(0))
    with torch.no_grad():
        made.weight_hh.zero_()
        kept = torch.full((1, 4), 0.5)
        state = torch.cat([torch.zeros(1, 4), kept], dim=1) if cell == "lstm" else kept
        _, after = made.step(torch.zeros(1, 3), state)
    share = after[:, -4:] / 0.5
    torch.testing.assert_close(share, torch.full((1, 4), 1.0 / (1.0 + np.exp(-keep))).float())
