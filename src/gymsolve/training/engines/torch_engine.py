"""The torch engine: any network, any device."""

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gymsolve.envs.backends.worker_pool import usable_cores
from gymsolve.errors import ConfigError
from gymsolve.experience.learner import Learner, Policy
from gymsolve.fast import set_blas_threads
from gymsolve.own_faults import blaming_own
from gymsolve.parts import Part
from gymsolve.seeding import integer_seeds
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec
from gymsolve.training.engines.own_algorithm import find_algorithm, find_policy, make_policy

_LARGE_IMAGE = 48 * 48
"""Pixels from which convolutions may gain from more than one thread."""
_PROBE_SECONDS = 0.8
_PROBE_ROWS, _PROBE_ROWS_COMPILED = 64, 256
"""At most so many rows of a minibatch are timed: enough to show how threads share the work. The compiled
kernels are so quick that with fewer rows the overhead would decide."""
_WORTH = 1.15
"""The gain that all cores must bring: less is noise, and a core left to others is worth something."""


class TorchEngine(Part):
    """Autograd on `device`."""

    name = "torch"
    kernels: str | None = None

    def __init__(self, device: str, threads: int, spec: EnvSpec) -> None:
        pixels = [entry.shape[1] * entry.shape[2] for entry in spec.obs.values() if entry.kind == "image"]
        self.device = _choose_device(device, images=bool(pixels))
        self.on_gpu = self.device.type == "cuda"
        self.threads = threads or 1  # splitting small matrices costs more than it saves
        self.measured = ""
        self._undecided = not threads and max(pixels, default=0) >= _LARGE_IMAGE
        set_blas_threads(1)  # NumPy draws the first weights; two threads on busy cores are far slower
        torch.set_num_threads(self.threads)

    def build(self, config: TrainConfig, spec: EnvSpec, auxiliaries: Sequence[Any] = ()) -> Learner:
        kind = find_algorithm(config.algo.name)
        policy = make_policy(config, spec).to(self.device)
        self.kernels = "c" if policy.encoder.compiled and self.device.type == "cpu" else None
        if self._undecided and self.device.type == "cpu":
            self._choose_threads(config, policy)
        torch.manual_seed(integer_seeds(config.seed, "torch", 1)[0])
        with blaming_own(config.algo.name, "algo.name", "its constructor"):
            learner: Learner = kind(config.algo, policy, auxiliaries)
        return learner

    def _choose_threads(self, config: TrainConfig, policy: Any) -> None:
        """One thread or all cores, whichever would be done with an update and its rollout sooner."""
        most = _most_threads()
        if most == 1:
            self.measured = "measured: the process may use no more"
            return
        seconds = _measure_threads(config, policy, (1, most))
        self.threads = most if seconds[1] > _WORTH * seconds[most] else 1
        timings = " and ".join(f"{spent:.2f} s with {count}" for count, spent in seconds.items())
        self.measured = f"measured: a rollout and its update take the network {timings} threads"
        torch.set_num_threads(self.threads)

    def load_policy(self, arrays: dict[str, Array], metadata: dict[str, str], config: TrainConfig) -> Policy:
        kind = find_policy(metadata.get("kind", "actor_critic"), config)
        policy: Any = kind.from_arrays(arrays, metadata, config.net.encoder).to(self.device)
        loaded: Policy = policy
        return loaded

    def arrays(self) -> dict[str, Array]:
        """Torch's global generator, which dropout draws from."""
        return {"torch_rng": torch.get_rng_state().numpy()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if "torch_rng" in arrays:  # not in a checkpoint of the other engine
            torch.set_rng_state(torch.from_numpy(arrays["torch_rng"]))
        return []

    def reseed(self, seed: int, env_steps: int) -> None:
        torch.manual_seed(integer_seeds(seed, "torch", 1, env_steps)[0])


def has_gpu() -> bool:
    """Is there a GPU that torch can use?"""
    return torch.cuda.is_available()


def _choose_device(name: str, *, images: bool) -> torch.device:
    """`auto` takes an accelerator for convolutions only; small networks are faster without."""
    if name == "cuda" and not has_gpu():
        raise ConfigError("torch finds no CUDA device here.", where="device", hint="Use device=cpu.")
    if name == "auto":
        name = "cuda" if images and has_gpu() else "cpu"
    return torch.device(name)


def _most_threads() -> int:
    """As many threads as the process may use; `OMP_NUM_THREADS` limits them."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and asked != "0" else usable_cores()


def _measure_threads(config: TrainConfig, policy: Any, counts: tuple[int, ...]) -> dict[int, float]:
    """Seconds of acting and learning per rollout, by number of threads: the best of alternating tries."""
    algo, num_envs = config.algo, config.env.num_envs
    steps = algo.num_steps * num_envs
    passes = algo.passes(Progress(0, config.steps))
    rows = max(
        1, min(steps // algo.minibatches, _PROBE_ROWS_COMPILED if policy.encoder.compiled else _PROBE_ROWS)
    )
    batch, seen = _blank(policy, rows), _blank(policy, num_envs)
    best: dict[int, list[float]] = {count: [float("inf")] * 2 for count in counts}
    began = time.perf_counter()
    while time.perf_counter() - began < _PROBE_SECONDS:
        for count in counts:
            torch.set_num_threads(count)
            started = time.perf_counter()
            _differentiate(policy, batch)
            between = time.perf_counter()
            with torch.inference_mode():
                policy(seen, None)
            spent = between - started, time.perf_counter() - between
            best[count] = [min(pair) for pair in zip(best[count], spent, strict=True)]
    return {
        count: passes * steps / rows * learn + algo.num_steps * act for count, (learn, act) in best.items()
    }


def _blank(policy: Any, rows: int) -> dict[str, torch.Tensor]:
    """Empty observations; their contents do not change the time."""
    arrays = {key: np.zeros((rows, *entry.shape), entry.dtype) for key, entry in policy.spec.obs.items()}
    tensors: dict[str, torch.Tensor] = policy.tensors(arrays)
    return tensors


def _differentiate(policy: Any, obs: dict[str, torch.Tensor]) -> None:
    outputs = policy(obs, None)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wanted = [parameter for parameter in policy.parameters() if parameter.requires_grad]
    torch.autograd.grad(sum(output.sum() for output in outputs), wanted, allow_unused=True)
