"""What a fault is, and how its settings are written down.

`names` are alerts that a reader would act on rightly: one of them first is a root cause found. `shows` are
symptoms that this fault really has; with one of those alone it was noticed, but not understood.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gymsolve.settings.config import TrainConfig

__all__ = [
    "NOT_LEARNING",
    "NOT_MOVING",
    "TOO_FAR",
    "TRIO",
    "WRAPPERS",
    "Fault",
    "Settings",
    "fixed",
    "wrapped",
]

Settings = dict[str, Any]
TRIO = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
TOO_FAR = ("kl_shock", "kl_extreme", "kl_high", "clip_extreme", "clip_high")
NOT_MOVING = ("policy_frozen", "step_tiny", "clip_unused", "churn_dead")
NOT_LEARNING = ("return_flat", "ev_zero", "ev_negative", "entropy_stuck", "policy_frozen", "return_fell")
WRAPPERS = "benchmarks.doctor.wrappers"


@dataclass(frozen=True)
class Fault:
    """One mistake that people make; or none, if no alert names it: nothing may be found then."""

    name: str
    about: str
    names: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    settings: Callable[[TrainConfig], Settings] = lambda config: {}
    patch: str = ""
    """A key of `patches.PATCHES`."""
    envs: tuple[str, ...] = TRIO


def fixed(**settings: Any) -> Callable[[TrainConfig], Settings]:
    """`algo__gamma=1` sets algo.gamma."""
    return lambda config: {path.replace("__", "."): value for path, value in settings.items()}


def wrapped(name: str, more: Settings | None = None, **options: Any) -> Callable[[TrainConfig], Settings]:
    def settings(config: TrainConfig) -> Settings:
        path = name if "." not in name and name.islower() else f"{WRAPPERS}:{name}"
        own = [wrapper.model_dump() for wrapper in config.env.wrappers]
        return {"env.wrappers": [*own, {path: options} if options else path], **(more or {})}

    return settings
