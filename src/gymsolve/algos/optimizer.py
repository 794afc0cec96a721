"""The optimizer: a torch one, with its state as plain arrays and its learning rate set from outside."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from gymsolve.config import OptimizerConfig
from gymsolve.errors import CheckpointError
from gymsolve.spec import Array

__all__ = ["Optimizer"]


_SLOTS: dict[str, set[str]] = {
    "adam": {"step", "exp_avg", "exp_avg_sq"},
    "adamw": {"step", "exp_avg", "exp_avg_sq"},
    "rmsprop": {"step", "square_avg"},
    "sgd": set(),
}


class Optimizer:
    """Steps parameters; changing the learning rate acts on the live optimizer and keeps its moments."""

    def __init__(self, config: OptimizerConfig, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = [p for p in parameters if p.requires_grad]
        self._inner = _build(config, self.parameters)
        self._slots = _SLOTS[config.name] | ({"momentum_buffer"} if config.momentum else set())

    def step(self, loss: Tensor, *, learning_rate: float, max_grad_norm: float) -> Tensor:
        """One gradient step; the gradient's norm before clipping (a tensor: reading it would wait)."""
        for group in self._inner.param_groups:
            group["lr"] = learning_rate
        self._inner.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        limit = max_grad_norm if max_grad_norm > 0 else float("inf")
        norm = nn.utils.clip_grad_norm_(self.parameters, limit)
        self._inner.step()
        return norm

    def reset(self) -> None:
        """Forget all moments."""
        self._inner.state.clear()

    def arrays(self) -> dict[str, Array]:
        """Moments by `<parameter index>/<name>`."""
        state: dict[int, dict[str, Any]] = self._inner.state_dict()["state"]
        return {
            f"{index}/{name}": torch.as_tensor(value).detach().cpu().numpy().copy()
            for index, slots in state.items()
            for name, value in slots.items()
            if value is not None
        }

    def load_arrays(self, arrays: dict[str, Array]) -> None:
        """Continue with saved moments."""
        state: dict[int, dict[str, Tensor]] = {}
        for key, array in arrays.items():
            slot, _, name = key.partition("/")
            state.setdefault(int(slot), {})[name] = torch.from_numpy(array.copy())
        for index, slots in state.items():
            if not slots.keys() <= self._slots:
                raise CheckpointError(
                    "the checkpoint's moments are those of another optimizer.",
                    where="algo.optimizer",
                    hint="Resume with --fresh-optimizer.",
                )
            own = self.parameters[index] if index < len(self.parameters) else None
            if own is None or any(t.ndim and t.shape != own.shape for t in slots.values()):
                raise CheckpointError(
                    "the optimizer's state does not fit this network.",
                    hint="Resume with --fresh-optimizer, or start a new run with `train --from`.",
                )
        groups = self._inner.state_dict()["param_groups"]
        self._inner.load_state_dict({"state": state, "param_groups": groups})


def _build(config: OptimizerConfig, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    decay = config.weight_decay
    if config.name in ("adam", "adamw"):
        kind = torch.optim.Adam if config.name == "adam" else torch.optim.AdamW
        return kind(parameters, betas=config.betas, eps=config.eps, weight_decay=decay, fused=True)
    if config.name == "rmsprop":
        return torch.optim.RMSprop(
            parameters,
            alpha=config.alpha,
            eps=config.eps,
            momentum=config.momentum,
            weight_decay=decay,
            foreach=True,
        )
    return torch.optim.SGD(parameters, momentum=config.momentum, weight_decay=decay, fused=True)
