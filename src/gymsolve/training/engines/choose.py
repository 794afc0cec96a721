"""Chooses the engine: NumPy for small networks, torch for everything else.

Both give the same policy file, the same checkpoints and the same numbers up to rounding. Torch is
imported only when it is chosen: its two seconds are more than some trainings take.
"""

import json
import math
import os
from itertools import pairwise

from pydantic import ValidationError

from gymsolve.errors import CheckpointError, ConfigError
from gymsolve.experience.learner import Policy
from gymsolve.fast import supports, why_not
from gymsolve.settings.config import NetConfig, TrainConfig
from gymsolve.spec import Array, EnvSpec
from gymsolve.training.engines.contract import Engine


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


def load_policy(
    arrays: dict[str, Array], metadata: dict[str, str], config: TrainConfig, *, threads: int | None = None
) -> Policy:
    """A saved policy, to act with, on whichever engine starts sooner.

    `config` has the settings of its run. Code that a policy file needs is imported only if they name it; the
    settings of a run from elsewhere come from `runs/trust.py`.
    """
    try:
        spec = EnvSpec.from_json(json.loads(metadata["spec"]))
        net = NetConfig.model_validate_json(metadata["net"])
    except (KeyError, ValueError, RecursionError) as error:
        raise _unreadable(error) from error
    if _least_weights(spec, net) > _WASTE * sum(array.size for array in arrays.values()):
        raise CheckpointError("the weights do not fit the network they describe: it is far larger.")
    plain = metadata.get("kind", "actor_critic") == "actor_critic" and why_not(net, spec) is None
    threads = config.threads if threads is None else threads
    engine = _numpy(threads) if plain else _torch("cpu", threads, spec)
    return engine.load_policy(arrays, metadata, config)


def _unreadable(error: Exception) -> CheckpointError:
    """Why nobody can tell from a policy file what its network is."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the whole"
        if first["type"] == "extra_forbidden":
            return CheckpointError(
                f"the network of these weights has a setting {name[:80]!r} that this gymsolve does not know.",
                hint="They come from another version: upgrade with pip install -U gymsolve.",
            )
        reason = f"{name[:80]}: {first['msg'].lower()}"
    else:
        reason = "it is missing" if isinstance(error, KeyError) else str(error).partition("\n")[0]
    return CheckpointError(f"what the weights say of their network cannot be read ({reason}).")


_WASTE = 64
"""How much larger than its weights a network may look before anybody builds it to compare them."""


def _least_weights(spec: EnvSpec, net: NetConfig) -> int:
    """About as many weights as the first and the widest layer have, for any kind of network."""
    seen = [
        sum(entry.nvec) or math.prod(entry.shape[1:] if entry.kind == "image" else entry.shape)
        for entry in spec.obs.values()
    ]
    first = min(net.hidden[0] if net.hidden else 1, net.embedding_size)
    wide = max((before * after for before, after in pairwise(net.hidden)), default=0)
    seen = [] if net.encoder is not None else seen  # its layers are its own affair
    return max(sum(seen) * first, wide, spec.action.size, spec.action.mask_size)


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
