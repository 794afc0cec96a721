"""Translates a recipe's wrappers for ALE's vector class: `atari`, and others that it can stand in for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gymsolve.envs.families.atari.actions import AtariActions, choose_actions
from gymsolve.envs.families.atari.lives import EpisodicLife
from gymsolve.envs.families.atari.wrapper import Atari, AtariOptions, stock_fault
from gymsolve.envs.options import Planned, check_wrappers
from gymsolve.envs.wrappers.rewards import ClipReward
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import Array

_TAKEN = {
    "frameskip",
    "obs_type",
    "repeat_action_probability",
    "full_action_space",
    "max_num_frames_per_episode",
}


def ale_obstacle(config: EnvConfig, role: Role) -> str | None:
    """Why ALE's vector class cannot serve this role, or None."""
    kinds = [planned.wrapper for planned in check_wrappers(config, role)]
    others = (AtariActions, ClipReward, EpisodicLife)
    if kinds[:1] != [Atari] or not set(kinds[1:]) <= set(others) or len(set(kinds)) < len(kinds):
        served = (
            "it serves the wrapper atari, alone or followed by atari_actions, episodic_life and clip_reward"
        )
        return f"{served}, and nothing else"
    if config.action_masks == "on" or config.legal_actions is not None:
        return "it has no action masks"
    if fault := stock_fault(config.kwargs):
        return f"it needs {fault}, as the wrapper atari does"
    unknown = set(config.kwargs) - _TAKEN
    return f"it does not take {', '.join(sorted(unknown))}" if unknown else None


@dataclass(frozen=True)
class ScreenPlan:
    """The settings of the vector class that stand in for the wrappers of a role."""

    options: AtariOptions
    lives: bool
    """A lost life ends an episode."""
    clip: Callable[[Array], Array] | None
    """Clips the rewards of all environments."""
    actions: Planned | None

    @classmethod
    def of(cls, config: EnvConfig, role: Role) -> "ScreenPlan":
        screen, *others = check_wrappers(config, role)
        by_kind = {planned.wrapper: planned for planned in others}
        clip = by_kind.get(ClipReward)
        return cls(
            AtariOptions(**screen.options),
            EpisodicLife in by_kind,
            None if clip is None else _clipping(clip.options),
            by_kind.get(AtariActions),
        )

    def choose(self, known: list[str]) -> Array | None:
        """The numbers of the offered actions among the game's own; None for all of them."""
        if self.actions is None:
            return None
        try:
            return np.array(choose_actions(known, self.actions.options["names"]))
        except ValueError as error:
            raise ConfigError(str(error), where=self.actions.where) from error


def _clipping(options: dict[str, Any]) -> Callable[[Array], Array]:
    """Clips rewards of all environments as `ClipReward` with these options does."""
    if options.get("sign", False):
        return np.sign
    return partial(np.clip, a_min=options.get("low", -1.0), a_max=options.get("high", 1.0))
