"""Films a policy, and describes the video.

Recording is evaluation with a camera: the same wrappers, masks and frozen statistics, the likeliest
actions by default, and the seed of the first evaluation episode.
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
"""The last frame of an episode stays for so many seconds."""


@dataclass(frozen=True)
class Order:
    """Settings of a video."""

    seed: int
    """The run's seed, or another; it decides the episodes as in `eval --seed`."""
    episodes: int = 1
    deterministic: bool = True
    min_seconds: float = 0.0
    """A shorter video gets further whole episodes."""
    max_seconds: float = 20.0
    """The video ends after so many seconds, even within an episode."""
    most_fps: float = 60.0
    """The most frames per second; steps beyond them are left out."""
    size: tuple[int, int] | None = None
    out_fps: float | None = None
    style: OverlayStyle = field(default_factory=OverlayStyle)
    patience: float = math.inf
    """The recording ends after so many seconds of real time, too."""

    @property
    def env_seed(self) -> int:
        """The seed of the first copy in an evaluation."""
        return integer_seeds(self.seed, "eval", 1, 0)[0]

    def rng(self) -> np.random.Generator | None:
        """A new generator that samples actions; None where the likeliest are taken."""
        return None if self.deterministic else generator(self.seed, "eval", 0, 1)


class Camera:
    """Turns moments into pictures."""

    def __init__(self, policy: Policy, render_env: RenderEnv, style: OverlayStyle, canvas: Canvas) -> None:
        self.policy, self.render_env, self.style, self.canvas = policy, render_env, style, canvas

    def picture(self, moment: Moment, episodes: int) -> Any:
        """A picture of the environment, which is in this moment: uint8 [height, width, 3]."""
        panel = None
        if self.style.show:
            asked = "value" in self.style.show
            value = float(self.policy.values(moment.scene.obs, moment.memory)[0]) if asked else None
            texts = describe(moment, self.render_env.labels, value, episodes)
            bright = ("return", "step") if moment.over else ()
            panel = draw_panel(texts, self.style, self.canvas.width, self.canvas.panel, highlight=bright)
        return self.canvas.compose(self.render_env.render(), panel)


def film_episodes(
    policy: Policy,
    render_env: RenderEnv,
    path: Path,
    order: Order,
    on_moment: Callable[[Moment], None] = lambda moment: None,
) -> dict[str, Any]:
    """Play and film episodes into an mp4; returns facts about the video.

    `on_moment` gets every step, even those that are not shown; an error that it raises ends the recording and
    leaves no file.
    """
    began = time.perf_counter()
    stride = stride_for(render_env.fps, order.most_fps)
    moments = play(policy, render_env, seed=order.env_seed, rng=order.rng())
    first = next(moments)
    canvas = plan_canvas(
        render_env.render().shape,
        panel_share=order.style.panel_share,
        background=order.style.background,
        size=order.size,
    )
    camera = Camera(policy, render_env, order.style, canvas)
    last: dict[int, Moment] = {}
    cut_by = ""
    fps = render_env.fps / stride
    with Film(path, canvas.width, canvas.height, fps, out_fps=order.out_fps) as film:
        for moment in itertools.chain([first], moments):
            on_moment(moment)
            last[moment.episode] = moment
            if moment.over or moment.step % stride == 0:
                film.add(camera.picture(moment, order.episodes), math.ceil(fps * _HOLD) if moment.over else 1)
            spent = time.perf_counter() - began
            # A further episode gets the other half of the patience.
            enough = film.seconds >= order.min_seconds or spent > order.patience / 2
            if moment.over and moment.episode >= order.episodes and enough:
                break
            if film.seconds >= order.max_seconds:
                cut_by = "its length limit"
            elif spent > order.patience:
                cut_by = f"drawing took longer than {order.patience:.3g} s"
            if cut_by:
                break
    complete = len(last) >= order.episodes and all(moment.over for moment in last.values())
    return {
        **_score([episode_facts(moment) for moment in last.values()]),
        "complete": complete,
        "cut_by": "" if complete else cut_by,
        "seed": order.seed,
        "deterministic": order.deterministic,
        **picture_facts(film, order.out_fps),
        "time": now(),
        "recording_seconds": round(time.perf_counter() - began, 3),
    }


def picture_facts(film: Film, out_fps: float | None) -> dict[str, Any]:
    """Rate, length and size of the video."""
    size = {"width": film.width, "height": film.height}
    return {"fps": out_fps or film.fps, "seconds": round(film.seconds, 3), **size}


def identify(saved: Checkpoint) -> dict[str, Any]:
    """The policy that a video shows; the digest distinguishes policies of the same step."""
    return {
        "checkpoint": saved.name,
        "env_steps": int(saved.meta["env_steps"]),
        "policy_sha256": saved.meta["files"]["policy.safetensors"]["sha256"],
    }


def stride_for(fps: float, most: float) -> int:
    """The number of steps per shown frame that keeps frames per second within the limit."""
    return max(1, math.ceil(fps / most - 1e-9))


def episode_facts(moment: Moment) -> dict[str, Any]:
    """Return, length and end of an episode with this last moment."""
    return {"return": moment.scene.raw_return, "length": moment.step, "end": moment.end}


def _score(played: list[dict[str, Any]]) -> dict[str, Any]:
    """The episodes and their mean return, that of whole episodes if there are any."""
    whole = [facts for facts in played if facts["end"] != "cut"] or played
    return {"return": sum(facts["return"] for facts in whole) / len(whole), "episodes": played}
