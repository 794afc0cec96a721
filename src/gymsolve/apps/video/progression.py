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
from gymsolve.settings.config import TrainConfig
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
    run: Run,
    config: TrainConfig,
    render_env: RenderEnv,
    path: Path,
    order: Order,
    on_clip: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Film one episode of every checkpoint; returns facts about the video."""
    began = time.perf_counter()
    curve = read_curve(run)
    # The caption takes the place of the overlay.
    plain = replace(order, style=order.style.without_text())
    render_env.reset(order.env_seed)
    canvas = plan_canvas(
        render_env.render().shape,
        panel_share=Captions.panel_share,
        background=order.style.background,
        size=order.size,
    )
    captions = Captions(canvas, order.style, curve)
    fps = render_env.fps / stride_for(render_env.fps, order.most_fps)
    clips: list[dict[str, Any]] = []
    still = _CARD_SECONDS + _HOLD_SECONDS
    with Film(path, canvas.width, canvas.height, fps, out_fps=order.out_fps, poster_at=still) as film:
        film.add(captions.card(_title(run, order)), math.ceil(fps * _CARD_SECONDS))
        for name in list_checkpoints(run):
            clip = _rehearse(run, config, name, render_env, plain)
            if clip is None:
                continue
            _film_clip(clip, render_env, film, captions, plain)
            facts = {
                "checkpoint": name,
                "env_steps": clip.saved.meta["env_steps"],
                **episode_facts(clip.last),
            }
            clips.append(facts)
            on_clip(facts)
        film.add(captions.card(_ending(run, curve)), math.ceil(fps * _CARD_SECONDS))
    return {
        **{key: clips[-1][key] for key in ("checkpoint", "env_steps", "return")},
        "clips": clips,
        "complete": all(facts["end"] != "cut" for facts in clips),
        "seed": order.seed,
        "deterministic": order.deterministic,
        **picture_facts(film, order.out_fps),
        "time": now(),
        "recording_seconds": round(time.perf_counter() - began, 3),
    }


def _rehearse(run: Run, config: TrainConfig, name: str, render_env: RenderEnv, order: Order) -> _Clip | None:
    """Play a checkpoint's episode without filming: the caption needs its result, the speed its length."""
    try:
        saved = load_checkpoint(run, name, policy_only=True)
    except (CheckpointError, UnknownRunError):  # damaged, or removed by a training that still runs
        return None
    policy = load_policy(saved.policy, saved.policy_metadata, config)
    usual = stride_for(render_env.fps, order.most_fps)
    most = order.max_seconds * render_env.fps
    for moment in _episode(policy, render_env, order):
        if moment.step >= 40 * most:  # an episode without end is shown as far as 40 times the speed goes
            break
    return _Clip(saved, policy, moment, max(usual, math.ceil(moment.step / most)))


def _film_clip(clip: _Clip, render_env: RenderEnv, film: Film, captions: Captions, order: Order) -> None:
    camera = Camera(clip.policy, render_env, order.style, captions.canvas)
    speed = clip.stride / stride_for(render_env.fps, order.most_fps)
    caption = Caption(
        env_steps=int(clip.saved.meta["env_steps"]),
        final_return=clip.last.scene.raw_return,
        evaluation=(clip.saved.meta["eval"] or {}).get("eval/mean_reward"),
        speed=speed,
    )
    for moment in _episode(clip.policy, render_env, order):
        ended = moment.step == clip.last.step
        if ended or moment.step % clip.stride == 0:
            picture = captions.under(camera.picture(moment, 1), caption, moment, ended)
            film.add(picture, math.ceil(film.fps * _HOLD_SECONDS) if ended else 1)
        if ended:
            break


def _episode(policy: Policy, render_env: RenderEnv, order: Order) -> Iterator[Moment]:
    return play(policy, render_env, seed=order.env_seed, rng=order.rng(), episodes=1)


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
