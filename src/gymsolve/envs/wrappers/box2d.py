"""Box2D environments that keep one physics world for life.

Such a world remembers earlier episodes in the order of its contacts, so the same seed leads elsewhere
after a different past, and a resumed run would drift from the one that was not interrupted. Gymnasium
gives LunarLander a new world in every reset for that reason; here the others get one as well. The
first episode after construction is the stock environment's, bit for bit.
"""

from typing import Any

import gymnasium as gym

__all__ = ["FreshWorld", "keeps_its_world"]

_LASTING_WORLDS = frozenset(
    {"gymnasium.envs.box2d.bipedal_walker:BipedalWalker", "gymnasium.envs.box2d.car_racing:CarRacing"}
)


def keeps_its_world(env: gym.Env[Any, Any]) -> bool:
    """Is this one of the environments known to need it?"""
    kind = type(env.unwrapped)
    return f"{kind.__module__}:{kind.__qualname__}" in _LASTING_WORLDS


class FreshWorld(gym.Wrapper[Any, Any, Any, Any]):
    """Puts a new world under the environment before each reset."""

    changes_reward = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        inner: Any = self.env.unwrapped
        inner._destroy()  # bodies go with the world they are in; doing it again in reset is harmless
        inner.world = type(inner.world)(gravity=inner.world.gravity)
        return self.env.reset(seed=seed, options=options)
