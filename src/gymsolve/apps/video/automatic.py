"""The videos of every run: of its best policy and of its final one.

They are made once training is over and everything else is written. A failure here never changes the outcome
of the run: it becomes one sentence in the events.
"""

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from gymsolve.apps.playback import Moment
from gymsolve.apps.video.recording import Order, film_episodes, identify
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.envs.render_env import RenderEnv
from gymsolve.errors import EnvLostError, GymsolveError, RunDamagedError
from gymsolve.metrics.tasks import worst_task
from gymsolve.runs.checkpoints import pointed, read_meta
from gymsolve.runs.files import os_errors
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.videos import Video, describe_video, list_videos, poster_of, video_place
from gymsolve.settings.config import TrainConfig
from gymsolve.training.engines.choose import load_policy
from gymsolve.training.observer import Observer
from gymsolve.training.stop import StopSignal
from gymsolve.training.watchdog import Watchdog

_MOST_FPS = 30.0
_LEAST_SECONDS = 5.0
"""A shorter video gets further episodes: some tasks are over within a second."""
_PATIENCE = 5.0, 30.0
"""Seconds of real time for one video, for environments that take long to draw: a quarter of the time that
training took, but at least the first and at most the second number. A video that is cut says so."""
_NO_USE = 1.0
"""Less time than this is not enough to open the environment and film it."""
_SILENCE = 2.0
"""The user gets a message if filming takes more seconds."""


class _CancelledError(Exception):
    """Somebody asked to stop during a recording; nothing is left of it."""


def leave_videos(
    run: Run, config: TrainConfig, observer: Observer, trained: float, left: float = math.inf
) -> None:
    """Film the best and the final policy after `trained` seconds, if the environment can be drawn.

    A time limit leaves `left` seconds for both.
    """
    if not config.video.enabled:
        return
    if left < _NO_USE:
        _note(run, observer, "max_seconds left no time for videos; make one with: gymsolve record @last")
        return
    asked, order = StopSignal(), usual_order(config, trained)
    order = replace(order, patience=min(order.patience, left / 2))

    def check(moment: Moment) -> None:
        if asked.reason is not None:
            raise _CancelledError

    try:
        with asked.listening(), Watchdog(config.env):
            try:
                _film_both(run, config, observer, check, order)
            except EnvLostError:  # its process was killed: another one may live
                _film_both(run, config, observer, check, order)
    except _CancelledError:
        _note(run, observer, "the videos were left out, as asked; make them with: gymsolve record")
    except GymsolveError as error:
        _note(run, observer, f"no video was made: {error}")


def usual_order(config: TrainConfig, trained: float = math.inf) -> Order:
    """The video that a run's settings ask for; its time is limited by the seconds of training."""
    least, most = _PATIENCE
    return Order(
        seed=config.seed,
        episodes=config.video.episodes,
        deterministic=config.eval.deterministic,
        min_seconds=min(_LEAST_SECONDS, config.video.max_seconds),
        max_seconds=config.video.max_seconds,
        most_fps=_MOST_FPS,
        patience=min(most, max(least, trained / 4)),
    )


def film_checkpoint(
    run: Run,
    saved: Checkpoint,
    config: TrainConfig,
    render_env: RenderEnv,
    path: Path,
    order: Order,
    on_moment: Callable[[Moment], None] = lambda moment: None,
    task: str | None = None,
) -> dict[str, Any]:
    """Film one checkpoint, in a `task` of several; writes and returns the video's description."""
    policy = load_policy(saved.policy, saved.policy_metadata, config)
    facts = {"run": run.id, **identify(saved), "vec_steps": saved.meta["vec_steps"]}
    facts |= {} if task is None else {"task": task}
    facts |= film_episodes(policy, render_env, path, order, on_moment)
    describe_video(path, facts)
    return facts


def _film_both(
    run: Run, config: TrainConfig, observer: Observer, check: Callable[[Moment], None], order: Order
) -> None:
    render_env: RenderEnv | None = None
    task = _worst_task(run, config) if config.env.tasks else None
    try:
        for name, which in _wanted(run):
            saved = load_checkpoint(run, which, policy_only=True)
            videos = list_videos(run)
            if any(video.name == name and _shows(video, saved) for video in videos):
                continue  # a resume that trained nothing
            render_env = render_env or open_render_env(config.env, task)
            if render_env is None:
                return
            path = video_place(run, name)
            twin = next((video for video in videos if video.name == "best" and _shows(video, saved)), None)
            if twin is not None:
                _share_film(twin.path, path)
                facts = twin.facts | {"recording_seconds": 0.0}
                describe_video(path, facts)
            else:
                on_moment = _report_if_slow(observer, name, order.patience, check)
                facts = film_checkpoint(run, saved, config, render_env, path, order, on_moment, task)
            tell_video(run, path, facts)
            observer.event("video", {"path": str(path), **facts})
    finally:
        if render_env is not None:
            render_env.close()


def _share_film(film: Path, path: Path) -> None:
    """Give a film a second name; a copy where the file system has no links. Each is replaced by itself."""
    for old, new in ((film, path), (poster_of(film), poster_of(path))):
        if old is None or new is None or not old.exists():
            continue
        with os_errors(new):
            new.unlink(missing_ok=True)
            try:
                os.link(old, new)
            except OSError:
                shutil.copyfile(old, new)


def _worst_task(run: Run, config: TrainConfig) -> str | None:
    """The task that is furthest below its threshold in the best evaluation."""
    name = pointed(run, "best") or pointed(run, "last")
    evaluation = None if name is None else read_meta(run, name)["eval"]
    return worst_task(evaluation or {}, by_success=config.solved_by == "success_rate")


def _report_if_slow(
    observer: Observer, name: str, patience: float, check: Callable[[Moment], None]
) -> Callable[[Moment], None]:
    """`check`, and one event to the observer if the recording takes long."""
    due = time.perf_counter() + _SILENCE

    def hear(moment: Moment) -> None:
        nonlocal due
        check(moment)
        if time.perf_counter() >= due:
            due = math.inf
            observer.event("filming", {"name": name, "patience": patience})

    return hear


def tell_video(run: Run, path: Path, facts: dict[str, Any]) -> None:
    """Append a video to the run's events."""
    fields = {key: facts[key] for key in ("checkpoint", "return", "complete", "recording_seconds")}
    fields["cut_by"] = facts.get("cut_by", "")  # videos of earlier versions do not have it
    run.append_event("video", env_steps=facts["env_steps"], file=f"videos/{path.name}", **fields)


def _wanted(run: Run) -> list[tuple[str, Literal["best", "last"]]]:
    judged = pointed(run, "best") is not None
    return [*([("best", "best")] if judged else []), ("final", "last")]  # type: ignore[list-item]


def _shows(video: Video, saved: Checkpoint) -> bool:
    return all(video.facts.get(key) == value for key, value in identify(saved).items())


def _note(run: Run, observer: Observer, text: str) -> None:
    with contextlib.suppress(RunDamagedError):  # the disk may be full
        run.append_event("note", text=text)
    observer.event("note", {"text": text})
