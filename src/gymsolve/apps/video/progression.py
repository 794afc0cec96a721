"""One video across all checkpoints of a run, each on the same seed: how the policy became what it is.

A title, then one clip per checkpoint with a caption and the learning curve below it, then the result.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gymsolve.apps.playback import Moment, play
from gymsolve.apps.video.canvas import plan_canvas
from gymsolve.apps.video.captions import Caption, Captions
from gymsolve.apps.video.curve import Curve, read_curve
from gymsolve.apps.video.encoding import Film
from gymsolve.apps.video.overlay import number
from gymsolve.apps.video.recording import Camera, Order, episode_facts, picture_facts, stride_for
from gymsolve.envs.render_env import RenderEnv
from gymsolve.errors import CheckpointError, UnknownRunError
from gymsolve.experience.learner import Policy
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.run import Run, now
from gymsolve.training.engines.choose import load_policy

_CARD_SECONDS = 2.5
_HOLD_SECONDS = 1.0


@dataclass(frozen=True)
class _Clip:
    """One checkpoint's episode, known before it is filmed."""

    saved: Checkpoint
    policy: Policy
    last: Moment
    stride: int


def film_progression(
    run: Run, stage: RenderEnv, path: Path, order: Order, on_clip: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Film one episode of every checkpoint; the facts of what the video shows."""
    began = time.perf_counter()
    curve = read_curve(run)
    # The caption takes the place of the overlay.
    plain = replace(order, style=order.style.without_text())
    stage.reset(order.env_seed)
    canvas = plan_canvas(
        stage.render().shape,
        panel_share=Captions.panel_share,
        background=order.style.background,
        size=order.size,
    )
    captions = Captions(canvas, order.style, curve)
    fps = stage.fps / stride_for(stage.fps, order.most_fps)
    shown: list[dict[str, Any]] = []
    with Film(path, canvas.width, canvas.height, fps, out_fps=order.out_fps) as film:
        film.add(captions.card(_title(run, order)), math.ceil(fps * _CARD_SECONDS))
        for name in list_checkpoints(run):
            clip = _rehearse(run, name, stage, plain)
            if clip is None:
                continue
            _film_clip(clip, stage, film, captions, plain)
            told = {"checkpoint": name, "env_steps": clip.saved.meta["env_steps"], **episode_facts(clip.last)}
            shown.append(told)
            on_clip(told)
        film.add(captions.card(_ending(run, curve)), math.ceil(fps * _CARD_SECONDS))
    return {
        "checkpoint": shown[-1]["checkpoint"],
        "env_steps": shown[-1]["env_steps"],
        "return": shown[-1]["return"],
        "clips": shown,
        "complete": all(clip["end"] != "cut" for clip in shown),
        "seed": order.seed,
        "deterministic": order.deterministic,
        **picture_facts(film, order.out_fps),
        "time": now(),
        "recording_seconds": round(time.perf_counter() - began, 3),
    }


def _rehearse(run: Run, name: str, stage: RenderEnv, order: Order) -> _Clip | None:
    """Play a checkpoint's episode unseen: its caption tells the outcome, its length decides the speed."""
    try:
        saved = load_checkpoint(run, name, policy_only=True)
    except (CheckpointError, UnknownRunError):  # damaged, or removed by a training that still runs
        return None
    policy = load_policy(saved.policy, saved.policy_metadata)
    usual = stride_for(stage.fps, order.most_fps)
    most = order.max_seconds * stage.fps
    for moment in _episode(policy, stage, order):
        if moment.step >= 40 * most:  # an episode without end is shown as far as 40 times the speed goes
            break
    return _Clip(saved, policy, moment, max(usual, math.ceil(moment.step / most)))


def _film_clip(clip: _Clip, stage: RenderEnv, film: Film, captions: Captions, order: Order) -> None:
    camera = Camera(clip.policy, stage, order.style, captions.canvas)
    speed = clip.stride / stride_for(stage.fps, order.most_fps)
    caption = Caption(
        env_steps=int(clip.saved.meta["env_steps"]),
        final_return=clip.last.scene.raw_return,
        evaluation=(clip.saved.meta["eval"] or {}).get("eval/mean_reward"),
        speed=speed,
    )
    for moment in _episode(clip.policy, stage, order):
        ended = moment.step == clip.last.step
        if ended or moment.step % clip.stride == 0:
            picture = captions.under(camera.picture(moment, 1), caption, moment, ended)
            film.add(picture, math.ceil(film.fps * _HOLD_SECONDS) if ended else 1)
        if ended:
            break


def _episode(policy: Policy, stage: RenderEnv, order: Order) -> Iterator[Moment]:
    return play(policy, stage, seed=order.env_seed, rng=order.rng(), episodes=1)


def _title(run: Run, order: Order) -> tuple[str, ...]:
    info = run.info()
    count = len(list_checkpoints(run))
    return (
        info["env_id"],
        f"{info['algo'].upper()} learns: {count} checkpoints, the same episode (seed {order.seed})",
    )


def _ending(run: Run, curve: Curve) -> tuple[str, ...]:
    info = run.info()
    best = max((mean for _, mean in curve.points), default=None)
    reached = "" if best is None else f"best mean return {number(best)}"
    needed = "" if curve.threshold is None else f", solved at {number(curve.threshold)}"
    title = "Solved" if info["status"] == "solved" else info["env_id"]
    return (f"{title} after {info['env_steps']:,} steps", f"{reached}{needed}")
