"""The NumPy engine: small networks on the CPU, without torch."""

from collections.abc import Sequence
from typing import Any

from gymsolve.fast import FastAlgorithm, FastPolicy, build, set_blas_threads
from gymsolve.kernels import find_kernels
from gymsolve.parts import Part
from gymsolve.seeding import generator
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import Array, EnvSpec


class NumpyEngine(Part):
    """Hand-derived gradients over one flat buffer; every draw comes from the trainer's own streams."""

    name = "numpy"
    measured = ""
    on_gpu = False

    def __init__(self, threads: int) -> None:
        self.threads = threads or 1
        set_blas_threads(self.threads)
        self.kernels: str | None = find_kernels().kind

    def build(self, config: TrainConfig, spec: EnvSpec, auxiliaries: Sequence[Any] = ()) -> FastAlgorithm:
        assert not auxiliaries, "`supports` names them as an obstacle"
        return build(config, spec, generator(config.seed, "init"))

    def load_policy(
        self, arrays: dict[str, Array], metadata: dict[str, str], config: TrainConfig
    ) -> FastPolicy:
        return FastPolicy.from_arrays(arrays, metadata)
