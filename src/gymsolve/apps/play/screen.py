"""Sends pictures to the page, one at a time, each when it is due; tables where there is no picture.

A picture that is due while another is on its way is left out. The newest state is always shown in the end.
"""

import io
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from gymsolve.apps.serve import Talk
from gymsolve.envs.render_env import PlayEnv, Scene
from gymsolve.errors import EnvFaultError
from gymsolve.spec import Array, ObsSpec

_QUALITY = 80
_MOST_ROWS = 64


class Screen:
    """The page's view of an environment."""

    def __init__(self, channel: Talk, render_env: PlayEnv, facts: Callable[[], dict[str, Any]]) -> None:
        """`facts` are sent with every picture."""
        self._channel, self._render_env, self._facts = channel, render_env, facts
        self.undrawn = render_env.undrawn
        """The reason for a table instead of a picture; None where there is a picture."""
        self._count = 0
        self._under_way = self._unseen = False
        self._film: deque[tuple[float, Array]] = deque()

    def acknowledge(self) -> None:
        """Note that the page has shown the last picture."""
        self._under_way = False

    def wait(self) -> float | None:
        """Seconds until a picture is due; None where there is none to wait for."""
        if not self._film or self._under_way:
            return None
        return max(0.0, self._film[0][0] - time.monotonic())

    def plan(self, scene: Scene, due: float, period: float) -> None:
        """Plan the frames of a step: they are shown from when it was due until the next one is."""
        frames = [] if self.undrawn is not None else list(scene.between)
        apart = period / (len(frames) + 1)
        self._film = deque((due + number * apart, frame) for number, frame in enumerate(frames))
        if frames:
            self._film.append((due + len(frames) * apart, self._render_env.render()))
        self._unseen = True

    def show(self, scene: Scene, *, hurry: bool = False) -> None:
        """Send the newest picture that is due, or in a `hurry` the last, unless one is on its way."""
        if self._under_way:
            return
        frame, now = None, time.monotonic()
        while self._film and (self._film[0][0] <= now or hurry):
            frame = self._film.popleft()[1]
        if frame is not None or (self._unseen and not self._film):
            self._send(scene, frame)

    def _send(self, scene: Scene, frame: Array | None) -> None:
        """Send a picture, by default of the current state, or the table instead of one."""
        self._count += 1
        self._under_way, self._unseen = True, False
        message = {"type": "frame", "frame": self._count, **self._facts()}
        if self.undrawn is None:
            try:
                blob = _encode(self._render_env.render() if frame is None else frame)
            except EnvFaultError as error:
                self.undrawn = error.message
                self._channel.send({"type": "note", "text": error.args[0], "hint": error.hint})
            else:
                self._channel.send(message, blob)
                return
        if self._render_env.writes:
            message["text"] = self._render_env.write()
        else:
            message["table"] = _tabulate(self._render_env, scene)
        self._channel.send({**message, "undrawn": self.undrawn})


def _encode(frame: Array) -> bytes:
    """A picture [H, W, 3] as JPEG."""
    held = io.BytesIO()
    try:
        Image.fromarray(np.ascontiguousarray(frame)).save(held, "JPEG", quality=_QUALITY)
    except (ValueError, OSError, TypeError) as error:
        raise EnvFaultError(
            f"a picture of shape {frame.shape} cannot be encoded: {error}.",
            hint="render() should return an array [height, width, 3] of uint8, up to 65,000 pixels wide.",
        ) from error
    return held.getvalue()


def _tabulate(render_env: PlayEnv, scene: Scene) -> list[list[str]]:
    """Names and values of an observation, for environments without a picture."""
    rows: list[list[str]] = []
    for entry, spec in render_env.spec.obs.items():
        values = np.ravel(scene.obs[entry][0])
        names = render_env.obs_names if entry == "obs" else ()
        for place, value in enumerate(values[:_MOST_ROWS]):
            name = names[place] if names else entry if values.size == 1 else f"{entry} {place}"
            rows.append([name, _format(float(value), spec, place)])
        if values.size > _MOST_ROWS:
            rows.append([entry, f"and {values.size - _MOST_ROWS} more numbers"])
    return rows


def _format(value: float, spec: ObsSpec, place: int) -> str:
    if spec.kind == "discrete":
        return str(int(value) + (spec.start[place] if spec.start else 0))
    return f"{value:.4g}" if math.isfinite(value) else str(value)
