"""Truncated quantile critics (Kuznetsov et al. 2020): SAC with critics that predict distributions.

Each critic predicts quantiles of what an action will earn. Targets pool the quantiles of all critics and
leave out the largest ones, which are where errors make values too high.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.losses import quantile_loss
from gymsolve.algos.sac import SAC
from gymsolve.nn.init import Draws
from gymsolve.nn.squashed_policy import SquashedPolicy
from gymsolve.settings.config import NetConfig, TQCConfig
from gymsolve.settings.network import QUANTILES
from gymsolve.spec import EnvSpec


class TQC(SAC):
    """SAC on quantiles."""

    settings = TQCConfig
    config: TQCConfig

    def __init__(
        self, config: TQCConfig, policy: SquashedPolicy, auxiliaries: Sequence[Auxiliary] = ()
    ) -> None:
        super().__init__(config, policy, auxiliaries)
        kept = policy.critics.outputs - config.drop_quantiles
        self._kept = policy.critics.count * kept

    @classmethod
    def make_policy(cls, spec: EnvSpec, net: NetConfig, rng: Draws) -> SquashedPolicy:
        """The policy that it learns; its settings say how many quantiles its critics have."""
        whole = net.model_copy(update={"quantiles": net.quantiles or QUANTILES})
        policy = super().make_policy(spec, whole, rng)
        assert isinstance(policy, SquashedPolicy)
        return policy

    def future(self, values: Tensor) -> Tensor:
        """The smallest of all quantiles [B, kept] of the target critics' [N, B, M]."""
        pooled = values.transpose(0, 1).flatten(1)
        return torch.sort(pooled, dim=1).values[:, : self._kept]

    def critic_loss(self, values: Tensor, targets: Tensor) -> Tensor:
        return quantile_loss(values, targets, self.config.huber_delta)
