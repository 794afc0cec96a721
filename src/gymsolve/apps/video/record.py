"""`gymsolve record`: a video of a run on demand."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.apps.loaded_policy import require_fit
from gymsolve.apps.playback import Moment
from gymsolve.apps.video.episode_data import recorded_episodes
from gymsolve.apps.video.overlay import OverlayStyle
from gymsolve.apps.video.progression import film_progression
from gymsolve.apps.video.recording import Order, film_episodes, identify
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.envs.render_env import RenderEnv
from gymsolve.errors import UsageError
from gymsolve.metrics.tasks import worst_task
from gymsolve.runs.loading import Checkpoint
from gymsolve.runs.refs import open_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.trust import buildable_settings
from gymsolve.runs.videos import describe_video, episode_place, video_place
from gymsolve.settings.config import TrainConfig
from gymsolve.training.engines.choose import load_policy
from gymsolve.training.watchdog import Watchdog

_CLIP_SECONDS = 6.0
_EPISODES_SECONDS = 120.0
PUBLISHED = (1920, 1080)


@dataclass(frozen=True)
class RecordRequest:
    """Options of a video."""

    episodes: int = 1
    seed: int | None = None
    """None takes the run's own seed, and with it the episodes of its evaluations."""
    stochastic: bool = False
    progression: bool = False
    """One episode of every checkpoint instead of several of one."""
    overlay: bool = True
    size: tuple[int, int] | None = None
    publish: bool = False
    """1920x1080 unless `size` says otherwise, at 30 or 60 frames per second."""
    data: bool = False
    """Also keep each episode's observations, actions, rewards and values in `episodes/`."""
    task: str | None = None
    """The task, of several; None takes the worst."""
    max_seconds: float | None = None
    """Longest length of the video, or of each clip of a progression."""


def record_run(
    ref: str,
    wish: RecordRequest,
    *,
    out: Path | None = None,
    runs_dir: Path | str | None = None,
    on_clip: Callable[[dict[str, Any]], None] = lambda clip: None,
    trust: bool = False,
) -> dict[str, Any]:
    """Make a video of `RUN[@CHECKPOINT]`, in the run's folder or in the file `out`; returns its facts."""
    if out is not None and (out.suffix != ".mp4" or not out.absolute().parent.is_dir()):
        raise UsageError(f"'{out}' is not an .mp4 in a folder that exists.", where="--out")
    run, saved = open_checkpoint(ref, runs_dir, policy_only=True)
    config, _ = buildable_settings(run, trust=trust)
    place = None if out is None else out.absolute()  # environments may change the working directory
    require_fit(load_policy(saved.policy, saved.policy_metadata, config), config.env, run)
    task = _known_task(wish, config, saved)
    with Watchdog(config.env):
        render_env = open_render_env(config.env, task)
    if render_env is None:
        raise UsageError(
            f"{config.env.id} cannot be drawn into a picture, so there is nothing to film.",
            hint='An environment of your own needs metadata = {"render_modes": ["rgb_array"]}, an argument '
            "render_mode of __init__, and a render() that returns an array [height, width, 3] of uint8.",
        )
    with Watchdog(config.env), closing(render_env):
        order = _order(wish, config, render_env)
        path = place or video_place(run, _name(wish, saved, order))
        about = {"run": run.id} if task is None else {"run": run.id, "task": task}
        facts = about | _film(run, saved, config, render_env, path, order, wish, on_clip)
    if out is None:
        describe_video(path, facts)
    return {"path": str(path), **facts}


def _known_task(wish: RecordRequest, config: TrainConfig, saved: Checkpoint) -> str | None:
    """The task to film: the requested one, else the worst of the checkpoint's evaluation."""
    tasks = tuple(config.env.tasks)
    if wish.task is not None and wish.task not in tasks:
        hint = f"Its tasks are: {', '.join(tasks)}." if tasks else "It has one task; leave out --task."
        raise UsageError(f"the run has no task {wish.task!r}.", where="--task", hint=hint)
    return wish.task or worst_task(saved.meta["eval"] or {}, by_success=config.solved_by == "success_rate")


def _film(
    run: Run,
    saved: Checkpoint,
    config: TrainConfig,
    render_env: RenderEnv,
    path: Path,
    order: Order,
    wish: RecordRequest,
    on_clip: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    if wish.progression:
        return film_progression(run, config, render_env, path, order, on_clip)
    policy = load_policy(saved.policy, saved.policy_metadata, config)
    if not wish.data:
        return identify(saved) | film_episodes(policy, render_env, path, order)
    moments: list[Moment] = []
    facts = identify(saved) | film_episodes(policy, render_env, path, order, moments.append)
    kept = ("checkpoint", "env_steps", "policy_sha256", "seed", "deterministic")
    about = {
        "run": run.id,
        "action_names": list(render_env.labels.names),
        **{key: facts[key] for key in kept},
    }
    for episode in recorded_episodes(policy, moments, about):
        place = episode_place(run, f"{path.stem}-{episode.facts['episode']}")
        episode.save(place)
        facts["episodes"][episode.facts["episode"] - 1]["data"] = str(place)
    return facts


def _order(wish: RecordRequest, config: TrainConfig, render_env: RenderEnv) -> Order:
    style = OverlayStyle()
    usual = _CLIP_SECONDS if wish.progression else _EPISODES_SECONDS
    return Order(
        seed=config.seed if wish.seed is None else wish.seed,
        episodes=wish.episodes,
        deterministic=config.eval.deterministic and not wish.stochastic,
        max_seconds=wish.max_seconds or usual,
        most_fps=30.0 if wish.progression and not wish.publish else 60.0,
        size=wish.size or (PUBLISHED if wish.publish else None),
        out_fps=(60.0 if render_env.fps > 30 else 30.0) if wish.publish else None,
        style=style if wish.overlay else style.without_text(),
    )


def _name(wish: RecordRequest, saved: Checkpoint, order: Order) -> str:
    parts = ["progression" if wish.progression else saved.name]
    if wish.seed is not None:
        parts.append(f"seed{order.seed}")
    if wish.stochastic:
        parts.append("sampled")
    if not wish.overlay:
        parts.append("plain")
    if order.size is not None:
        parts.append(f"{order.size[0]}x{order.size[1]}")
    return "-".join(parts)
