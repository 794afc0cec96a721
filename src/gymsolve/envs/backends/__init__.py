"""Backends that serve any environment, each behind the contract of `envs/contract.py`, and their refusals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig, Role

if TYPE_CHECKING:
    from gymsolve.envs.contract import Snapshot
    from gymsolve.spec import Obs


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


class Fixed:
    """Refuses reset options and jumps, for backends that have neither."""

    backend: str
    no_jumps: str
    """Why not, to follow the backend's name."""

    def configure(self, rows: Sequence[int], options: dict[str, Any] | None) -> None:
        if options:
            raise refuse(self.backend, "takes no reset options")

    def snapshots(self, rows: Sequence[int]) -> "list[Snapshot | None]":
        raise refuse(self.backend, self.no_jumps)

    def jump(
        self, rows: Sequence[int], snapshots: "Sequence[Snapshot]", seeds: Sequence[int]
    ) -> "tuple[Obs, None, list[int]]":
        raise refuse(self.backend, self.no_jumps)
