"""The contract over environments that bring their own vector class.

These reset one step late: the step after an end ignores its action and is marked as not valid. Only the
classes listed here are used; the autoreset, time limit and state of each were checked by reading its code.
"""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from gymsolve.envs.backends import Fixed
from gymsolve.envs.backends.episode_stats import EpisodeStats
from gymsolve.envs.build import find_spec, notes_on
from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.spaces import ObsLayout, action_spec
from gymsolve.seeding import save_generator
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import Array, EnvSpec, Obs

NATIVE_OPTIONS: dict[str, frozenset[str]] = {
    "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv": frozenset({"sutton_barto_reward"}),
}
"""Vector classes known to obey the contract, and the options each shares with its single environment."""


class NativeEnvs(Fixed):
    """`Envs` over CartPole's vector class."""

    no_jumps = "has one generator for all environments, so that none of them can be put elsewhere"

    backend = "native"

    def __init__(self, vec: CartPoleVectorEnv, spec: EnvSpec, layout: ObsLayout, *, render: bool) -> None:
        self._vec = vec
        self.num_envs = vec.num_envs
        self.spec = spec
        self._layout = layout
        self._render = render
        self._stats = EpisodeStats(self.num_envs)

    @classmethod
    def make(cls, config: EnvConfig, num_envs: int, *, render: bool) -> "NativeEnvs":
        registered = find_spec(config.id)
        limit = config.max_episode_steps or registered.max_episode_steps
        options = {**config.kwargs, "max_episode_steps": limit}
        if render:
            options["render_mode"] = "rgb_array"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vec = gym.make_vec(config.id, num_envs, "vector_entry_point", **options)
        assert isinstance(vec, CartPoleVectorEnv)
        layout = ObsLayout(vec.single_observation_space)
        spec = EnvSpec(
            id=config.id,
            obs=layout.specs,
            action=action_spec(vec.single_action_space),
            reward_threshold=registered.reward_threshold,
            max_episode_steps=limit,
            notes=notes_on(registered),
        )
        return cls(vec, spec, layout, render=render)

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        # The class has one generator for all rows, so all seeds together decide.
        joint = np.random.SeedSequence(seeds).generate_state(1)[0]
        observed, _ = self._vec.reset(seed=int(joint))
        self._stats.clear()
        return self._layout.batch(observed), None

    def step(self, actions: Array) -> Step:
        valid = ~self._vec.prev_done  # [N]
        observed, rewards, terminated, truncated, _ = self._vec.step(actions)
        obs = {"obs": np.ascontiguousarray(observed)}  # fresh in every step; no row of it can be NaN
        self._stats.returns += rewards
        self._stats.lengths += valid
        truncated = truncated & ~terminated
        ended = self._vec.prev_done  # [N]
        final_obs: Obs | None = None
        episodes: list[Episode] = []
        if ended.any():
            final_obs = {key: values.copy() for key, values in obs.items()}
            episodes = [self._stats.finish(int(row), bool(truncated[row])) for row in np.flatnonzero(ended)]
        return Step(obs, rewards, terminated, truncated, valid, final_obs, None, episodes)

    def capture(self) -> dict[str, Any] | None:
        if self._vec.state is None:
            return None
        return {
            "kind": "cartpole",
            "state": self._vec.state.tolist(),
            "steps": self._vec.steps.tolist(),
            "prev_done": self._vec.prev_done.tolist(),
            "rng": save_generator(self._vec.np_random),
            **self._stats.to_json(),
        }

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, None, list[int]]:
        if state["kind"] != "cartpole" or len(state["steps"]) != self.num_envs:
            obs, _ = self.reset(seeds)
            return obs, None, list(range(self.num_envs))
        self._vec.reset(seed=0)
        inner: Any = self._vec  # its attributes are annotated as None
        inner.state = np.array(state["state"])  # [4, N]
        self._vec.steps = np.array(state["steps"], dtype=np.int32)  # [N]
        self._vec.prev_done = np.array(state["prev_done"], dtype=bool)  # [N]
        self._vec.np_random.bit_generator.state = state["rng"]
        for env in range(self.num_envs):
            self._stats.load(state, env)
        return self._layout.batch(inner.state.T.astype(np.float32)), None, []

    def render(self) -> list[Array]:
        drawing: Any = self._vec
        return [np.asarray(frame) for frame in drawing.render()] if self._render else []

    def close(self) -> None:
        self._vec.close()
