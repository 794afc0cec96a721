"""Videos while a run trains: a process of its own films checkpoints as they appear.

It reads the run's folder like anybody else, so training neither waits for it nor knows of it.
"""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from types import TracebackType

from gymsolve.config import TrainConfig
from gymsolve.envs.build import needs_own_process
from gymsolve.envs.single_env import Stage, open_stage
from gymsolve.errors import CheckpointError, GymsolveError, UnknownRunError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.files import remove_leftovers
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.videos import video_place
from gymsolve.training.play.moments import Moment
from gymsolve.training.video.automatic import film_checkpoint, tell_video, usual_order

__all__ = ["Follower"]

_LOOK_SECONDS = 0.5
_LAST_SECONDS = 60.0


class _OrphanedError(Exception):
    """The training process is gone; nothing is left of the video that was being made."""


class Follower:
    """Films every `video.every` steps while its block is open."""

    def __init__(self, run: Run, config: TrainConfig, env_steps: int) -> None:
        self._run = run
        context = multiprocessing.get_context("spawn")
        self._over: Event = context.Event()
        self._process = context.Process(
            target=_follow,
            args=(str(run.path), config.model_dump_json(), env_steps, self._over, os.getpid()),
            # A daemon may have no processes of its own, which some environments need.
            daemon=not needs_own_process(config.env),
        )

    def __enter__(self) -> None:
        self._process.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._over.set()  # it finishes what it has begun
            self._process.join(_LAST_SECONDS)
        self._process.terminate()
        self._process.join()
        remove_leftovers(self._run.path / "videos")


def _follow(path: str, config_json: str, env_steps: int, over: Event, parent: int) -> None:
    """The process: look for a checkpoint that is due, film it, until training is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the training process's business
    if sys.platform != "win32":
        os.nice(10)  # training comes first
    run, config = Run(Path(path)), TrainConfig.model_validate_json(config_json)
    due = _next(env_steps, config)

    def check(moment: Moment) -> None:
        if os.getppid() != parent:
            raise _OrphanedError

    stage: Stage | None = None
    try:
        stage = open_stage(config.env)
        while stage is not None and os.getppid() == parent:
            last_look = over.is_set()
            ready = [name for name in list_checkpoints(run) if int(name) >= due]
            if ready:
                # Only the newest one: a late follower does not catch up.
                due = _next(int(ready[-1]), config)
                _film(run, ready[-1], stage, config, check)
            elif last_look:
                break
            else:
                time.sleep(_LOOK_SECONDS)
    except GymsolveError as error:
        run.append_event("note", text=f"no more videos are made while training: {error}")
    except _OrphanedError:
        pass
    finally:
        if stage is not None:
            stage.close()


def _film(run: Run, name: str, stage: Stage, config: TrainConfig, check: Callable[[Moment], None]) -> None:
    try:
        saved = load_checkpoint(run, name, policy_only=True)
    except (CheckpointError, UnknownRunError):  # removed meanwhile: `checkpoint.keep` had no room for it
        return
    place = video_place(run, name)
    tell_video(run, place, film_checkpoint(run, saved, stage, place, usual_order(config), check))


def _next(env_steps: int, config: TrainConfig) -> int:
    every = config.to_env_steps(config.video.every)  # folders of checkpoints are named by environment steps
    return (env_steps // every + 1) * every
