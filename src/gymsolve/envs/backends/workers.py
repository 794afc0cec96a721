"""Gymnasium's sync and async vector environments, set up for SAME_STEP.

`Workers` adds two things to Gymnasium's async class: errors of a worker arrive as themselves, and a
worker process that died shows as a missing result instead of an exception out of a half-read step.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from gymsolve.envs.build import CopyBuilder
from gymsolve.errors import EnvFaultError, GymsolveError
from gymsolve.spec import Array

__all__ = ["Workers", "make_async", "make_sync"]

_PATIENCE = 5.0
"""Seconds that a worker gets to close its environment."""


def make_sync(builders: Sequence[CopyBuilder]) -> SyncVectorEnv[Any, Any]:
    """All copies in this process."""
    return SyncVectorEnv(list(builders), copy=False, autoreset_mode=AutoresetMode.SAME_STEP)


def make_async(builders: Sequence[CopyBuilder]) -> "Workers":
    """One process per copy, observations through shared memory."""
    functions = [replace(builder, owner=os.getpid()) for builder in builders]
    try:
        return Workers(functions, shared_memory=True, copy=False, autoreset_mode=AutoresetMode.SAME_STEP)
    except (EOFError, ConnectionError) as error:
        name = builders[0].config.id
        raise EnvFaultError(
            f"{name} could not be built in a worker process; see its output above."
        ) from error


class Workers(AsyncVectorEnv[Any, Any]):
    """AsyncVectorEnv that survives the death of a worker, for as long as it takes to rebuild."""

    dead: tuple[int, ...] = ()
    """Workers that did not answer in the last step; their rows mean nothing."""

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        self._assert_is_running()
        dead: list[int] = []
        for index, action in enumerate(iterate(self.action_space, actions)):
            try:
                self.parent_pipes[index].send(("step", action))
            except ConnectionError:
                dead.append(index)
        rewards = np.zeros(self.num_envs)  # [N]
        ends = np.zeros((2, self.num_envs), dtype=bool)  # [terminated | truncated, N]
        infos: dict[str, Any] = {}
        successes = [True] * self.num_envs
        for index, pipe in enumerate(self.parent_pipes):
            if index in dead:
                continue
            try:
                result, successes[index] = pipe.recv()
            except (EOFError, ConnectionError):
                dead.append(index)
                continue
            if successes[index]:
                _, rewards[index], ends[0, index], ends[1, index], info = result
                infos = self._add_info(infos, info, index)
        self.dead = tuple(sorted(dead))
        self._raise_if_errors(successes)
        return self.observations, rewards, ends[0], ends[1], infos

    def ask_living(self, name: str) -> list[Any]:
        """An attribute of each environment whose worker lives; None for the others."""
        answers: list[Any] = [None] * self.num_envs
        for index in set(range(self.num_envs)) - set(self.dead):
            try:
                self.parent_pipes[index].send(("_call", (name, (), {})))
                answers[index], success = self.parent_pipes[index].recv()
            except (EOFError, ConnectionError):
                self.dead = tuple(sorted((*self.dead, index)))
            else:
                self._raise_if_errors([success])
        return answers

    def first_dead(self) -> int:
        """The number of a worker whose process has ended."""
        return next((index for index, process in enumerate(self.processes) if not process.is_alive()), 0)

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Ask nicely where somebody listens, then end what is left."""
        asked = []
        for pipe in [] if terminate else self.parent_pipes:
            try:
                pipe.send(("close", None))
                asked.append(pipe)
            except ConnectionError:
                continue
        for pipe in asked:
            try:
                pipe.recv()
            except (EOFError, ConnectionError):
                continue
        for process in self.processes:
            process.join(0 if terminate else _PATIENCE)
            if process.is_alive():
                process.terminate()
                process.join()
        for pipe in self.parent_pipes:
            pipe.close()

    def _raise_if_errors(self, successes: Iterable[bool]) -> None:
        failures = sum(not success for success in successes)
        if not failures:
            return
        # Reports come in any order; the lowest number is raised, so that a rerun says the same.
        reports = sorted((self.error_queue.get() for _ in range(failures)), key=lambda report: report[0])
        index, kind, value, _ = reports[0]
        if isinstance(value, GymsolveError):
            raise value
        raise EnvFaultError(f"environment {index} failed in its worker: {kind.__name__}: {value}.")
