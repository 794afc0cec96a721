"""What only the Python backends can put between an environment and the policy."""

from gymsolve.config import EnvConfig, Role

__all__ = ["bare_obstacle"]


def bare_obstacle(config: EnvConfig, role: Role) -> str | None:
    """Why a backend that steps whole vectors in other code cannot serve these settings, or None."""
    if any(role in wrapper.roles for wrapper in config.wrappers):
        return "it takes no wrappers"
    if config.frame_stack > 1:
        return "it cannot stack frames"
    if config.action_masks == "on" or config.legal_actions is not None:
        return "it has no action masks"
    return None
