"""A quicker LunarLander with the stock class's results, bit for bit.

Stock spends two thirds of a step around `world.Step`: vectors fetched twice, NumPy calls on single numbers,
checks. This class makes the same Box2D calls with the same numbers in the same order, by the same operations
on the same floats; it defines bodies once per process instead of in every episode. It cannot draw: the stock
class makes pictures. `envs/lean.py` says when this class stands in for it.
"""

import math
from itertools import pairwise
from math import sqrt
from typing import Any

import gymnasium as gym
import numpy as np
from Box2D._Box2D import b2Body___GetAngle as get_angle
from Box2D._Box2D import b2Body___GetAngularVelocity as get_spin
from Box2D._Box2D import b2Body___IsAwake as is_awake
from Box2D._Box2D import b2Body_ApplyForceToCenter as push
from Box2D._Box2D import b2Body_ApplyLinearImpulse as kick
from Box2D._Box2D import b2Body_ApplyTorque as twist_by
from Box2D._Box2D import b2Vec2_x_get as get_x
from Box2D._Box2D import b2Vec2_y_get as get_y
from Box2D._Box2D import b2World_Step as advance
from Box2D.b2 import revoluteJointDef, world
from gymnasium.envs.box2d.lunar_lander import (
    FPS,
    INITIAL_RANDOM,
    LEG_DOWN,
    MAIN_ENGINE_POWER,
    MAIN_ENGINE_Y_LOCATION,
    SCALE,
    SIDE_ENGINE_AWAY,
    SIDE_ENGINE_HEIGHT,
    SIDE_ENGINE_POWER,
    VIEWPORT_H,
    VIEWPORT_W,
    ContactDetector,
    LunarLander,
)

from gymsolve.envs.families.box2d.lander_parts import Parts, parts

_W, _H = VIEWPORT_W / SCALE, VIEWPORT_H / SCALE
_CHUNKS = 11
_PAD = _CHUNKS // 2
_CHUNK_X = [_W / (_CHUNKS - 1) * i for i in range(_CHUNKS)]
_HELIPAD_Y = _H / 4
_HALF_W, _HALF_H = VIEWPORT_W / SCALE / 2, VIEWPORT_H / SCALE / 2
_REST_Y = _HELIPAD_Y + LEG_DOWN / SCALE
_MAIN_Y = MAIN_ENGINE_Y_LOCATION / SCALE
_PERIOD = 1.0 / FPS
_WHOLE = (int, np.int64)
_FLOAT32 = np.dtype(np.float32)


class _Contacts(ContactDetector):
    """Box2D asks Python about every contact in every step; the stock listener sends that back to C++."""

    def PreSolve(self, contact: Any, old: Any) -> None: ...  # noqa: N802

    def PostSolve(self, contact: Any, impulse: Any) -> None: ...  # noqa: N802


class LeanLander(LunarLander):
    """Steps like its parent, which still handles unusual actions."""

    lander: Any
    moon: Any
    prev_shaping: Any
    wind_idx: Any
    torque_idx: Any
    _np_random: Any
    _held: tuple[Any, ...]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        gym.Env.reset(self, seed=seed)
        rng = self.np_random
        # A world takes all its bodies with it, so that nothing held of them may be touched from here on.
        self._held = ()
        self.world = world(gravity=(0, self.gravity))
        self.world.contactListener_keepref = _Contacts(self)  # type: ignore[no-untyped-call]
        self.world.contactListener = self.world.contactListener_keepref
        self.game_over = False
        self.prev_shaping = None
        self.helipad_x1, self.helipad_x2 = _CHUNK_X[_PAD - 1], _CHUNK_X[_PAD + 1]
        self.helipad_y = _HELIPAD_Y
        made = parts()
        self._raise_moon(made, rng.uniform(0, _H / 2, size=(_CHUNKS + 1,)))
        self.lander = self.world.CreateBody(made.lander)
        force = rng.uniform(-INITIAL_RANDOM, INITIAL_RANDOM), rng.uniform(-INITIAL_RANDOM, INITIAL_RANDOM)
        self.lander.ApplyForceToCenter(force, True)
        if self.enable_wind:
            self.wind_idx = int(rng.integers(-9999, 9999))
            self.torque_idx = int(rng.integers(-9999, 9999))
        self.legs = [self._attach_leg(*leg) for leg in made.legs]
        self.drawlist = [self.lander, *self.legs]
        self._held = self._hold()
        return self.step(np.zeros(2) if self.continuous else 0)[0], {}

    def _raise_moon(self, made: Parts, heights: Any) -> None:
        heights[_PAD - 2 : _PAD + 3] = _HELIPAD_Y
        height = heights.tolist()
        ground = [0.33 * (height[i - 1] + height[i + 0] + height[i + 1]) for i in range(_CHUNKS)]
        points = list(zip(_CHUNK_X, ground, strict=True))
        self.moon = self.world.CreateBody(made.moon)
        edge, fixture = made.edge, made.ground
        self.sky_polys = []
        for p1, p2 in pairwise(points):
            edge.vertex1, edge.vertex2 = p1, p2
            self.moon.CreateFixture(fixture)
            self.sky_polys.append([p1, p2, (p2[0], _H), (p1[0], _H)])

    def _attach_leg(self, body: Any, joint: dict[str, Any]) -> Any:
        leg = self.world.CreateBody(body)
        leg.ground_contact = False
        # Anew each time: making the definition looks at the angles of the bodies.
        leg.joint = self.world.CreateJoint(revoluteJointDef(bodyA=self.lander, bodyB=leg, **joint))
        return leg

    def _hold(self) -> tuple[Any, ...]:
        """The objects that a step needs, as Box2D's functions take them; they would look them up otherwise.

        Place and speed are references that Box2D gives out for as long as the body lives.
        """
        lander = self.lander
        place, speed = lander.position.this, lander.linearVelocity.this
        return lander.this, place, speed, self.world.this, *self.legs

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self.continuous:
            main, direction, side = _throttles(action)
        elif type(action) in _WHOLE and 0 <= action < 4:
            main, direction, side = _ENGINES[action]
        else:
            # It refuses that, or knows more kinds of whole numbers.
            return super().step(action)  # type: ignore[no-untyped-call, no-any-return]
        lander, place, speed, space, left, right = self._held
        if self.enable_wind and not (left.ground_contact or right.ground_contact):
            self._blow(lander)
        random = self._np_random.random
        # uniform(-1, 1) is -1 + 2 × random(), and doubling is exact.
        spread = (-1.0 + 2.0 * random()) / SCALE, (-1.0 + 2.0 * random()) / SCALE
        if main:
            _fire_main(lander, place, main, spread)
        if side:
            _fire_side(lander, place, direction, side, spread)
        advance(space, _PERIOD, 6 * 30, 2 * 30)
        x, y = (get_x(place) - _HALF_W) / _HALF_W, (get_y(place) - _REST_Y) / _HALF_H
        vx, vy = get_x(speed) * _HALF_W / FPS, get_y(speed) * _HALF_H / FPS
        angle, turn = get_angle(lander), 20.0 * get_spin(lander) / FPS
        left_down, right_down = 1.0 if left.ground_contact else 0.0, 1.0 if right.ground_contact else 0.0
        distance, pace = sqrt(x * x + y * y), sqrt(vx * vx + vy * vy)
        shaping = -100 * distance - 100 * pace - 100 * abs(angle) + 10 * left_down + 10 * right_down
        reward = 0.0 if self.prev_shaping is None else shaping - self.prev_shaping
        self.prev_shaping = shaping
        reward = reward - main * 0.30 - side * 0.03
        terminated = self.game_over or abs(x) >= 1.0
        if terminated:
            reward = -100
        if not is_awake(lander):
            terminated, reward = True, 100
        state = np.array((x, y, vx, vy, angle, turn, left_down, right_down), _FLOAT32)
        return state, reward, terminated, False, {}

    def _blow(self, lander: Any) -> None:
        wind = math.tanh(math.sin(0.02 * self.wind_idx) + (math.sin(math.pi * 0.01 * self.wind_idx)))
        self.wind_idx += 1
        push(lander, (wind * self.wind_power, 0.0), True)
        twist = math.tanh(math.sin(0.02 * self.torque_idx) + (math.sin(math.pi * 0.01 * self.torque_idx)))
        self.torque_idx += 1
        twist_by(lander, twist * self.turbulence_power, True)


_ENGINES = ((0.0, 0, 0.0), (0.0, -1, 1.0), (1.0, 0, 0.0), (0.0, 1, 1.0))
"""By discrete action: power of the main engine, direction and power of the side engines."""


def _throttles(action: Any) -> tuple[float, int, float]:
    """The same for a continuous action."""
    first, second = np.asarray(action).tolist()
    main = (min(first, 1.0) + 1.0) * 0.5 if first > 0.0 else 0.0
    if not abs(second) > 0.5:  # also when it is not a number
        return main, 0, 0.0
    return main, 1 if second > 0 else -1, min(abs(second), 1.0)


def _fire_main(lander: Any, place: Any, power: float, spread: tuple[float, float]) -> None:
    angle = get_angle(lander)
    tip_x, tip_y = math.sin(angle), math.cos(angle)
    reach = _MAIN_Y + 2 * spread[0]
    ox = tip_x * reach + -tip_y * spread[1]
    oy = -tip_y * reach - tip_x * spread[1]
    impulse = -ox * MAIN_ENGINE_POWER * power, -oy * MAIN_ENGINE_POWER * power
    kick(lander, impulse, (get_x(place) + ox, get_y(place) + oy), True)


def _fire_side(lander: Any, place: Any, direction: int, power: float, spread: tuple[float, float]) -> None:
    angle = get_angle(lander)
    tip_x, tip_y = math.sin(angle), math.cos(angle)
    reach = 3 * spread[1] + direction * SIDE_ENGINE_AWAY / SCALE
    ox = tip_x * spread[0] + -tip_y * reach
    oy = -tip_y * spread[0] - tip_x * reach
    impulse = -ox * SIDE_ENGINE_POWER * power, -oy * SIDE_ENGINE_POWER * power
    # 17 where one expects the engine's height, as in the stock class.
    x, y = get_x(place) + ox - tip_x * 17 / SCALE, get_y(place) + oy + tip_y * SIDE_ENGINE_HEIGHT / SCALE
    kick(lander, impulse, (x, y), True)
