"""The common base of policies for boxes of actions: an actor, and critics that value what it does.

Actor and critics see features of one encoder. Where it has weights, as for pictures, the critics alone train
it, and the actor's gradient ends at the features. Algorithms differentiate `features`, `critics` and what
subclasses add; the rest takes and gives NumPy arrays, as `nn/policy.py` does.
"""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.experience.agent import Acted, Chosen, Considered, Memoryless
from gymsolve.nn.activation_hooks import watching_activations
from gymsolve.nn.bodies import Encoder, mlp
from gymsolve.nn.critics import Critics
from gymsolve.nn.init import Draws, orthogonal_
from gymsolve.nn.network import Network, to_array
from gymsolve.settings.config import NetConfig
from gymsolve.spec import Array, EnvSpec, Obs


class ContinuousPolicy(Memoryless, Network):
    """An actor, and critics that value what it does."""

    shared = False
    per_action: ClassVar[int] = 1
    """Numbers that the actor's last layer gives for each dimension of an action."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        self.explores_evenly = False
        """True until learning begins: actions are drawn evenly from the whole range."""
        super().__init__(spec, config, rng)

    def _build(self, rng: Draws) -> None:
        self.critics = Critics(self.spec, self.config, rng)
        self.actor, size = mlp(self.critics.encoder.size, self.config, rng)  # so called in every policy
        self.actor_head = nn.Linear(size, self.per_action * self.spec.action.size)
        orthogonal_(self.actor_head, self.config.policy_gain, rng)

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        """The encoder that actor and critics have in common."""
        return self.critics.encoder

    @property
    def device(self) -> torch.device:
        return self.actor_head.weight.device

    # ------------------------------------------------------------------- of tensors, to learn

    def features(self, obs: dict[str, Tensor]) -> Tensor:
        """The inputs [B, F] of actor and critics."""
        out: Tensor = self.encoder(obs)
        return out

    def params(self, features: Tensor) -> Tensor:
        """The actor's numbers [B, per_action · A]."""
        out: Tensor = self.actor_head(self.actor(features))
        return out

    def likeliest(self, params: Tensor) -> Tensor:
        """The likeliest actions [B, A], as `ActionSpec.to_env` takes them."""
        raise NotImplementedError

    def unit(self, actions: Tensor) -> Tensor:
        """Actions of the policy [B, A] → numbers between -1 and 1, as critics take them."""
        return actions.tanh() if self.spec.action.squash else actions.clamp(-1.0, 1.0)

    def worth(self, features: Tensor, unit: Tensor) -> Tensor:
        """The value [B] of actions: of the lowest critic, or the mean of all quantiles."""
        values: Tensor = self.critics(features, unit)
        return values.amin(dim=0) if values.ndim == 2 else values.mean(dim=(0, 2))

    def forward(
        self, obs: dict[str, Tensor], masks: Tensor | None, memory: None = None
    ) -> tuple[Tensor, Tensor]:
        """The actor's numbers, and the value [B] of its likeliest actions."""
        features = self.features(obs)
        params = self.params(features)
        return params, self.worth(features, self.unit(self.likeliest(params)))

    # ----------------------------------------------------------------------------- acting

    @torch.inference_mode()
    def act(
        self, obs: Obs, masks: Array | None, rng: np.random.Generator, memory: Array | None = None
    ) -> Acted:
        """Sampled actions, their log-probabilities, and the critics' values of these actions."""
        features = self.features(self.tensors(obs))
        size = (len(features), self.spec.action.size)
        if self.explores_evenly:
            actions = torch.from_numpy(self.spec.action.from_unit(rng.uniform(-1.0, 1.0, size)))
            actions = actions.to(self.device)
            log_probs = torch.full((len(features),), -size[1] * float(np.log(2.0)))
        else:
            noise = torch.from_numpy(rng.standard_normal(size, dtype=np.float32)).to(self.device)
            actions, log_probs = self.sample(self.params(features), noise)
        values = self.worth(features, self.unit(actions))
        return Acted(to_array(actions), to_array(log_probs), to_array(values))

    def sample(self, params: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions [B, A] for standard normal noise [B, A], and their log-probabilities [B]."""
        raise NotImplementedError

    @torch.inference_mode()
    def choose(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Chosen:
        """The likeliest actions."""
        return Chosen(to_array(self.likeliest(self.params(self.features(self.tensors(obs))))))

    def greedy(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Array:
        """The likeliest actions [N, A]."""
        return self.choose(obs, masks).actions

    @torch.inference_mode()
    def values(self, obs: Obs, memory: Array | None = None) -> Array:
        """The values [N] of the likeliest actions."""
        return to_array(self(self.tensors(obs), None)[1])

    @torch.inference_mode()
    def consider(
        self, obs: Obs, masks: Array | None, actions: Array, memory: Array | None = None
    ) -> Considered:
        """The likeliest actions and their values, and the log-probabilities of the actions [B, A]."""
        params, values = self(self.tensors(obs), None)
        taken = torch.from_numpy(actions).to(self.device)
        tensors = (self.likeliest(params), self.log_prob(params, taken), self.entropy(params), values)
        return Considered(*(to_array(tensor).copy() for tensor in tensors))

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Log-probabilities [B] of actions [B, A]."""
        raise NotImplementedError

    def entropy(self, params: Tensor) -> Tensor:
        """Entropies [B], of actions between -1 and 1."""
        raise NotImplementedError

    # ----------------------------------------------------------------------- being measured

    @torch.inference_mode()
    def hidden(self, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
        """The output [B, units] of every hidden layer after its activation, by the activation's name."""
        with watching_activations(self.encoder) as encoded, watching_activations(self.actor) as acted:
            features = self.features(self.tensors(obs))
            unit = self.unit(self.likeliest(self.params(features)))
        layers = {f"encoder.{name}": to_array(x) for name, x in encoded.items()}
        for index, outputs in enumerate(self.critics.passes(features, unit)[:-1]):
            layers |= {f"critics.{n}.{index}": to_array(outputs[n]) for n in range(len(outputs))}
        return layers | {f"actor.{name}": to_array(x) for name, x in acted.items()}

    def parameter_groups(self) -> tuple[str, ...]:
        """The group of each parameter: `policy` or `value`."""
        return tuple(
            "value" if name.startswith("critics.") else "policy" for name, _ in self.named_parameters()
        )

    def log_std(self) -> Array | None:
        """None: the spread depends on the observation, or is the same for ever."""
        return None
