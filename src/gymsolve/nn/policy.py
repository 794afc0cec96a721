"""The policy: observation normaliser, networks, action head and value head in one module.

`Networks` takes tensors: algorithms differentiate its `evaluate`. `Policy` adds `act`, `choose` and `values`
for collectors, evaluators and users; they take and give NumPy arrays and never track gradients. `arrays()`
and `metadata()` hold everything that another process needs to act with the policy.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.experience.agent import Acted, Chosen, Considered, Prefix
from gymsolve.nn.activation_hooks import watching_activations
from gymsolve.nn.bodies import Encoder, mlp
from gymsolve.nn.heads import CategoricalHead, GaussianHead, Head, make_head
from gymsolve.nn.init import Draws, orthogonal_
from gymsolve.nn.memory import Cell, LastStepInputs, OneStep, Past
from gymsolve.nn.minibatch import Evaluated, Minibatch
from gymsolve.nn.network import Network, to_array
from gymsolve.nn.normalize import ValueNorm
from gymsolve.nn.own_encoder import make_encoder
from gymsolve.nn.state_replay import memory_after
from gymsolve.nn.tasks import TaskValueNorm, pick
from gymsolve.settings.config import NetConfig
from gymsolve.spec import TASK_ENTRY, Array, EnvSpec, Obs


class Networks(Network):
    """Encoders, recurrent cells, bodies and heads for one environment's spaces, on tensors."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__(spec.with_squash(config.squash), config, rng)

    def _build(self, rng: Draws) -> None:
        spec, config = self.spec, self.config
        images = any(entry.kind == "image" for entry in spec.obs.values())
        self.shared = images if config.shared is None else config.shared
        self.last_step = LastStepInputs(spec.action, () if config.memory is None else config.memory.inputs)
        self.memory_size = 0
        self.encoder = make_encoder(spec, config, rng)
        self.actor_memory = self._make_cell(self.encoder.size, rng)
        self.actor, size = mlp(self._remembered or self.encoder.size, config, rng)
        if not self.shared:
            # Weights of its own; running statistics are fed the same data as the actor's.
            self.value_encoder = make_encoder(spec, config, rng)
            self.critic_memory = self._make_cell(self.value_encoder.size, rng)
            self.critic, _ = mlp(self._remembered or self.value_encoder.size, config, rng)
        count = len(spec.tasks)
        self._own_heads = count > 0 and config.tasks.heads == "each"
        self._own_values = count > 0 and config.tasks.values == "each"
        self._head = make_head(size, spec.action, config, rng, count if self._own_heads else 1)
        self.value_head = nn.Linear(size, count if self._own_values else 1)
        orthogonal_(self.value_head, 1.0, rng)
        self.value_norm: ValueNorm | None = None
        if config.normalize_values != "none":
            preserve = config.normalize_values == "popart"
            own = self._own_values
            self.value_norm = TaskValueNorm(count, preserve=preserve) if own else ValueNorm(preserve=preserve)

    def _make_cell(self, features: int, rng: Draws) -> Cell | None:
        """The next cell, whose state comes after those of earlier ones; None without memory."""
        if self.config.memory is None:
            return None
        cell = Cell(features + self.last_step.size, self.config.memory, self.memory_size, rng)
        self.memory_size = cell.columns.stop
        return cell

    @property
    def cells(self) -> list[tuple[Encoder, Cell]]:
        """The recurrent cells in the order of their columns of memory, with the encoders before them."""
        cells = [(self.encoder, self.actor_memory)]
        if not self.shared:
            cells.append((self.value_encoder, self.critic_memory))
        return [(encoder, cell) for encoder, cell in cells if cell is not None]

    @property
    def encoders(self) -> list[Encoder]:
        return [self.encoder] if self.shared else [self.encoder, self.value_encoder]

    @property
    def _remembered(self) -> int:
        """Width of a cell's output."""
        return 0 if self.config.memory is None else self.config.memory.size

    @property
    def head(self) -> Head:
        return cast(Head, self._head)

    @property
    def memory_inputs(self) -> int:
        return self.last_step.size

    @property
    def device(self) -> torch.device:
        return self.value_head.weight.device

    def forward(
        self, obs: dict[str, Tensor], masks: Tensor | None, memory: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Parameters of the action distribution, and values in the value head's own units [B].

        Without `memory` [B, M], every row is the first of an episode.
        """
        count = len(next(iter(obs.values())))
        if memory is None and self.config.memory is not None:
            memory = torch.zeros(count, self.memory_size + self.last_step.size, device=self.device)
        _, params, values = self._pass(obs, masks, self._step(memory))
        return params, values

    def _step(self, memory: Tensor | None) -> OneStep | None:
        return None if memory is None else OneStep(memory, self.last_step.size)

    def _pass(
        self, obs: dict[str, Tensor], masks: Tensor | None, past: Past | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The features [B, F] that the action head reads, then the results of `forward`."""
        features = self._actor_features(obs, past)
        critic = features if self.shared else self._critic_features(obs, past)
        tasks = obs[TASK_ENTRY] if self._own_heads else None
        return features, self.head(features, masks, tasks), self._values(critic, obs)

    def _values(self, features: Tensor, obs: dict[str, Tensor]) -> Tensor:
        """Values [B] in the units of the value head, or of the row that each task has in it."""
        values: Tensor = self.value_head(features)
        return (pick(values, obs[TASK_ENTRY], len(self.spec.tasks)) if self._own_values else values).squeeze(
            -1
        )

    def _actor_features(self, obs: dict[str, Tensor], past: Past | None) -> Tensor:
        out: Tensor = self.actor(_remember(self.encoder(obs), self.actor_memory, past))
        return out

    def _critic_features(self, obs: dict[str, Tensor], past: Past | None) -> Tensor:
        if self.shared:
            return self._actor_features(obs, past)
        out: Tensor = self.critic(_remember(self.value_encoder(obs), self.critic_memory, past))
        return out

    def evaluate(self, minibatch: Minibatch) -> Evaluated:
        """Log-probabilities, entropies and values that the policy now gives to past steps."""
        features, params, values = self._pass(minibatch.obs, minibatch.masks, minibatch.past)
        log_probs = self.head.log_prob(params, minibatch.actions)
        return Evaluated(log_probs, self.head.entropy(params), values, features, params)

    def critic_values(self, obs: dict[str, Tensor], past: Past | None = None) -> Tensor:
        """Values in the value head's units [B], without the actor's work."""
        return self._values(self._critic_features(obs, past), obs)

    def real_values(self, values: Tensor, obs: dict[str, Tensor]) -> Tensor:
        """Values of these observations in units of reward."""
        return values if self.value_norm is None else self.value_norm.denormalize(values, obs.get(TASK_ENTRY))

    def parameter_groups(self) -> tuple[str, ...]:
        """The group of each parameter: `policy`, `value`, or `trunk` where the two share it."""
        body = "trunk" if self.shared else "policy"
        owners = {"encoder": body, "actor_memory": body, "actor": body, "_head": "policy"}
        return tuple(owners.get(name.partition(".")[0], "value") for name, _ in self.named_parameters())


class Policy(Networks):
    """An actor and a critic that act, and are measured and stored, in NumPy arrays."""

    @torch.inference_mode()
    def act(
        self, obs: Obs, masks: Array | None, rng: np.random.Generator, memory: Array | None = None
    ) -> Acted:
        """Sampled actions, their log-probabilities and the state values."""
        past = self._past(obs, memory)
        seen = self.tensors(obs)
        _, params, values = self._pass(seen, self._mask_tensor(masks), past)
        noise = torch.from_numpy(self.head.noise(rng, len(values))).to(self.device)
        actions = self.head.sample(params, noise)
        log_probs = self.head.log_prob(params, actions)
        arrays = to_array(actions), to_array(log_probs), to_array(self.real_values(values, seen))
        return Acted(*arrays, self._after(past, actions))

    @torch.inference_mode()
    def choose(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Chosen:
        """The likeliest actions."""
        past = self._past(obs, memory)
        _, params, _ = self._pass(self.tensors(obs), self._mask_tensor(masks), past)
        actions = self.head.mode(params)
        return Chosen(to_array(actions), self._after(past, actions))

    def _after(self, past: OneStep | None, actions: Tensor) -> Array | None:
        """Memory [N, M] after a step, without its reward."""
        if past is None:
            return None
        return to_array(torch.cat([*past.after, *self.last_step.columns(actions)], dim=1))

    def greedy(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Array:
        """The likeliest actions [N, A], by default at the start of an episode."""
        return self.choose(obs, masks, memory).actions

    @torch.inference_mode()
    def consider(
        self, obs: Obs, masks: Array | None, actions: Array, memory: Array | None = None
    ) -> Considered:
        """Distributions, values, and log-probabilities of the actions [B, A]."""
        past = self._past(obs, memory)
        seen = self.tensors(obs)
        _, params, values = self._pass(seen, self._mask_tensor(masks), past)
        taken = torch.from_numpy(actions).to(self.device)
        log_probs, entropy = self.head.log_prob(params, taken), self.head.entropy(params)
        choices = self._head.choices(params) if isinstance(self._head, CategoricalHead) else params
        tensors = choices, log_probs, entropy, self.real_values(values, seen)
        return Considered(*(to_array(tensor).copy() for tensor in tensors))

    @torch.inference_mode()
    def values(self, obs: Obs, memory: Array | None = None) -> Array:
        """State values [N], in units of reward."""
        past = self._past(obs, memory)
        seen = self.tensors(obs)
        return to_array(self.real_values(self.critic_values(seen, past), seen))

    def first_memory(self, num_envs: int) -> Array | None:
        """Memory at the start of an episode: zeros; None without a recurrent cell."""
        if self.config.memory is None:
            return None
        return np.zeros((num_envs, self.memory_size + self.last_step.size), np.float32)

    def _past(self, obs: Obs, memory: Array | None) -> OneStep | None:
        if self.config.memory is None:
            return None
        given = self.first_memory(len(next(iter(obs.values())))) if memory is None else memory
        return self._step(torch.from_numpy(given).to(self.device))

    def override_action(self, memory: Array, actions: Array) -> Array:
        """Memory [N, M] after other actions [N, A] than the policy's were taken in the last step."""
        return self.last_step.override_action(memory, actions)

    def hear(self, memory: Array, rewards: Array) -> Array:
        """Memory [N, M] with the rewards [N] of the last step."""
        return self.last_step.hear(memory, rewards)

    @torch.inference_mode()
    def remember(self, prefixes: Sequence[Prefix], memory: Array | None = None) -> Array:
        """Memory [S, M] after replaying steps from `memory` [S, M], or from the start of an episode."""
        before = self.first_memory(len(prefixes)) if memory is None else memory
        assert before is not None, "a policy without a recurrent cell remembers nothing"
        return memory_after(self, prefixes, before)

    @torch.inference_mode()
    def hidden(self, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
        """The output [B, units] of every cell and hidden layer, by the name of cell or activation."""
        past = self._past(obs, memory)
        with watching_activations(self) as layers:
            self._pass(self.tensors(obs), None, past)
        states = () if past is None else past.after
        names = ("actor_memory", "critic_memory")
        cells = {name: state[:, : self._remembered] for name, state in zip(names, states, strict=False)}
        return {name: to_array(x) for name, x in (cells | layers).items()}

    def log_std(self) -> Array | None:
        """Log standard deviations [A] of a box's actions; None for categories."""
        return to_array(self._head.log_std).copy() if isinstance(self._head, GaussianHead) else None


def _remember(x: Tensor, cell: Cell | None, past: Past | None) -> Tensor:
    """Features [B, F] after the recurrent cell, if there is one."""
    if cell is None:
        return x
    assert past is not None, "a recurrent cell needs its memory"
    return past.through(cell, x)
