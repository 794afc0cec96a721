"""Ways to step environments, each behind the contract of `contract.py`, and what some of them cannot do."""

from gymsolve.config import EnvConfig, Role
from gymsolve.errors import ConfigError

__all__ = ["bare_obstacle", "refuse"]


def bare_obstacle(config: EnvConfig, role: Role) -> str | None:
    """Why a backend that steps whole vectors in other code cannot serve these settings, or None."""
    if any(role in wrapper.roles for wrapper in config.wrappers):
        return "it takes no wrappers"
    if config.frame_stack > 1:
        return "it cannot stack frames"
    if config.action_masks == "on" or config.legal_actions is not None:
        return "it has no action masks"
    return None


def refuse(backend: str, what: str) -> ConfigError:
    """The error about something in the contract that a backend cannot do."""
    return ConfigError(
        f"the {backend} backend {what}.",
        where="env.backend",
        hint="Use sync or async: --set env.backend=sync.",
    )
