"""The policy of `nn/policy.py` in NumPy: same weights file, same random draws, same actions.

`act`, `values` and `greedy` are what collectors, evaluators and users call. `evaluate` and `backward`
are what algorithms learn with: the first fills a `Work` with log-probabilities, entropies and values
of a batch, the second turns their slopes into the gradient of every parameter.
"""

import json
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gymsolve.config import NetConfig
from gymsolve.errors import CheckpointError, ConfigError
from gymsolve.fast.categorical import CategoricalHead
from gymsolve.fast.gaussian import GaussianHead
from gymsolve.fast.heads import Head
from gymsolve.fast.inputs import Features, Inputs
from gymsolve.fast.normalize import ValueNorm
from gymsolve.fast.parameters import Parameters
from gymsolve.fast.support import why_not
from gymsolve.fast.trunk import Loss, Trunk, TrunkWork
from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["FastPolicy", "Samples", "Work"]

_KEPT_SIZES = 8
"""Batch sizes whose work arrays are kept; rollouts of ever new sizes must not fill the memory."""


class Samples(NamedTuple):
    """Rows of a rollout in the form the network takes."""

    features: Features
    actions: Array  # [B, A]
    illegal: Array | None  # [B, …] as the head wants it

    def part(self, chosen: slice) -> "Samples":
        illegal = None if self.illegal is None else self.illegal[chosen]
        return Samples(self.features.part(chosen), self.actions[chosen], illegal)

    def gather(self, order: Array) -> "Samples":
        illegal = None if self.illegal is None else self.illegal.take(order, axis=0)
        return Samples(self.features.gather(order), self.actions.take(order, axis=0), illegal)


class Work:
    """Arrays for one batch size, and what the last pass of that size found."""

    def __init__(self, trunk: TrunkWork, head: Any, dense: Array) -> None:
        self.trunk, self.head, self.dense = trunk, head, dense
        self.features: Features | None = None
        self.actor, self.critic = trunk.out[0], trunk.out[-1]  # [width + 1, B]
        self.d_actor, self.d_critic = trunk.d_out[0], trunk.d_out[-1]  # [width, B]
        self.values = np.empty(dense.shape[1], np.float32)  # [B] in the value head's units
        self.log_probs = self.entropy = self.values  # until the first pass


class FastPolicy:
    """An actor and a critic for one environment's spaces."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: np.random.Generator) -> None:
        if config.squash and spec.action.kind == "box" and not spec.action.bounded:
            raise ConfigError(
                f"{spec.id} takes actions without bounds, so there is nothing for tanh to scale to.",
                where="net.squash",
                hint="Leave it off, or wrap the environment so that its actions are bounded.",
            )
        reason = why_not(config, spec)
        if reason is not None:
            raise ConfigError(f"the NumPy engine cannot serve this network: {reason}.", where="engine")
        self.spec = replace(spec, action=replace(spec.action, squash=config.squash))
        self.config, self.shared = config, bool(config.shared)
        self.inputs = Inputs(spec, config)
        towers = 1 if self.shared else 2
        self.parameters = Parameters(self.inputs.size, self.spec.action, config, towers)
        self.parameters.initialize(rng)
        values, grads = self.parameters.values, self.parameters.grads
        if spec.action.kind == "box":
            self.parameters.slot("_head.log_std").view(values)[...] = config.log_std_init
        kind = GaussianHead if spec.action.kind == "box" else CategoricalHead
        self.trunk = Trunk(self.parameters, self.inputs, config.activation)
        self.head: Head = kind(self.parameters, self.spec.action)
        self._value_row = self.parameters.matrix(values, "value_head")[:, 0]  # [width + 1]
        self._d_value_row = self.parameters.matrix(grads, "value_head")[:, 0]
        self.value_norm: ValueNorm | None = None
        if config.normalize_values != "none":
            self.value_norm = ValueNorm(preserve=config.normalize_values == "popart")
        self._kept: dict[int, Work] = {}

    def work(self, batch: int) -> Work:
        """Work arrays for a batch size."""
        found = self._kept.get(batch)
        if found is None:
            if len(self._kept) >= _KEPT_SIZES:
                del self._kept[next(iter(self._kept))]
            dense = self.inputs.allocate(batch)
            found = self._kept[batch] = Work(self.trunk.allocate(batch), self.head.allocate(batch), dense)
        return found

    def _look(self, obs: Obs, loss: Loss) -> Work:
        """Pass observations through the towers that `loss` needs."""
        work = self.work(len(next(iter(obs.values()))))
        self.trunk.forward(self.inputs.encode(obs, work.dense), work.trunk, loss)
        return work

    def _predict(self, work: Work) -> None:
        np.matmul(self._value_row, work.critic, out=work.values)

    @np.errstate(all="ignore")  # as torch: weights that diverged show in the values, not on the console
    def act(self, obs: Obs, masks: Array | None, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Sampled actions [N, A], their log-probabilities [N], state values [N]."""
        head = self.head
        work = self._look(obs, "both")
        self._predict(work)
        head.forward(work.actor, head.illegal(masks), work.head)
        actions = head.sample(work.head, head.noise(rng, len(work.values)))
        return actions, head.log_prob(work.head, actions), self.real_values(work.values)

    @np.errstate(all="ignore")
    def greedy(self, obs: Obs, masks: Array | None) -> Array:
        """The likeliest actions [N, A]."""
        work = self._look(obs, "policy")
        self.head.forward(work.actor, self.head.illegal(masks), work.head)
        return self.head.mode(work.head)

    @np.errstate(all="ignore")
    def values(self, obs: Obs) -> Array:
        """State values [N], in units of reward."""
        work = self._look(obs, "value")
        self._predict(work)
        return self.real_values(work.values)

    def real_values(self, values: Array) -> Array:
        """A copy of `values` in units of reward."""
        return values.copy() if self.value_norm is None else self.value_norm.denormalize(values)

    def samples(self, obs: Obs, actions: Array, masks: Array | None) -> Samples:
        """A batch to learn from; observations are scaled once, here."""
        features = self.inputs.encode(obs, self.inputs.allocate(len(actions)))
        return Samples(features, actions, self.head.illegal(masks))

    def evaluate(self, samples: Samples) -> Work:
        """Log-probabilities, entropies and values [B] of a batch."""
        work = self.critic_values(samples, "both")
        self.head.forward(work.actor, samples.illegal, work.head)
        work.log_probs = self.head.log_prob(work.head, samples.actions)
        work.entropy = self.head.entropy(work.head)
        return work

    def critic_values(self, samples: Samples, loss: Loss = "value") -> Work:
        """Values in the value head's units [B], without the actor's work."""
        work = self.work(len(samples.actions))
        work.features = samples.features
        self.trunk.forward(samples.features, work.trunk, loss)
        self._predict(work)
        return work

    def backward(
        self, work: Work, d_log_probs: Array | None, d_entropy: float, d_values: Array | None
    ) -> None:
        """Gradients from the slopes of log-probabilities [B], of each row's entropy, and of values [B].

        None says that the loss does not depend on them; gradients of what then takes no part are stale.
        """
        assert work.features is not None
        loss: Loss = "policy" if d_values is None else "value" if d_log_probs is None else "both"
        if d_log_probs is not None:
            self.head.backward(work.actor, work.head, d_log_probs, d_entropy, work.d_actor)
        if d_values is not None:
            np.matmul(work.critic, d_values, out=self._d_value_row)
            weight = self._value_row[:-1, None]
            if self.shared and loss == "both":
                work.d_critic += np.multiply(weight, d_values, out=work.trunk.spare[-1])
            else:
                np.multiply(weight, d_values, out=work.d_critic)
        self.trunk.backward(work.features, work.trunk, loss)

    def observe(self, obs: Obs) -> None:
        """Take a batch of raw observations [B, …] into every running statistic."""
        self.inputs.observe(obs)

    def observe_returns(self, returns: Array) -> None:
        """Take returns [B] into the value head's units, if it has units of its own."""
        if self.value_norm is not None:
            self.value_norm.observe(returns, self._value_row[:-1], self._value_row[-1:])

    def live_arrays(self) -> dict[str, Array]:
        """Weights and statistics under torch's names and in its order; both trunks share statistics."""
        named = self.parameters.views(self.parameters.values)
        statistics = self.inputs.arrays()
        found = {f"encoder.{name}": array for name, array in statistics.items()}
        found |= {name: array for name, array in named.items() if name.startswith("actor.")}
        if not self.shared:
            found |= {f"value_encoder.{name}": array for name, array in statistics.items()}
        found |= named
        if self.value_norm is not None:
            found |= {f"value_norm.{name}": array for name, array in self.value_norm.arrays().items()}
        return found

    def arrays(self) -> dict[str, Array]:
        """Weights and statistics by name."""
        return {name: array.copy(order="C") for name, array in self.live_arrays().items()}

    def load_arrays(self, arrays: dict[str, Array]) -> list[str]:
        """Copy what fits by name and shape; say in sentences what did not."""
        own = self.live_arrays()
        misfits = []
        for name, place in own.items():
            if name not in arrays:
                misfits.append(f"{name} is not in the checkpoint")
            elif place.shape != arrays[name].shape:
                here, there = list(place.shape), list(arrays[name].shape)
                misfits.append(f"{name} has shape {here} here and {there} in the checkpoint")
            elif _differs_from_actors(name, arrays):
                misfits.append(f"{name} is not what the actor's encoder has")
            else:
                place[...] = arrays[name]
        self.inputs.refresh()
        return misfits + [f"{name} has no place in this network" for name in arrays if name not in own]

    @np.errstate(all="ignore")
    def checksum(self) -> float:
        """The sum of all weights: not finite as soon as one of them is not."""
        return float(self.parameters.values.sum())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are rebuilt: a field-by-field copy would lose that all views share one buffer."""
        return FastPolicy.from_arrays, (self.arrays(), self.metadata())

    def metadata(self) -> dict[str, str]:
        """What else is needed to rebuild the policy, as strings."""
        return {"spec": json.dumps(self.spec.to_json()), "net": self.config.model_dump_json()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], metadata: dict[str, str]) -> "FastPolicy":
        """The policy that `arrays` and `metadata` were taken from, by either engine."""
        spec = EnvSpec.from_json(json.loads(metadata["spec"]))
        config = NetConfig.model_validate_json(metadata["net"])
        policy = cls(spec, config, np.random.default_rng(0))
        misfits = policy.load_arrays(arrays)
        if misfits:
            raise CheckpointError(f"the weights do not fit the network they describe: {misfits[0]}.")
        return policy


def _differs_from_actors(name: str, arrays: dict[str, Array]) -> bool:
    """The two trunks see the same data and keep one set of statistics here; torch keeps two."""
    twin = name.removeprefix("value_")
    both = name.startswith("value_encoder.") and twin in arrays
    return both and not np.array_equal(arrays[name], arrays[twin], equal_nan=True)
