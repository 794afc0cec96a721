"""Gymnasium's Box2D environments, two of which keep one physics world over all episodes.

Such a world remembers earlier episodes in the order of its contacts, so the same seed leads elsewhere
after a different past, and a resumed run would drift from the one that was not interrupted. Gymnasium
gives LunarLander a new world in every reset for that reason; here the others get one as well. The
first episode after construction is the stock environment's, bit for bit.
"""

from functools import partial
from typing import Any

import gymnasium as gym

from gymsolve.envs.arguments import SHARE, check_arguments
from gymsolve.envs.families.family import AnyEnv, Family, by_code
from gymsolve.envs.lean import StandIn

_LASTING_WORLDS = frozenset(
    {"gymnasium.envs.box2d.bipedal_walker:BipedalWalker", "gymnasium.envs.box2d.car_racing:CarRacing"}
)

_JOINTS = ("hip 1", "knee 1", "hip 2", "knee 2")
_LANDER = ("x", "y", "velocity x", "velocity y", "angle", "spin", "left leg down", "right leg down")
_ENGINES = {"up": (0, 1.0), "left": (1, -1.0), "right": (1, 1.0)}


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


def _drawn_before(state: int) -> int:
    """Smoke of the lander lives for 24 pictures at most; the walker's beam comes back after 100."""
    return max(0, (state - 24) // 100 * 100)


def _prepare(env: AnyEnv) -> AnyEnv:
    kind = type(env.unwrapped)
    lasting = f"{kind.__module__}:{kind.__qualname__}" in _LASTING_WORLDS
    return FreshWorld(env) if lasting else env


FAMILY = Family(
    "box2d",
    title="Box2D",
    owns=by_code("gymnasium.envs.box2d"),
    arguments=partial(check_arguments, known={"lap_complete_percent": SHARE}),
    prepare=_prepare,
    drawn_before=_drawn_before,
    stand_ins={
        "gymnasium.envs.box2d.lunar_lander:LunarLander": StandIn(
            "gymsolve.envs.families.box2d.lander:LeanLander",
            frozenset({"735ead78769ba69737fe759edc85461a5e137e51b51a3fca024d67c8184d4a79"}),
        )
    },
    envpool=(
        "BipedalWalker-v3",
        "BipedalWalkerHardcore-v3",
        "LunarLander-v3",
        "LunarLanderContinuous-v3",
    ),
    choices={
        "LunarLander": ("coast", "left engine", "main engine", "right engine"),
        "CarRacing": ("coast", "right", "left", "gas", "brake"),
    },
    dimensions={
        "LunarLander": ("main", "side"),
        "LunarLanderContinuous": ("main", "side"),
        "BipedalWalker": _JOINTS,
        "BipedalWalkerHardcore": _JOINTS,
        "CarRacing": ("steer", "gas", "brake"),
    },
    observed={"LunarLander": _LANDER, "LunarLanderContinuous": _LANDER},
    keys={
        "LunarLander": ("", "left", "up", "right"),
        "CarRacing": ("", "right", "left", "up", "down"),
    },
    levers={
        "LunarLander": _ENGINES,
        "LunarLanderContinuous": _ENGINES,
        # The brake locks the wheels when pressed to its end.
        "CarRacing": {"left": (0, -1.0), "right": (0, 1.0), "up": (1, 1.0), "down": (2, 0.8)},
    },
)
