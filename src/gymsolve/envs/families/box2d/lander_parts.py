"""The parts that a LunarLander is built from, defined once per process; the numbers are the stock class's."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from Box2D.b2 import bodyDef, dynamicBody, edgeShape, fixtureDef, polygonShape, staticBody
from gymnasium.envs.box2d.lunar_lander import (
    LANDER_POLY,
    LEG_AWAY,
    LEG_DOWN,
    LEG_H,
    LEG_SPRING_TORQUE,
    LEG_W,
    SCALE,
    VIEWPORT_H,
    VIEWPORT_W,
)

_W, _H = VIEWPORT_W / SCALE, VIEWPORT_H / SCALE


@dataclass(frozen=True)
class Parts:
    """Definitions that every episode is built from; Box2D copies whatever it keeps."""

    moon: Any
    edge: Any
    """The shape in `ground`; its ends are set for each piece of the surface."""
    ground: Any
    lander: Any
    legs: tuple[tuple[Any, dict[str, Any]], ...]
    """The body of each, and what its joint is like."""


@cache
def parts() -> Parts:
    edge = edgeShape(vertices=[(0, 0), (_W, 0)])
    hull = fixtureDef(
        shape=polygonShape(vertices=[(x / SCALE, y / SCALE) for x, y in LANDER_POLY]),
        density=5.0,
        friction=0.1,
        categoryBits=0x0010,
        maskBits=0x001,
        restitution=0.0,
    )
    return Parts(
        bodyDef(type=staticBody, shapes=edgeShape(vertices=[(0, 0), (_W, 0)])),
        edge,
        fixtureDef(shape=edge, density=0, friction=0.1),
        bodyDef(type=dynamicBody, position=(VIEWPORT_W / SCALE / 2, _H), angle=0.0, fixtures=hull),
        (_leg(-1), _leg(+1)),
    )


def _leg(i: int) -> tuple[Any, dict[str, Any]]:
    fixture = fixtureDef(
        shape=polygonShape(box=(LEG_W / SCALE, LEG_H / SCALE)),
        density=1.0,
        restitution=0.0,
        categoryBits=0x0020,
        maskBits=0x001,
    )
    place = (VIEWPORT_W / SCALE / 2 - i * LEG_AWAY / SCALE, _H)
    body = bodyDef(type=dynamicBody, position=place, angle=i * 0.05, fixtures=fixture)
    joint = {
        "localAnchorA": (0, 0),
        "localAnchorB": (i * LEG_AWAY / SCALE, LEG_DOWN / SCALE),
        "enableMotor": True,
        "enableLimit": True,
        "maxMotorTorque": LEG_SPRING_TORQUE,
        "motorSpeed": +0.3 * i,
        "lowerAngle": +0.9 - 0.5 if i == -1 else -0.9,
        "upperAngle": +0.9 if i == -1 else -0.9 + 0.5,
    }
    return body, joint
