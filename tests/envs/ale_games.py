"""Atari games as ALE's vector class can serve them: settings that tests share."""

from typing import Any

from gymsolve.settings.config import EnvConfig

__all__ = ["CALM", "STOCK", "config_of"]

STOCK = {"frameskip": 1, "obs_type": "grayscale"}
CALM = STOCK | {"repeat_action_probability": 0.0}


def config_of(game: str = "Breakout", **more: Any) -> EnvConfig:
    settings = {"kwargs": CALM, "wrappers": [{"atari": {"noop_max": 0}}], "frame_stack": 4, "num_envs": 2}
    return EnvConfig.model_validate({"id": f"ALE/{game}-v5", **settings, **more})
