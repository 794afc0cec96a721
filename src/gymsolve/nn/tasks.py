"""Networks for several tasks: a head for each, and units of value for each."""

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.nn.normalize import ValueNorm
from gymsolve.spec import Array


def pick(side_by_side: Tensor, tasks: Tensor, count: int) -> Tensor:
    """Of the outputs of `count` heads [B, count·n], those of each row's own task [B, n]."""
    heads = side_by_side.view(len(side_by_side), count, -1)
    return heads[torch.arange(len(heads), device=heads.device), tasks]


class TaskValueNorm(ValueNorm):
    """Values in units of the returns' running spread, task by task.

    Each task has a row of the value head. A task without rows in a rollout keeps its units.
    """

    def __init__(self, tasks: int, *, preserve: bool, decay: float = 0.99) -> None:
        super().__init__(preserve=preserve, decay=decay)
        for name in ("mean", "square", "weight"):
            self.register_buffer(name, torch.zeros(tasks, dtype=torch.float64))

    def task_units(self) -> tuple[Tensor, Tensor]:
        """Mean and spread of the returns of each task [K]; 0 and 1 before any."""
        seen = self.weight > 0
        weight = torch.where(seen, self.weight, 1.0)
        mean = self.mean / weight
        spread = (self.square / weight - mean.square()).clamp(min=1e-4).sqrt()
        return mean, torch.where(seen, spread, 1.0)

    def normalize(self, values: Tensor, tasks: Tensor | None = None) -> Tensor:
        mean, std = self._rows(tasks)
        return ((values.double() - mean) / std).to(values.dtype)

    def denormalize(self, values: Tensor, tasks: Tensor | None = None) -> Tensor:
        mean, std = self._rows(tasks)
        return (values.double() * std + mean).to(values.dtype)

    def _rows(self, tasks: Tensor | None) -> tuple[Tensor, Tensor]:
        assert tasks is not None, "values of several tasks have several units"
        mean, std = self.task_units()
        return mean[tasks], std[tasks]

    @torch.no_grad()
    def observe(self, returns: Array, head: nn.Linear, tasks: Array | None = None) -> None:
        assert tasks is not None, "values of several tasks have several units"
        old_mean, old_std = self.task_units()
        for task in np.unique(tasks).tolist():
            mine = returns[tasks == task].astype(np.float64)
            for total, now in (
                (self.mean, mine.mean()),
                (self.square, np.square(mine).mean()),
                (self.weight, 1.0),
            ):
                total[task] = self.decay * total[task] + (1 - self.decay) * float(now)
        if self.preserve:
            mean, std = self.task_units()
            head.weight.copy_(head.weight.double() * (old_std / std)[:, None])
            head.bias.copy_((head.bias.double() * old_std + old_mean - mean) / std)
