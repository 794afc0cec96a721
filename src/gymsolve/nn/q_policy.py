"""A policy that follows action values: it takes the best action, or with probability ε any legal one.

Algorithms differentiate `q_values`, which takes tensors. The rest takes and gives NumPy arrays, as
`nn/policy.py` does. It serves one Discrete action without memory; other spaces need an actor (PPO, A2C).
"""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.errors import ConfigError
from gymsolve.experience.agent import Acted, Chosen, Considered, Memoryless
from gymsolve.nn.bodies import mlp
from gymsolve.nn.heads import ILLEGAL
from gymsolve.nn.init import Draws, orthogonal_
from gymsolve.nn.network import Network, to_array
from gymsolve.nn.own_encoder import make_encoder
from gymsolve.settings.config import NetConfig
from gymsolve.spec import Array, EnvSpec, Obs

_KINDS = {"multi_discrete": "MultiDiscrete", "multi_binary": "MultiBinary", "box": "Box"}


class QPolicy(Memoryless, Network):
    """An encoder, fully connected layers and one number per action: the expected return after it."""

    kind: ClassVar[str | None] = "q"
    shared = True
    epsilon: Tensor
    """Probability of an action at random; it is saved with the weights."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        if spec.action.kind != "discrete":
            raise ConfigError(
                f"action values serve a Discrete action space, and {spec.id} has {_KINDS[spec.action.kind]}.",
                where="algo.name",
                hint="Use algo.name=ppo or algo.name=a2c, which serve every action space.",
            )
        super().__init__(spec, config, rng)

    def _build(self, rng: Draws) -> None:
        config, choices = self.config, self.spec.action.nvec[0]
        self.encoder = make_encoder(self.spec, config, rng)
        self.actor, size = mlp(self.encoder.size, config, rng)  # so called in every policy
        self.q_head = nn.Linear(size, choices)
        orthogonal_(self.q_head, config.policy_gain, rng)
        self.value_head: nn.Linear | None = None
        if config.duelling:
            self.value_head = nn.Linear(size, 1)
            orthogonal_(self.value_head, config.policy_gain, rng)
        legal = np.array(self.spec.legal or (True,) * choices)
        self.register_buffer("legal", torch.from_numpy(legal), persistent=False)
        self.register_buffer("epsilon", torch.ones((), dtype=torch.float64))

    @property
    def device(self) -> torch.device:
        return self.q_head.weight.device

    def forward(self, obs: dict[str, Tensor], masks: Tensor | None, memory: None = None) -> Tensor:
        return self.q_values(obs, masks)

    def q_values(self, obs: dict[str, Tensor], masks: Tensor | None) -> Tensor:
        """Action values [B, choices]; illegal actions are worth `ILLEGAL`, less than any legal one."""
        features = self.actor(self.encoder(obs))
        worth: Tensor = self.q_head(features)
        if self.value_head is not None:
            worth = self.value_head(features) + worth - worth.mean(dim=1, keepdim=True)
        legal = self.legal if masks is None else masks
        assert isinstance(legal, Tensor)
        return worth if masks is None and not self.spec.legal else worth.masked_fill(~legal, ILLEGAL)

    @torch.inference_mode()
    def best_values(self, obs: Obs, masks: Array | None) -> Array:
        """The values [N] of the best legal actions."""
        return to_array(self._worth(obs, masks).amax(dim=1))

    def _worth(self, obs: Obs, masks: Array | None) -> Tensor:
        return self.q_values(self.tensors(obs), self._mask_tensor(masks))

    # ----------------------------------------------------------------------------- acting

    @torch.inference_mode()
    def act(
        self, obs: Obs, masks: Array | None, rng: np.random.Generator, memory: Array | None = None
    ) -> Acted:
        """Actions of which a share of ε is random, their log-probabilities and the values of the best."""
        worth = to_array(self._worth(obs, masks))  # [N, choices]
        legal, rows = self._legal(masks, len(worth)), np.arange(len(worth))
        draws = rng.random((2, len(worth)))
        # The k-th legal action of each row, where k is uniform among them.
        wanted = (draws[1] * legal.sum(axis=1)).astype(np.int64)
        random = (legal.cumsum(axis=1) > wanted[:, None]).argmax(axis=1)
        best = worth.argmax(axis=1)
        actions = np.where(draws[0] < float(self.epsilon), random, best)
        log_probs = np.log(self._probabilities(best, legal)[rows, actions])
        return Acted(actions[:, None], log_probs.astype(np.float32), worth[rows, best])

    def _legal(self, masks: Array | None, count: int) -> Array:
        """True for legal actions [N, choices]."""
        if masks is not None:
            return masks
        assert isinstance(self.legal, Tensor)
        return np.broadcast_to(to_array(self.legal), (count, len(self.legal)))

    def _probabilities(self, best: Array, legal: Array) -> Array:
        """Probabilities of all actions [N, choices], where `best` [N] are the best ones."""
        epsilon = float(self.epsilon)
        shares: Array = epsilon * legal / legal.sum(axis=1, keepdims=True)
        shares[np.arange(len(best)), best] += 1.0 - epsilon
        return shares

    @torch.inference_mode()
    def choose(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Chosen:
        """The best actions."""
        return Chosen(to_array(self._worth(obs, masks)).argmax(axis=1)[:, None])

    def greedy(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Array:
        """The best actions [N, 1]."""
        return self.choose(obs, masks).actions

    def values(self, obs: Obs, memory: Array | None = None) -> Array:
        """The values [N] of the best actions among those that the recipe allows."""
        return self.best_values(obs, None)

    @torch.inference_mode()
    def consider(
        self, obs: Obs, masks: Array | None, actions: Array, memory: Array | None = None
    ) -> Considered:
        """Probabilities with the present ε, and the log-probabilities of the actions [B, 1]."""
        worth = to_array(self._worth(obs, masks))
        best = worth.argmax(axis=1)
        shares = self._probabilities(best, self._legal(masks, len(worth)))
        with np.errstate(divide="ignore"):  # with ε = 0, other actions have a log-probability of -inf
            logs = np.log(shares)
        rows = np.arange(len(best))
        entropy = -(shares * np.where(shares > 0, logs, 0.0)).sum(axis=1)
        considered = shares, logs[rows, actions[:, 0]], entropy, worth[rows, best]
        return Considered(*(numbers.astype(np.float32) for numbers in considered))

    def set_epsilon(self, epsilon: float) -> None:
        """Act with this share of random actions from here on."""
        self.epsilon.fill_(epsilon)

    # ----------------------------------------------------------------------- being measured

    def parameter_groups(self) -> tuple[str, ...]:
        """All of it predicts values."""
        return tuple("value" for _ in self.parameters())

    def log_std(self) -> Array | None:
        return None
