"""The contract over Python environments, in this process or in workers.

Both reset in the same step, so every row is valid. What they leave in the buffers is copied once, into
the arrays we return; nothing here loops over environments unless an episode ended.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from gymsolve.envs.backends.episode_stats import EpisodeStats, refuse_bad_obs, refuse_bad_rewards
from gymsolve.envs.backends.shared_buffers import SharedBuffers
from gymsolve.envs.contract import Episode, Snapshot, Step
from gymsolve.envs.masks import refuse_empty
from gymsolve.spec import Array, EnvSpec, Obs


class Vector(Protocol):
    """Environments that leave their results in buffers."""

    buffers: SharedBuffers

    def reset(self, seeds: Sequence[int | None]) -> None: ...

    def step(self, actions: Array) -> tuple[slice, ...]:
        """Rows that were lost with their process."""

    def rebuild(
        self, lost: Sequence[slice], seeds: Sequence[int], options: Sequence[dict[str, Any] | None]
    ) -> list[str]:
        """Begin anew in lost rows; what became of the old ones, in words."""

    def configure(self, rows: Sequence[int], options: Sequence[dict[str, Any] | None]) -> None: ...

    def snapshots(self, rows: Sequence[int], native: bool) -> list[Snapshot | None]: ...

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot | None], seeds: Sequence[int]
    ) -> list[bool]: ...

    def restore(self, snapshots: Sequence[Snapshot | None], seeds: Sequence[int]) -> list[bool]: ...

    def render(self) -> list[Any]: ...

    def close(self) -> None: ...


class SameStepEnvs:
    """`Envs` over copies in this process or in workers."""

    def __init__(
        self,
        vec: Vector,
        spec: EnvSpec,
        legal: Array | None,
        bounds: tuple[Array, Array] | None,
        *,
        backend: str,
        render: bool = False,
    ) -> None:
        self._vec, self._buffers = vec, vec.buffers
        self.num_envs = len(vec.buffers.rewards)
        self.spec = spec
        self.backend = backend
        self._legal = legal  # [mask_size]
        self._legal_rows = None if legal is None else np.tile(legal, (self.num_envs, 1))  # [N, mask_size]
        self._render = render
        self._bounds = bounds
        self._float_keys = tuple(key for key, entry in spec.obs.items() if entry.dtype == "float32")
        self._stats = EpisodeStats(self.num_envs)
        self._valid = np.ones(self.num_envs, dtype=bool)  # [N]
        self._valid.flags.writeable = False
        self._steps = 0
        self._obs: Obs = {}
        self._rebuilt = 0
        self._options: list[dict[str, Any] | None] = [None] * self.num_envs
        """Reset options of coming episodes, by row."""

    # --------------------------------------------------------------------------- reset and step

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        self._vec.reset(seeds)
        self._stats.clear()
        self._steps = 0
        self._obs = self._take_obs()
        return self._obs, self._take_masks()

    def restart(self) -> Array | None:
        """Begin new episodes everywhere, as after an end, without new seeds; returns the masks."""
        self._vec.reset([None] * self.num_envs)
        self._stats.clear()
        self._obs = self._take_obs()
        return self._take_masks()

    def step(self, actions: Array) -> Step:
        if self._bounds is not None:
            actions = np.clip(actions, *self._bounds)
        buffers = self._buffers
        self._steps += 1
        lost = self._vec.step(actions)
        faults, cut = self._rebuild(lost) if lost else ((), None)
        obs = self._take_obs()
        refuse_bad_rewards(buffers.rewards, self.spec.id, self._steps)
        self._stats.returns += buffers.rewards
        self._stats.lengths += 1
        terminated = buffers.terminated.copy()
        truncated = buffers.truncated > terminated  # True only where terminated is not
        final_obs: Obs | None = None
        episodes: list[Episode] = []
        ended = buffers.terminated | buffers.truncated
        if ended.any():
            final_obs, episodes = self._finish(np.flatnonzero(ended), truncated, cut, obs)
        rewards = buffers.rewards.astype(np.float32)
        masks = self._take_masks()
        self._obs = obs
        parts = None if buffers.components is None else buffers.components.copy()
        watched = None if buffers.watched is None else buffers.watched.copy()
        valid = self._valid if cut is None else ~cut
        return Step(
            obs,
            rewards,
            terminated,
            truncated,
            valid,
            final_obs,
            masks,
            episodes,
            faults,
            parts,
            cut,
            watched,
        )

    def _take_obs(self) -> Obs:
        obs = {key: rows.copy() for key, rows in self._buffers.obs.items()}
        refuse_bad_obs(obs, self._float_keys, self.spec.id, self._steps)
        return obs

    def _finish(
        self, ended: Array, truncated: Array, cut: Array | None, obs: Obs
    ) -> tuple[Obs, list[Episode]]:
        buffers = self._buffers
        final = {key: values.copy() for key, values in obs.items()}
        for key, values in final.items():
            values[ended] = buffers.final_obs[key][ended]
        refuse_bad_obs(final, self._float_keys, self.spec.id, self._steps)
        episodes = []
        for row in ended.tolist():
            if cut is not None and cut[row]:
                self._stats.begin(row)  # nobody knows what it would have returned
                continue
            raw, success = float(buffers.raw_returns[row]), int(buffers.successes[row])
            episodes.append(
                self._stats.finish(
                    row,
                    bool(truncated[row]),
                    None if np.isnan(raw) else raw,
                    None if success < 0 else bool(success),
                )
            )
        return final, episodes

    def _take_masks(self) -> Array | None:
        if self._buffers.masks is None:
            return self._legal_rows
        masks = self._buffers.masks.copy() if self._legal is None else self._buffers.masks & self._legal
        refuse_empty(masks, self.spec.action, self.spec.id)
        return masks  # [N, mask_size]

    # ------------------------------------------------------------------------- death of a worker

    def _rebuild(self, lost: tuple[slice, ...]) -> tuple[tuple[str, ...], Array]:
        """New workers or engines for lost rows, whose episodes are cut; a sentence on each, and the rows [N].

        The last transition of a lost environment leads nowhere we know, so its last observation
        stands in for the final one and its reward is 0; the row is not valid.
        """
        buffers = self._buffers
        self._rebuilt += 1
        seeds = np.random.SeedSequence([self._rebuilt, self._steps]).generate_state(self.num_envs)
        reports = self._vec.rebuild(lost, [int(seed) & 0x7FFFFFFF for seed in seeds], self._options)
        cut = np.zeros(self.num_envs, dtype=bool)
        for rows in lost:
            cut[rows] = True
            buffers.rewards[rows] = 0.0
            if buffers.components is not None:
                buffers.components[rows] = 0.0
            if buffers.watched is not None:
                buffers.watched[rows] = 0.0
            buffers.terminated[rows], buffers.truncated[rows] = False, True
            buffers.raw_returns[rows], buffers.successes[rows] = np.nan, -1
            for key, values in self._obs.items():
                buffers.final_obs[key][rows] = values[rows]
        ending = "; another one was started, and the episodes under way there do not count."
        return tuple(f"{report}{ending}" for report in reports), cut

    # ------------------------------------------------------------------------ capture and restore

    def capture(self) -> dict[str, Any] | None:
        envs = self._vec.snapshots(range(self.num_envs), False)
        return {"kind": "replay", "envs": envs, "options": list(self._options), **self._stats.to_json()}

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        known = state["envs"] if state["kind"] == "replay" else []
        snapshots = [known[i] if i < len(known) else None for i in range(self.num_envs)]
        for row, options in enumerate(state.get("options", ())[: self.num_envs]):
            if options != self._options[row]:
                self.configure([row], options)
        reached = self._vec.restore(snapshots, seeds)
        self._stats.clear()
        for env in np.flatnonzero(reached).tolist():
            self._stats.load(state, env)
        self._obs = self._take_obs()
        return self._obs, self._take_masks(), np.flatnonzero(np.logical_not(reached)).tolist()

    # --------------------------------------------------------------------- options and snapshots

    def configure(self, rows: Sequence[int], options: dict[str, Any] | None) -> None:
        for row in rows:
            self._options[row] = options
        self._vec.configure(rows, [options] * len(rows))

    def snapshots(self, rows: Sequence[int]) -> list[Snapshot | None]:
        return [
            None
            if env is None
            else {
                "kind": "replay",
                "env": env,
                "return": float(self._stats.returns[row]),
                "length": int(self._stats.lengths[row]),
            }
            for row, env in zip(rows, self._vec.snapshots(rows, True), strict=True)
        ]

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot], seeds: Sequence[int]
    ) -> tuple[Obs, Array | None, list[int]]:
        known = [snapshot["env"] if snapshot["kind"] == "replay" else None for snapshot in snapshots]
        reached = self._vec.jump(rows, known, seeds)
        for row, snapshot, there in zip(rows, snapshots, reached, strict=True):
            if there:
                self._stats.begin(row, snapshot["return"], snapshot["length"], jumped=True)
            else:
                self._stats.begin(row)
        self._obs = self._take_obs()
        restarted = [row for row, there in zip(rows, reached, strict=True) if not there]
        return self._obs, self._take_masks(), restarted

    def render(self) -> list[Array]:
        if not self._render:
            return []
        return [np.asarray(frame) for frame in self._vec.render() if frame is not None]

    def close(self) -> None:
        self._vec.close()
