"""The contract over Gymnasium's sync and async vector environments.

Both reset in the same step, so every row is valid. What they hand out is copied once, into the arrays
we return; nothing here loops over environments unless an episode ended.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import SyncVectorEnv

from gymsolve.envs.backends.tally import Tally, refuse_bad_obs, refuse_nonfinite
from gymsolve.envs.backends.workers import Workers
from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.masks import refuse_empty
from gymsolve.envs.spaces import ObsLayout, half_bounds
from gymsolve.errors import EnvFaultError
from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["SameStepEnvs"]

Vector: TypeAlias = SyncVectorEnv[Any, Any] | Workers


class SameStepEnvs:
    """`Envs` over a SyncVectorEnv or a pool of workers."""

    def __init__(
        self,
        build: Callable[[], Vector],
        spec: EnvSpec,
        layout: ObsLayout,
        legal: Array | None,
        *,
        render: bool = False,
    ) -> None:
        self._build = build
        self._vec = build()
        self.num_envs = self._vec.num_envs
        self.spec = spec
        self._layout = layout
        self._legal = legal  # [mask_size]
        self._legal_rows = None if legal is None else np.tile(legal, (self.num_envs, 1))  # [N, mask_size]
        self._render = render
        self._bounds = half_bounds(self._vec.single_action_space)
        self._tally = Tally(self.num_envs)
        self._valid = np.ones(self.num_envs, dtype=bool)  # [N]
        self._valid.flags.writeable = False
        self._steps = 0
        self._obs: Obs = {}
        self._rebuilt = 0

    # --------------------------------------------------------------------------- reset and step

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        try:
            observed, info = self._vec.reset(seed=list(seeds))
        except (EOFError, ConnectionError) as error:
            raise self._worker_died() from error
        self._tally.clear()
        self._steps = 0
        self._obs = self._take(observed)
        return self._obs, self._masks(info)

    def step(self, actions: Array) -> Step:
        if self._bounds is not None:
            actions = np.clip(actions, *self._bounds)
        observed, rewards, terminated, truncated, info = self._vec.step(actions)
        self._steps += 1
        if isinstance(self._vec, Workers) and self._vec.dead:
            return self._survive(rewards, terminated, truncated, info)
        obs = self._take(observed)
        refuse_nonfinite("the reward", rewards, self.spec.id, self._steps)
        self._tally.returns += rewards
        self._tally.lengths += 1
        truncated &= ~terminated
        ended = terminated | truncated
        final_obs: Obs | None = None
        episodes: list[Episode] = []
        if ended.any():
            final_obs, episodes = self._finish(np.flatnonzero(ended), truncated, obs, info)
        masks = self._masks(info)
        self._obs = obs
        return Step(
            obs, rewards.astype(np.float32), terminated, truncated, self._valid, final_obs, masks, episodes
        )

    def _take(self, observed: Any) -> Obs:
        obs = self._layout.batch(observed)
        refuse_bad_obs(obs, self._layout.float_keys, self.spec.id, self._steps)
        return obs

    def _finish(
        self, rows: Array, truncated: Array, obs: Obs, info: dict[str, Any]
    ) -> tuple[Obs, list[Episode]]:
        final = {key: values.copy() for key, values in obs.items()}
        told = info["final_info"]
        episodes = []
        for row in rows:
            self._layout.write(final, row, info["final_obs"][row])
            raw = float(told["raw_return"][row]) if "raw_return" in told else None
            success = bool(told["success"][row]) if "success" in told and told["_success"][row] else None
            episodes.append(self._tally.finish(int(row), bool(truncated[row]), raw, success))
        refuse_bad_obs(final, self._layout.float_keys, self.spec.id, self._steps)
        return final, episodes

    def _masks(self, info: dict[str, Any]) -> Array | None:
        if "action_mask" not in info:
            return self._legal_rows
        masks: Array = info["action_mask"]  # [N, mask_size], built afresh in every step
        if self._legal is not None:
            masks &= self._legal
        refuse_empty(masks, self.spec.action, self.spec.id)
        return masks

    # ------------------------------------------------------------------------ capture and restore

    def capture(self) -> dict[str, Any] | None:
        return {"kind": "replay", "envs": list(self._call("snapshot")), **self._tally.to_json()}

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        known = state["envs"] if state["kind"] == "replay" else []
        snapshots = [known[i] if i < len(known) else None for i in range(self.num_envs)]
        obs, masks, restarted = self._go_to(snapshots, seeds)
        self._tally.clear()
        for env in set(range(self.num_envs)) - set(restarted):
            self._tally.load(state, env)
        self._obs = obs
        return obs, masks, restarted

    def _go_to(self, snapshots: list[Any], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        try:
            self._vec.set_attr("snapshot", list(zip(snapshots, seeds, strict=True)))
        except (EOFError, ConnectionError) as error:
            raise self._worker_died() from error
        restored = self._call("restored")
        obs = self._layout.stack([observed for observed, _, _ in restored])
        info: dict[str, Any] = {}
        if any("action_mask" in one for _, one, _ in restored):
            info["action_mask"] = np.stack([one["action_mask"] for _, one, _ in restored])  # [N, mask_size]
        return obs, self._masks(info), [i for i, (_, _, reached) in enumerate(restored) if not reached]

    # ------------------------------------------------------------------------- death of a worker

    def _survive(self, rewards: Array, terminated: Array, truncated: Array, info: dict[str, Any]) -> Step:
        """Rebuild all workers where the living ones are; episodes that cannot go on count as truncated.

        A dead environment's last transition leads nowhere we know, so its last observation stands in
        for the final one and its reward is 0.
        """
        vec = self._vec
        assert isinstance(vec, Workers)
        before = self._layout.batch(vec.observations)  # of the living: where this step led
        snapshots = vec.ask_living("snapshot")
        dead = list(vec.dead)
        for key, values in before.items():
            values[dead] = self._obs[key][dead]
        vec.close()
        self._vec = self._build()
        self._rebuilt += 1
        seeds = np.random.SeedSequence([self._rebuilt, self._steps]).generate_state(self.num_envs)
        obs, masks, restarted = self._go_to(snapshots, [int(seed) & 0x7FFFFFFF for seed in seeds])
        self._tally.returns += rewards
        self._tally.lengths += 1
        truncated &= ~terminated
        ended = terminated | truncated
        final_obs: Obs = before
        episodes: list[Episode] = []
        if ended.any():
            final_obs, episodes = self._finish(np.flatnonzero(ended), truncated, before, info)
        for env in restarted:
            if not ended[env]:
                truncated[env] = True
                episodes.append(self._tally.finish(env, truncated=True))
        self._obs = obs
        faults = tuple(
            f"The worker of environment {env} of {self.spec.id} died and was rebuilt; its episode was cut."
            for env in dead
        )
        return Step(
            obs,
            rewards.astype(np.float32),
            terminated,
            truncated,
            self._valid,
            final_obs,
            masks,
            episodes,
            faults,
        )

    def _worker_died(self) -> EnvFaultError:
        index = self._vec.first_dead() if isinstance(self._vec, Workers) else 0
        return EnvFaultError(f"the worker process of environment {index} of {self.spec.id} died.")

    def _call(self, name: str) -> tuple[Any, ...]:
        try:
            return self._vec.call(name)
        except (EOFError, ConnectionError) as error:
            raise self._worker_died() from error

    # ---------------------------------------------------------------------------------- the rest

    def render(self) -> list[Array]:
        if not self._render:
            return []
        return [np.asarray(frame) for frame in self._call("render") if frame is not None]

    def close(self) -> None:
        self._vec.close()
