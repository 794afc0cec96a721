"""The videos that every run leaves: of its best policy and of its final one.

They are made once training is over and everything else is written. A failure here never changes the outcome
of the run: it is one sentence in the events.
"""

import contextlib
import math
import shutil
import time
from collections.abc import Callable
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
from gymsolve.runs.videos import Video, describe_video, list_videos, video_place
from gymsolve.settings.config import TrainConfig
from gymsolve.training.engines.choose import load_policy
from gymsolve.training.observer import Observer
from gymsolve.training.stop import StopSignal
from gymsolve.training.watchdog import Watchdog

_MOST_FPS = 30.0
_LEAST_SECONDS = 5.0
"""Some tasks are over within a second; one episode would show little."""
_PATIENCE = 5.0, 30.0
"""Seconds of real time for one video, for environments that take long to draw: a quarter of the time that
training took, but at least the first and at most the second number. A video that is cut says so."""
_SILENCE = 2.0
"""Seconds of filming after which the user is told what is going on."""


class _CancelledError(Exception):
    """Somebody asked to stop during a recording; nothing is left of it."""


def leave_videos(run: Run, config: TrainConfig, observer: Observer, trained: float) -> None:
    """Film the best and the final policy after so many seconds of training.

    An environment that cannot be drawn gets no video.
    """
    if not config.video.enabled:
        return
    asked = StopSignal()

    def check(moment: Moment) -> None:
        if asked.reason is not None:
            raise _CancelledError

    try:
        with asked.listening(), Watchdog(config.env):
            try:
                _film_both(run, config, observer, check, usual_order(config, trained))
            except EnvLostError:  # its process was killed: another one may live
                _film_both(run, config, observer, check, usual_order(config, trained))
    except _CancelledError:
        _note(run, observer, "the videos were left out, as asked; make them with: gymsolve record")
    except GymsolveError as error:
        _note(run, observer, f"no video was made: {error}")


def usual_order(config: TrainConfig, trained: float = math.inf) -> Order:
    """What the settings of a run ask for, made cheap beside so many seconds of training."""
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
    stage: RenderEnv,
    path: Path,
    order: Order,
    on_moment: Callable[[Moment], None] = lambda moment: None,
    task: str | None = None,
) -> dict[str, Any]:
    """Film one checkpoint and write the file that describes the video; returns that description.

    `task` is the one of several that the stage shows.
    """
    policy = load_policy(saved.policy, saved.policy_metadata)
    facts = {"run": run.id, **identify(saved), "vec_steps": saved.meta["vec_steps"]}
    facts |= {} if task is None else {"task": task}
    facts |= film_episodes(policy, stage, path, order, on_moment)
    describe_video(path, facts)
    return facts


def _film_both(
    run: Run, config: TrainConfig, observer: Observer, check: Callable[[Moment], None], order: Order
) -> None:
    stage: RenderEnv | None = None
    task = _worst_task(run, config) if config.env.tasks else None
    try:
        for name, which in _wanted(run):
            saved = load_checkpoint(run, which, policy_only=True)
            known = list_videos(run)
            if any(video.name == name and _shows(video, saved) for video in known):
                continue  # a resume that trained nothing
            stage = stage or open_render_env(config.env, task)
            if stage is None:
                return
            path = video_place(run, name)
            twin = next((video for video in known if video.name == "best" and _shows(video, saved)), None)
            if twin is not None:
                with os_errors(path):
                    shutil.copyfile(twin.path, path)
                facts = twin.facts | {"recording_seconds": 0.0}
                describe_video(path, facts)
            else:
                told = _told_if_slow(observer, name, order.patience, check)
                facts = film_checkpoint(run, saved, stage, path, order, told, task)
            tell_video(run, path, facts)
            observer.event("video", {"path": str(path), **facts})
    finally:
        if stage is not None:
            stage.close()


def _worst_task(run: Run, config: TrainConfig) -> str | None:
    """Of several tasks, the one to look at: furthest below its threshold in the best evaluation."""
    name = pointed(run, "best") or pointed(run, "last")
    told = None if name is None else read_meta(run, name)["eval"]
    return worst_task(told or {}, by_success=config.solved_by == "success_rate")


def _told_if_slow(
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
    """Enter a video into the run's events."""
    told = {key: facts[key] for key in ("checkpoint", "return", "complete", "recording_seconds")}
    told["cut_by"] = facts.get("cut_by", "")  # videos of earlier versions do not say it
    run.append_event("video", env_steps=facts["env_steps"], file=f"videos/{path.name}", **told)


def _wanted(run: Run) -> list[tuple[str, Literal["best", "last"]]]:
    judged = pointed(run, "best") is not None
    return [*([("best", "best")] if judged else []), ("final", "last")]  # type: ignore[list-item]


def _shows(video: Video, saved: Checkpoint) -> bool:
    return all(video.facts.get(key) == value for key, value in identify(saved).items())


def _note(run: Run, observer: Observer, text: str) -> None:
    with contextlib.suppress(RunDamagedError):  # the disk that has no room for a video has none for this
        run.append_event("note", text=text)
    observer.event("note", {"text": text})
