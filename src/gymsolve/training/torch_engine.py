"""The torch engine: any network, any device."""

import torch

from gymsolve.config import TrainConfig
from gymsolve.errors import ConfigError
from gymsolve.fast import set_blas_threads
from gymsolve.nn.policy import Policy
from gymsolve.registry import ALGORITHMS, lookup
from gymsolve.seeding import generator, integer_seeds
from gymsolve.spec import Array, EnvSpec
from gymsolve.training.engines import Algorithm

__all__ = ["TorchEngine"]


_LARGE_IMAGE = 48 * 48
"""Pixels from which convolutions gain from more than one thread."""


class TorchEngine:
    """Autograd on `device`."""

    name = "torch"
    kernels: str | None = None

    def __init__(self, device: str, threads: int, spec: EnvSpec) -> None:
        pixels = [entry.shape[1] * entry.shape[2] for entry in spec.obs.values() if entry.kind == "image"]
        self.device = _choose_device(device, images=bool(pixels))
        set_blas_threads(1)  # NumPy draws the first weights; two threads on busy cores are far slower
        if threads or max(pixels, default=0) < _LARGE_IMAGE:
            # One thread for small networks: splitting small matrices costs more than it saves.
            torch.set_num_threads(threads or 1)

    def build(self, config: TrainConfig, spec: EnvSpec) -> tuple[Policy, Algorithm]:
        torch.manual_seed(integer_seeds(config.seed, "torch", 1)[0])
        policy = Policy(spec, config.net, generator(config.seed, "init")).to(self.device)
        algorithm: Algorithm = lookup(ALGORITHMS, config.algo.name, "algo.name")(config.algo, policy)
        return policy, algorithm

    def load_policy(self, arrays: dict[str, Array], metadata: dict[str, str]) -> Policy:
        return Policy.from_arrays(arrays, metadata).to(self.device)

    def random_state(self) -> dict[str, Array]:
        """Torch's global generator, which dropout draws from."""
        return {"torch_rng": torch.get_rng_state().numpy()}

    def load_random_state(self, arrays: dict[str, Array]) -> None:
        if "torch_rng" in arrays:  # not in a checkpoint of the other engine
            torch.set_rng_state(torch.from_numpy(arrays["torch_rng"]))


def _choose_device(name: str, *, images: bool) -> torch.device:
    """`auto` takes an accelerator for convolutions only; small networks are faster without."""
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("torch finds no CUDA device here.", where="device", hint="Use device=cpu.")
    if name == "auto":
        name = "cuda" if images and torch.cuda.is_available() else "cpu"
    return torch.device(name)
