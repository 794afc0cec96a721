"""The policy of `nn/policy.py` in NumPy: same weights file, same random draws, same actions.

Collectors, evaluators and users call `act`, `choose` and `values`. Algorithms learn with `learning`: its
`evaluate` gives log-probabilities, entropies and values of a batch, its `backward` turns their slopes into
the gradient of every parameter. Only the compiled kernels learn.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.errors import CheckpointError, ConfigError
from gymsolve.experience.agent import Acted, Chosen, Considered, Memoryless
from gymsolve.fast.compiled import CompiledPasses
from gymsolve.fast.heads import CategoricalHead, GaussianHead, Head
from gymsolve.fast.inputs import Features, Inputs, Samples
from gymsolve.fast.normalize import ValueNorm
from gymsolve.fast.parameters import Parameters
from gymsolve.fast.passes import NumpyPasses, Passes
from gymsolve.fast.support import why_not
from gymsolve.kernels import load_kernels
from gymsolve.settings.config import NetConfig
from gymsolve.spec import Array, EnvSpec, Obs

_KEPT_SIZES = 8
"""Batch sizes whose features have a place, so that batches of ever new sizes do not fill the memory."""


class FastPolicy(Memoryless):
    """An actor and a critic for one environment's spaces."""

    memory_inputs = 0

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: np.random.Generator) -> None:
        self.spec = spec.with_squash(config.squash)
        reason = why_not(config, spec)
        if reason is not None:
            raise ConfigError(f"the NumPy engine cannot serve this network: {reason}.", where="engine")
        self.config, self.shared = config, bool(config.shared)
        self.inputs = Inputs(spec, config)
        towers = 1 if self.shared else 2
        self.parameters = Parameters(self.inputs.size, self.spec.action, config, towers)
        self.parameters.initialize(rng)
        values = self.parameters.values
        if spec.action.kind == "box":
            self.parameters.slot("_head.log_std").view(values)[...] = config.log_std_init
        action = self.spec.action
        self.head: Head = (
            GaussianHead(self.parameters, action) if action.kind == "box" else CategoricalHead(action)
        )
        self._plain = NumpyPasses(self.head, self.parameters, self.inputs, config.activation)
        self._compiled = self._compile()
        self._passes: Passes = self._compiled or self._plain
        self._value_row = self.parameters.matrix(values, "value_head")[:, 0]  # [width + 1]
        self.value_norm: ValueNorm | None = None
        if config.normalize_values != "none":
            self.value_norm = ValueNorm(preserve=config.normalize_values == "popart")
        self._kept: dict[int, Array] = {}

    def _compile(self) -> CompiledPasses | None:
        kernels, activation = load_kernels(), self.config.activation
        if kernels is None:
            return None
        return CompiledPasses(kernels, self.parameters, self.inputs, self.spec.action, activation)

    def _encode(self, obs: Obs) -> Features:
        """Features of observations [N, …], in memory that the next ones of this size overwrite."""
        batch = len(next(iter(obs.values())))
        dense = self._kept.get(batch)
        if dense is None:
            if len(self._kept) >= _KEPT_SIZES:
                del self._kept[next(iter(self._kept))]
            dense = self._kept[batch] = self.inputs.allocate(batch)
        return self.inputs.encode(obs, dense)

    @np.errstate(all="ignore")  # as torch: weights that diverged show in the values, not on the console
    def act(
        self, obs: Obs, masks: Array | None, rng: np.random.Generator, memory: Array | None = None
    ) -> Acted:
        """Sampled actions, their log-probabilities and the state values."""
        features = self._encode(obs)
        noise = self.head.noise(rng, features.dense.shape[1])
        actions, log_probs, values = self._passes.act(features, self.head.illegal(masks), noise)
        return Acted(actions, log_probs, self._in_rewards(values))

    @np.errstate(all="ignore")
    def choose(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Chosen:
        """The likeliest actions."""
        return Chosen(self._passes.greedy(self._encode(obs), self.head.illegal(masks)))

    def greedy(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Array:
        """The likeliest actions [N, A]."""
        return self.choose(obs, masks).actions

    @np.errstate(all="ignore")
    def consider(
        self, obs: Obs, masks: Array | None, actions: Array, memory: Array | None = None
    ) -> Considered:
        """Distributions, values, and log-probabilities of the actions [B, A]."""
        # By NumPy: the compiled passes keep no distribution.
        params, log_probs, entropy, values = self._plain.consider(self.samples(obs, actions, masks))
        return Considered(params, log_probs, entropy, self._in_rewards(values))

    @np.errstate(all="ignore")
    def values(self, obs: Obs, memory: Array | None = None) -> Array:
        """State values [N], in units of reward."""
        return self._in_rewards(self._passes.values(self._encode(obs)))

    def _in_rewards(self, values: Array) -> Array:
        """Values in units of reward."""
        return values if self.value_norm is None else self.value_norm.denormalize(values)

    def samples(self, obs: Obs, actions: Array, masks: Array | None) -> Samples:
        """A batch to learn from; observations are scaled once, here."""
        features = self.inputs.encode(obs, self.inputs.allocate(len(actions)))
        return Samples(features, actions, self.head.illegal(masks))

    @property
    def learning(self) -> CompiledPasses:
        """The passes that algorithms learn with."""
        assert self._compiled is not None  # an optimizer cannot be built without the kernels
        return self._compiled

    def parameter_groups(self) -> tuple[str, ...]:
        """The group of each parameter: `policy`, `value`, or `trunk` where the two share it."""
        return self.parameters.groups

    def log_std(self) -> Array | None:
        """Log standard deviations [A] of a box's actions; None for categories."""
        box = self.spec.action.kind == "box"
        return self.parameters.slot("_head.log_std").view(self.parameters.values).copy() if box else None

    def seen(self, obs: Obs) -> dict[str, Array]:
        """Observations [B, …] as the network takes them: numbers [B, size] by entry, without categories."""
        return self.inputs.numbers(obs)

    @np.errstate(all="ignore")
    def hidden(self, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
        """The output [B, units] of every hidden layer, by the name of its activation in torch."""
        # By NumPy: the compiled passes keep no layer.
        layers = list(enumerate(self._plain.trunk.activations(self._encode(obs))))
        towers = ("actor",) if self.shared else ("actor", "critic")
        return {f"{t}.{2 * k + 1}": layer[i].T for i, t in enumerate(towers) for k, layer in layers}

    def observe(self, obs: Obs) -> None:
        """Take a batch of raw observations [B, …] into every running statistic."""
        self.inputs.observe(obs)

    def observe_returns(self, returns: Array) -> None:
        """Take returns [B] into the value head's units, if it has units of its own."""
        if self.value_norm is not None:
            self.value_norm.observe(returns, self._value_row[:-1], self._value_row[-1:])

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present statistics; the optimizer does so for the weights."""
        live = [*self.inputs.arrays().values()]
        live += [] if self.value_norm is None else self.value_norm.arrays().values()
        kept = [array.copy() for array in live]

        def put_back() -> None:
            for array, values in zip(live, kept, strict=True):
                array[...] = values
            self.inputs.refresh()

        return put_back

    def live_arrays(self) -> dict[str, Array]:
        """Weights and statistics under torch's names and in its order; both trunks share statistics."""
        named = self.parameters.views(self.parameters.values)
        statistics = self.inputs.arrays()
        arrays = {f"encoder.{name}": array for name, array in statistics.items()}
        arrays |= {name: array for name, array in named.items() if name.startswith("actor.")}
        if not self.shared:
            arrays |= {f"value_encoder.{name}": array for name, array in statistics.items()}
        arrays |= named
        if self.value_norm is not None:
            arrays |= {f"value_norm.{name}": array for name, array in self.value_norm.arrays().items()}
        return arrays

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
        """Spaces and settings, which a file needs besides the arrays to rebuild the policy."""
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
    """True for statistics of the value encoder that differ from the actor's: here both share one set."""
    twin = name.removeprefix("value_")
    both = name.startswith("value_encoder.") and twin in arrays
    return both and not np.array_equal(arrays[name], arrays[twin], equal_nan=True)
