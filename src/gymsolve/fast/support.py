"""The settings that the NumPy engine can serve; the torch engine serves all others."""

from gymsolve.fast.activations import ACTIVATIONS
from gymsolve.kernels import VARIABLE, find_kernels
from gymsolve.settings.config import NetConfig, TrainConfig
from gymsolve.spec import EnvSpec

ALGORITHMS = ("ppo", "a2c", "reinforce")

WIDEST = 400
"""Units of a layer; torch is as fast for wider ones."""

DEEPEST = 64
"""Layers; `kernels.c` has room for as many."""


def supports(config: TrainConfig, spec: EnvSpec) -> str | None:
    """None when this engine can train `config` on `spec` here; otherwise the reason, to follow "because"."""
    return covers(config, spec) or _without_kernels()


def _without_kernels() -> str | None:
    kernels = find_kernels()
    if kernels.kind == "c":
        return None
    if kernels.obstacle is None:
        return f"it learns with the compiled kernels, which {VARIABLE}=numpy turns off"
    return f"it learns with the compiled kernels, which {kernels.obstacle} ({kernels.fix})"


def covers(config: TrainConfig, spec: EnvSpec) -> str | None:
    """Like `supports`, on any machine: with the compiled kernels."""
    if config.algo.name not in ALGORITHMS:
        return f"algo.name={config.algo.name} has no NumPy version"
    if config.device not in ("auto", "cpu"):
        return f"device={config.device} was asked for"
    if config.imitate is not None:
        return "imitate has no NumPy version"
    archive = config.explore.archive
    if archive is not None and archive.learn_from != "nothing":
        return f"explore.archive.learn_from={archive.learn_from} has no NumPy version"
    return why_not(config.net, spec)


def why_not(config: NetConfig, spec: EnvSpec) -> str | None:
    """Like `supports`, for the network alone."""
    if config.encoder is not None:
        return f"net.encoder={config.encoder.name} is a torch module"
    if config.memory is not None:
        return "net.memory is on"
    if spec.tasks:
        return "it learns several tasks (env.tasks)"
    for key, entry in spec.obs.items():
        if entry.kind == "image":
            return f"the observation {key!r} is an image"
        if entry.kind == "discrete" and config.discrete_obs == "embedding":
            return "net.discrete_obs=embedding learns its own vectors"
    return _why_not_layers(config)


def _why_not_layers(config: NetConfig) -> str | None:
    for name in ("layer_norm", "batch_norm", "dropout"):
        if config.model_dump()[name]:
            return f"net.{name} is on"
    if config.activation not in ACTIVATIONS:
        return f"net.activation={config.activation} has no NumPy version"
    if not config.hidden:
        return "net.hidden is empty"
    if len(config.hidden) > DEEPEST:
        return f"net.hidden has more than {DEEPEST} layers"
    if max(config.hidden) > WIDEST:
        return f"net.hidden has more than {WIDEST} units in a layer"
    return None
