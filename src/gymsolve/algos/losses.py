"""Losses and diagnostics that more than one algorithm uses."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from gymsolve.experience.credit import Credited
from gymsolve.experience.learning import ErrorSettings
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy


def value_loss(config: ErrorSettings, predicted: Tensor, target: Tensor) -> Tensor:
    """Elementwise, half-squared so that mse and huber agree near zero."""
    if config.value_loss == "huber":
        return functional.huber_loss(predicted, target, reduction="none", delta=config.huber_delta)
    return 0.5 * (predicted - target).square()


def quantile_loss(predicted: Tensor, targets: Tensor, delta: float) -> Tensor:
    """The quantile Huber loss of quantiles [N, B, M] against samples [B, K], averaged over all pairs."""
    count = predicted.shape[-1]
    shares = (torch.arange(count, device=predicted.device) + 0.5) / count  # of what lies below a quantile
    away = targets.unsqueeze(1) - predicted.unsqueeze(-1)  # [N, B, M, K]
    size = functional.huber_loss(away, torch.zeros_like(away), reduction="none", delta=delta) / delta
    return ((shares.unsqueeze(-1) - (away.detach() < 0).float()).abs() * size).mean()


def value_targets(policy: Policy, credited: Credited) -> Tensor:
    """Returns in the value head's units, after taking them into its statistics."""
    targets = torch.from_numpy(credited.returns).to(policy.device)
    if policy.value_norm is None:
        return targets
    policy.value_norm.observe(credited.returns, policy.value_head, credited.tasks)
    tasks = None if credited.tasks is None else torch.from_numpy(credited.tasks).to(policy.device)
    return policy.value_norm.normalize(targets, tasks)


@torch.no_grad()
def divergence(log_ratio: Tensor, clip_coef: float) -> tuple[Tensor, Tensor]:
    """Approximate KL(old ‖ new), low-variance and never negative, and the share of clipped ratios.

    See http://joschu.net/blog/kl-approx.html
    """
    excess = log_ratio.exp() - 1
    return (excess - log_ratio).mean(), (excess.abs() > clip_coef).float().mean()


def was_clipped(norm: Tensor, in_force: dict[str, float]) -> Tensor:
    """1 where a gradient of this length was shortened, else 0."""
    limit = in_force["hyper/max_grad_norm"]
    return (norm > (limit if limit > 0 else math.inf)).float()


@torch.no_grad()
def moved(policy: Policy, batch: Minibatch, clip_coef: float = 0.2) -> dict[str, Tensor]:
    """How far a single gradient step moved the policy on its own batch."""
    log_ratio = policy.evaluate(batch).log_probs - batch.log_probs
    approx_kl, clip_fraction = divergence(log_ratio, clip_coef)
    return {"train/approx_kl": approx_kl, "train/clip_fraction": clip_fraction}


@torch.no_grad()
def mean_metrics(rows: list[dict[str, Tensor]]) -> dict[str, float]:
    """Average over gradient steps; with one transfer from the device where all have the same measures."""
    if not rows:
        return {}
    names = dict.fromkeys(name for row in rows for name in row)
    if any(len(row) < len(names) for row in rows):  # not every step has a step of the policy
        return {
            name: mean_metrics([{name: row[name]} for row in rows if name in row])[name] for name in names
        }
    stacked = torch.stack([measure for row in rows for measure in row.values()]).view(len(rows), -1)
    return dict(zip(rows[0], stacked.mean(dim=0).tolist(), strict=True))
