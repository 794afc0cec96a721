"""A policy → a video, and what it shows.

Recording is evaluation with a camera: the same wrappers, masks and frozen statistics, the likeliest
actions unless told otherwise, and the seed of the first evaluation episode.
"""

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.apps.playback import Moment, play
from gymsolve.apps.video.canvas import Canvas, plan_canvas
from gymsolve.apps.video.encoding import Film
from gymsolve.apps.video.overlay import OverlayStyle, describe, draw_panel
from gymsolve.envs.render_env import RenderEnv
from gymsolve.experience.learner import Policy
from gymsolve.runs.loading import Checkpoint
from gymsolve.runs.run import now
from gymsolve.seeding import generator, integer_seeds

_HOLD = 0.8
"""Seconds for which the last frame of an episode stays."""


@dataclass(frozen=True)
class Order:
    """What a video should show."""

    seed: int
    """The run's seed, or another; it decides the episodes as `eval --seed` does."""
    episodes: int = 1
    deterministic: bool = True
    min_seconds: float = 0.0
    """Length of the video below which further whole episodes follow."""
    max_seconds: float = 20.0
    """Length of the video at which it ends, be it within an episode."""
    most_fps: float = 60.0
    """Frames per second above which steps are left out."""
    size: tuple[int, int] | None = None
    out_fps: float | None = None
    style: OverlayStyle = field(default_factory=OverlayStyle)
    patience: float = math.inf
    """Seconds of real time after which the recording ends likewise."""

    @property
    def env_seed(self) -> int:
        """The seed of the first copy in an evaluation."""
        return integer_seeds(self.seed, "eval", 1, 0)[0]

    def rng(self) -> np.random.Generator | None:
        """What samples actions, from its start; None where the likeliest are taken."""
        return None if self.deterministic else generator(self.seed, "eval", 0, 1)


class Camera:
    """Turns moments into pictures."""

    def __init__(self, policy: Policy, stage: RenderEnv, style: OverlayStyle, canvas: Canvas) -> None:
        self.policy, self.stage, self.style, self.canvas = policy, stage, style, canvas

    def picture(self, moment: Moment, episodes: int) -> Any:
        """The stage as it stands, which must be at this moment: uint8 [height, width, 3]."""
        panel = None
        if self.style.show:
            asked = "value" in self.style.show
            value = float(self.policy.values(moment.scene.obs, moment.memory)[0]) if asked else None
            told = describe(moment, self.stage.labels, value, episodes)
            panel = draw_panel(
                told,
                self.style,
                self.canvas.width,
                self.canvas.panel,
                highlight=("return", "step") if moment.over else (),
            )
        return self.canvas.compose(self.stage.render(), panel)


def film_episodes(
    policy: Policy,
    stage: RenderEnv,
    path: Path,
    order: Order,
    on_moment: Callable[[Moment], None] = lambda moment: None,
) -> dict[str, Any]:
    """Play and film episodes into an mp4; the facts of what it shows.

    `on_moment` hears of every step, also of those that are not shown; what it raises ends the recording
    and leaves no file.
    """
    began = time.perf_counter()
    stride = stride_for(stage.fps, order.most_fps)
    moments = play(policy, stage, seed=order.env_seed, rng=order.rng())
    first = next(moments)
    canvas = plan_canvas(
        stage.render().shape,
        panel_share=order.style.panel_share,
        background=order.style.background,
        size=order.size,
    )
    camera = Camera(policy, stage, order.style, canvas)
    shown: dict[int, Moment] = {}
    cut_by = ""
    fps = stage.fps / stride
    with Film(path, canvas.width, canvas.height, fps, out_fps=order.out_fps) as film:
        for moment in itertools.chain([first], moments):
            on_moment(moment)
            shown[moment.episode] = moment
            if moment.over or moment.step % stride == 0:
                film.add(camera.picture(moment, order.episodes), math.ceil(fps * _HOLD) if moment.over else 1)
            spent = time.perf_counter() - began
            # An episode more gets the other half of the patience.
            enough = film.seconds >= order.min_seconds or spent > order.patience / 2
            if moment.over and moment.episode >= order.episodes and enough:
                break
            if film.seconds >= order.max_seconds:
                cut_by = "its length limit"
            elif spent > order.patience:
                cut_by = f"drawing took longer than {order.patience:.3g} s"
            if cut_by:
                break
    complete = len(shown) >= order.episodes and all(moment.over for moment in shown.values())
    return {
        **_score([episode_facts(moment) for moment in shown.values()]),
        "complete": complete,
        "cut_by": "" if complete else cut_by,
        "seed": order.seed,
        "deterministic": order.deterministic,
        **picture_facts(film, order.out_fps),
        "time": now(),
        "recording_seconds": round(time.perf_counter() - began, 3),
    }


def picture_facts(film: Film, out_fps: float | None) -> dict[str, Any]:
    """What a player will find in the file."""
    return {
        "fps": out_fps or film.fps,
        "seconds": round(film.seconds, 3),
        "width": film.width,
        "height": film.height,
    }


def identify(saved: Checkpoint) -> dict[str, Any]:
    """Which policy a video shows; the digest tells two of the same step apart."""
    return {
        "checkpoint": saved.name,
        "env_steps": int(saved.meta["env_steps"]),
        "policy_sha256": saved.meta["files"]["policy.safetensors"]["sha256"],
    }


def stride_for(fps: float, most: float) -> int:
    """The number of steps per shown frame that keeps frames per second within the limit."""
    return max(1, math.ceil(fps / most - 1e-9))


def episode_facts(moment: Moment) -> dict[str, Any]:
    """How far an episode came, and what ended it."""
    end = "terminated" if moment.scene.terminated else "truncated" if moment.scene.truncated else "cut"
    return {"return": moment.scene.raw_return, "length": moment.step, "end": end}


def _score(played: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean return of the episodes that were shown to their end; of all when there is none."""
    whole = [one for one in played if one["end"] != "cut"] or played
    return {"return": sum(one["return"] for one in whole) / len(whole), "episodes": played}
