"""Videos while a run trains: a process of its own films checkpoints as they appear.

It reads the run's folder like any other reader, so training does not wait for it. If it dies, the next record
of training starts another one.
"""

import os
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gymsolve.apps.playback import Moment
from gymsolve.apps.video.automatic import film_checkpoint, tell_video, usual_order
from gymsolve.envs.build import needs_own_process
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.envs.processes import OwnProcess
from gymsolve.envs.render_env import RenderEnv
from gymsolve.errors import CheckpointError, GymsolveError, UnknownRunError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.files import remove_leftovers
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.videos import video_place
from gymsolve.settings.config import TrainConfig
from gymsolve.training.observer import Observer

_LOOK_SECONDS = 0.5
_LAST_SECONDS = 60.0
_TRIES = 3
"""The process is started at most so many times in a run."""


class _OrphanedError(Exception):
    """The training process is gone; the unfinished video is removed."""


class Follower:
    """Films every `video.every` steps while its block is open."""

    def __init__(self, run: Run, config: TrainConfig, env_steps: int) -> None:
        self._run, self._config, self._env_steps = run, config, env_steps
        self._starts = 0
        self._process: OwnProcess | None = None

    def __enter__(self) -> Self:
        self._start(self._env_steps)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.mind(self._env_steps)
        if self._process is None:
            return
        # It finishes what it has begun, unless training broke.
        self._process.end(_LAST_SECONDS if error is None else 0.0)
        remove_leftovers(self._run.path / "videos")

    def mind(self, env_steps: int) -> None:
        """Start another process if this one has died; `env_steps` is where training is."""
        self._env_steps = env_steps
        if self._process is None or self._process.process.is_alive() or self._process.process.exitcode == 0:
            return
        how = f"the process that films while training {self._process.describe_end()}"
        self._process.end(0.0)
        self._process = None
        if self._starts < _TRIES:
            self._start(env_steps)
        then = "another one was started" if self._process else "no more videos are made until the end"
        self._run.append_event("note", text=f"{how}; {then}")

    def _start(self, env_steps: int) -> None:
        self._starts += 1
        self._process = OwnProcess(
            _follow,
            str(self._run.path),
            self._config.model_dump_json(),
            env_steps,
            os.getpid(),
            fork=False,
            # A daemon may have no processes of its own, which some environments need.
            daemon=not needs_own_process(self._config.env),
        )

    def minding(self, observer: Observer) -> Observer:
        """An observer that also checks the process at every record."""
        return _Minding(observer, self)


class _Minding:
    """Passes on all events; at every record it checks the process that films."""

    def __init__(self, inner: Observer, follower: Follower) -> None:
        self.started, self.event = inner.started, inner.event
        self.rollout_step, self.eval_step = inner.rollout_step, inner.eval_step
        self._record, self._follower = inner.record, follower

    def record(self, record: dict[str, Any]) -> None:
        self._record(record)
        self._follower.mind(record["env_steps"])


def _follow(connection: Connection, path: str, config_json: str, env_steps: int, parent: int) -> None:
    """The process: look for a checkpoint that is due, film it, until training is over."""
    if sys.platform != "win32":
        os.nice(10)  # training comes first
    run, config = Run(Path(path)), TrainConfig.model_validate_json(config_json)
    due = _next(env_steps, config)

    def check(moment: Moment) -> None:
        if os.getppid() != parent:
            raise _OrphanedError

    render_env: RenderEnv | None = None
    try:
        render_env = open_render_env(config.env)
        while render_env is not None and os.getppid() == parent:
            last_look = connection.poll()  # it was closed
            ready = [name for name in list_checkpoints(run) if int(name) >= due]
            if ready:
                # Only the newest one: a late follower does not catch up.
                due = _next(int(ready[-1]), config)
                _film(run, ready[-1], render_env, config, check)
            elif last_look:
                break
            else:
                time.sleep(_LOOK_SECONDS)
    except GymsolveError as error:
        run.append_event("note", text=f"no more videos are made while training: {error}")
    except _OrphanedError:
        pass
    finally:
        if render_env is not None:
            render_env.close()


def _film(
    run: Run, name: str, render_env: RenderEnv, config: TrainConfig, check: Callable[[Moment], None]
) -> None:
    try:
        saved = load_checkpoint(run, name, policy_only=True)
    except (CheckpointError, UnknownRunError):  # removed meanwhile: `checkpoint.keep` had no room for it
        return
    place = video_place(run, name)
    tell_video(run, place, film_checkpoint(run, saved, config, render_env, place, usual_order(config), check))


def _next(env_steps: int, config: TrainConfig) -> int:
    every = config.to_env_steps(config.video.every)  # folders of checkpoints are named by environment steps
    return (env_steps // every + 1) * every
