"""Chooses the engine: NumPy for small networks, torch for everything else.

Both give the same policy file, the same checkpoints and the same numbers up to rounding. Torch is
imported only when it is chosen: its two seconds are more than some trainings take.
"""

import json
import os

from gymsolve.config import NetConfig, TrainConfig
from gymsolve.errors import ConfigError
from gymsolve.fast import supports, why_not
from gymsolve.spec import Array, EnvSpec
from gymsolve.training.engines.contract import Engine, Policy

__all__ = ["choose_engine", "load_policy"]


def choose_engine(config: TrainConfig, spec: EnvSpec) -> Engine:
    """The engine of `config.engine`; `auto` takes NumPy wherever it can serve."""
    obstacle = supports(config, spec)
    if config.engine == "torch" or (config.engine == "auto" and obstacle is not None):
        return _torch(config.device, config.threads, spec)
    if obstacle is not None:
        raise ConfigError(
            f"NumPy cannot serve this run: {obstacle}.", where="engine", hint="Use engine=auto."
        )
    return _numpy(config.threads)


def load_policy(arrays: dict[str, Array], metadata: dict[str, str], *, threads: int = 0) -> Policy:
    """A saved policy, to act with, on whichever engine starts sooner."""
    spec = EnvSpec.from_json(json.loads(metadata["spec"]))
    fits = why_not(NetConfig.model_validate_json(metadata["net"]), spec) is None
    engine = _numpy(threads) if fits else _torch("cpu", threads, spec)
    return engine.load_policy(arrays, metadata)


_SPINS = "2000"
"""Rounds (some microseconds) for which a torch thread waits for more work before it gives its core away.

The default is some milliseconds, which the environments would lose: it is their turn then.
"""


def _torch(device: str, threads: int, spec: EnvSpec) -> Engine:
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)  # read when torch is first imported
    from gymsolve.training.engines.torch_engine import TorchEngine

    return TorchEngine(device, threads, spec)


def _numpy(threads: int) -> Engine:
    from gymsolve.training.engines.numpy_engine import NumpyEngine

    return NumpyEngine(threads)
