"""How to put a stock environment where a copy of EnvPool has just begun, from what that copy shows.

EnvPool cannot be put anywhere, but what it shows after a reset tells the whole state of these environments.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PLACERS"]

Shown = dict[str, Any]
Placer = Callable[[Any, np.ndarray, Shown], None]


def _place(robot: Any, positions: list[Any], speeds: Any) -> None:
    robot.set_state(np.concatenate([np.atleast_1d(one) for one in positions]).astype(float), speeds)


def _planar(joints: int) -> Placer:
    """Robots whose observation begins with all positions but the way they came."""

    def place(robot: Any, seen: np.ndarray, shown: Shown) -> None:
        _place(robot, [shown.get("x_position", 0.0), seen[:joints]], seen[joints : joints + robot.model.nv])

    return place


def _spatial(joints: int) -> Placer:
    def place(robot: Any, seen: np.ndarray, shown: Shown) -> None:
        where = [shown.get("x_position", 0.0), shown.get("y_position", 0.0)]
        _place(robot, [*where, seen[:joints]], seen[joints : joints + robot.model.nv])

    return place


def _pole(robot: Any, seen: np.ndarray, shown: Shown) -> None:
    _place(robot, [seen[:2]], seen[2:4])


def _poles(robot: Any, seen: np.ndarray, shown: Shown) -> None:
    _place(robot, [seen[0], np.arctan2(seen[1:3], seen[3:5])], seen[5:8])


def _reacher(robot: Any, seen: np.ndarray, shown: Shown) -> None:
    _place(robot, [np.arctan2(seen[2:4], seen[:2]), seen[4:6]], np.array([*seen[6:8], 0.0, 0.0]))


def _pusher(robot: Any, seen: np.ndarray, shown: Shown) -> None:
    robot.set_state(np.zeros(robot.model.nq), np.zeros(robot.model.nv))
    moved = [
        seen[place : place + 2] - robot.get_body_com(body)[:2]
        for place, body in ((17, "object"), (20, "goal"))
    ]
    # The files name the sideways slide of both before the other one.
    order = [robot.model.joint(name).qposadr[0] for name in ("obj_slidey", "obj_slidex")]
    positions = np.zeros(robot.model.nq)
    positions[:7] = seen[:7]
    positions[order] = moved[0][[1, 0]]
    goal = [robot.model.joint(name).qposadr[0] for name in ("goal_slidey", "goal_slidex")]
    positions[goal] = moved[1][[1, 0]]
    robot.set_state(positions, np.array([*seen[7:14], 0.0, 0.0, 0.0, 0.0]))


def _given(game: Any, seen: np.ndarray, shown: Shown) -> None:
    game.state = seen.astype(np.float64)


def _pendulum(game: Any, seen: np.ndarray, shown: Shown) -> None:
    game.state = np.array([np.arctan2(seen[1], seen[0]), seen[2]], dtype=np.float64)


def _acrobot(game: Any, seen: np.ndarray, shown: Shown) -> None:
    angles = np.arctan2(seen[1], seen[0]), np.arctan2(seen[3], seen[2])
    game.state = np.array([*angles, *seen[4:]], dtype=np.float64)


PLACERS: dict[str, Placer] = {
    "Acrobot-v1": _acrobot,
    "Ant-v5": _spatial(13),
    "CartPole-v1": _given,
    "HalfCheetah-v5": _planar(8),
    "Hopper-v5": _planar(5),
    "Humanoid-v5": _spatial(22),
    "HumanoidStandup-v5": _spatial(22),
    "InvertedDoublePendulum-v5": _poles,
    "InvertedPendulum-v5": _pole,
    "MountainCar-v0": _given,
    "MountainCarContinuous-v0": _given,
    "Pendulum-v1": _pendulum,
    "Pusher-v5": _pusher,
    "Reacher-v5": _reacher,
    "Swimmer-v5": _spatial(3),
    "Walker2d-v5": _planar(8),
}
