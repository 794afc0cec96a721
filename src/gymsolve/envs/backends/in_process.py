"""Copies of an environment in this process, stepped one after the other.

All Python environments go through this loop, whether in the training process or in a worker, so it does
only what is needed: results go straight to the buffers, an environment whose episode ended is reset in the
same step, and `info` is read for masks, for components of the reward, and at an end.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymsolve.envs.backends.shared_buffers import SharedBuffers
from gymsolve.envs.build import CopyBuilder
from gymsolve.envs.contract import Snapshot
from gymsolve.envs.replay import Info, Replay
from gymsolve.envs.spaces import ObsLayout
from gymsolve.errors import EngineDiedError, EnvLostError
from gymsolve.spec import Array

_FREE_DEATHS, _STEPS_PER_DEATH = 10, 100


def allowed_deaths(steps: int) -> int:
    """Workers and engines may die so often within so many vector steps; then the run ends."""
    return _FREE_DEATHS + steps // _STEPS_PER_DEATH


class InProcessEnvs:
    """Some environments and their rows of the buffers."""

    def __init__(
        self,
        builders: Sequence[CopyBuilder],
        buffers: SharedBuffers,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_progress` is called after each environment that was built, reset or put elsewhere."""
        self.buffers = buffers
        self._on_progress = on_progress
        self._envs: list[Replay] = []
        for build in builders:
            self._envs.append(build())
            on_progress()
        self._layout = ObsLayout(self._envs[0].observation_space)
        self._steps = self._deaths = 0

    def reset(self, seeds: Sequence[int | None]) -> None:
        for row, (env, seed) in enumerate(zip(self._envs, seeds, strict=True)):
            self._write(row, *env.reset(seed=seed))

    def step(self, actions: Array) -> tuple[slice, ...]:
        """Step all; results go to the buffers. Rows whose engine died mean nothing until `rebuild`."""
        buffers, write, only = self.buffers, self._layout.write, self._layout.only_plain
        obs_rows, rewards, masks, components = buffers.obs, buffers.rewards, buffers.masks, buffers.components
        plain_rows = None if only is None else obs_rows[only]
        buffers.terminated.fill(False)
        buffers.truncated.fill(False)
        self._steps += 1
        lost: tuple[slice, ...] = ()
        for row, (env, action) in enumerate(zip(self._envs, actions, strict=True)):
            try:
                obs, rewards[row], terminated, truncated, info = env.step(action)
            except EngineDiedError as error:
                lost = (*lost, self._mark_dead(row, error))
                continue
            if components is not None:
                components[row] = info["reward_components"]
            if buffers.watched is not None:
                buffers.watched[row] = info["watched"]
            if terminated or truncated:
                buffers.terminated[row], buffers.truncated[row] = terminated, truncated
                self._tell_end(row, obs, info)
                obs, info = env.reset()
            if plain_rows is not None:
                plain_rows[row] = obs
            else:
                write(obs_rows, row, obs)
            if masks is not None:
                masks[row] = info["action_mask"]
        return lost

    def rebuild(
        self, lost: Sequence[slice], seeds: Sequence[int], options: Sequence[dict[str, Any] | None]
    ) -> list[str]:
        """Begin anew where an engine died, which starts another; what became of the old ones, in words."""
        reports = []
        for row in (row for rows in lost for row in range(rows.start, rows.stop)):
            self._envs[row].configure(options[row])
            self._write(row, *self._envs[row].reset(seed=seeds[row]))
            reports.append(f"The engine of {self._envs[row].label} died")
        return reports

    def _mark_dead(self, row: int, error: EngineDiedError) -> slice:
        self._deaths += 1
        if self._deaths > allowed_deaths(self._steps):
            label = self._envs[row].label
            raise EnvLostError(
                f"engines died again and again within {self._steps} vector steps; the last one was that of "
                f"{label}.",
                hint="If the system killed them, memory may be short: use fewer env.num_envs.",
            ) from error
        return slice(row, row + 1)

    def _tell_end(self, row: int, obs: Any, info: Info) -> None:
        self._layout.write(self.buffers.final_obs, row, obs)
        self.buffers.raw_returns[row] = info.get("raw_return", np.nan)
        self.buffers.successes[row] = info.get("success", -1)

    def _write(self, row: int, obs: Any, info: Info) -> None:
        self._layout.write(self.buffers.obs, row, obs)
        if self.buffers.masks is not None:
            self.buffers.masks[row] = info["action_mask"]
        self._on_progress()

    # ------------------------------------------------------------- calls that are not steps

    def configure(self, rows: Sequence[int], options: Sequence[dict[str, Any] | None]) -> None:
        for row, chosen in zip(rows, options, strict=True):
            self._envs[row].configure(chosen)

    def snapshots(self, rows: Sequence[int], native: bool) -> list[Snapshot | None]:
        return [self._envs[row].snapshot(native=native) for row in rows]

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot | None], seeds: Sequence[int]
    ) -> list[bool]:
        """Go to the snapshots; which of them were reached."""
        reached = []
        for row, snapshot, seed in zip(rows, snapshots, seeds, strict=True):
            obs, info, there = self._envs[row].jump(snapshot, seed)
            self._write(row, obs, info)
            reached.append(there)
        return reached

    def restore(self, snapshots: Sequence[Snapshot | None], seeds: Sequence[int]) -> list[bool]:
        """Go to the snapshots; which of them were reached."""
        reached = []
        for row, (env, snapshot, seed) in enumerate(zip(self._envs, snapshots, seeds, strict=True)):
            obs, info, there = env.restore(snapshot, seed)
            self._write(row, obs, info)
            reached.append(there)
        return reached

    def render(self) -> list[Any]:
        return [env.render() for env in self._envs]

    def close(self) -> None:
        for env in self._envs:
            env.close()
