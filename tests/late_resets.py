"""A family of somebody else's: CartPole as Gymnasium's vector class steps it, which resets a step late.

The step after an end ignores its action and is marked as not valid. The contract allows that, and no backend
of ours does it.
"""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from gymsolve.envs.backends import Fixed, bare_obstacle
from gymsolve.envs.backends.episode_stats import EpisodeStats
from gymsolve.envs.build import find_spec, notes_on
from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.families import Backend, Family, by_namespace
from gymsolve.envs.spaces import ObsLayout, action_spec
from gymsolve.seeding import save_generator
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import Array, EnvSpec, Obs

ID = "late_resets:Late/CartPole-v1"
_CLASSIC = "gymnasium.envs.classic_control.cartpole"
_LIMIT = 500

for version in (0, 1):
    gym.register(
        f"Late/CartPole-v{version}",
        entry_point=f"{_CLASSIC}:CartPoleEnv",
        vector_entry_point=f"{_CLASSIC}:CartPoleVectorEnv",
        max_episode_steps=_LIMIT,
        reward_threshold=475.0,
    )


class LateEnvs(Fixed):
    """`Envs` over CartPole's vector class."""

    no_jumps = "has one generator for all environments, so that none of them can be put elsewhere"
    backend = "late/next_step"

    def __init__(self, config: EnvConfig, role: Role, num_envs: int) -> None:
        self.num_envs = num_envs
        registered = find_spec(config.id)
        limit = config.max_episode_steps or registered.max_episode_steps
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about an old version; the spec has a note
            vec = gym.make_vec(registered.id, num_envs, "vector_entry_point", max_episode_steps=limit)
        assert isinstance(vec, CartPoleVectorEnv)
        self._vec = vec
        self._layout = ObsLayout(vec.single_observation_space)
        self.spec = EnvSpec(
            config.id,
            self._layout.specs,
            action_spec(vec.single_action_space),
            reward_threshold=registered.reward_threshold,
            max_episode_steps=limit,
            notes=notes_on(registered),
        )
        self._stats = EpisodeStats(num_envs)

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        joint = np.random.SeedSequence(seeds).generate_state(1)[0]  # all rows have one generator
        observed, _ = self._vec.reset(seed=int(joint))
        self._stats.clear()
        return self._layout.batch(observed), None

    def step(self, actions: Array) -> Step:
        valid = ~self._vec.prev_done  # [N]
        observed, rewards, terminated, truncated, _ = self._vec.step(actions)
        obs = {"obs": np.ascontiguousarray(observed)}
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

    def capture(self) -> dict[str, Any]:
        assert self._vec.state is not None
        return {
            "kind": "late",
            "state": self._vec.state.tolist(),
            "steps": self._vec.steps.tolist(),
            "prev_done": self._vec.prev_done.tolist(),
            "rng": save_generator(self._vec.np_random),
            **self._stats.to_json(),
        }

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, None, list[int]]:
        if state["kind"] != "late" or len(state["steps"]) != self.num_envs:
            return *self.reset(seeds), list(range(self.num_envs))
        self._vec.reset(seed=0)
        inner: Any = self._vec  # its attributes are annotated as None
        inner.state = np.array(state["state"])  # [4, N]
        inner.steps = np.array(state["steps"], dtype=np.int32)  # [N]
        inner.prev_done = np.array(state["prev_done"], dtype=bool)  # [N]
        self._vec.np_random.bit_generator.state = state["rng"]
        for env in range(self.num_envs):
            self._stats.load(state, env)
        return self._layout.batch(inner.state.T.astype(np.float32)), None, []

    def render(self) -> list[Array]:
        return []

    def close(self) -> None:
        self._vec.close()


BACKEND = Backend(bare_obstacle, LateEnvs)
FAMILY = Family(
    "late", owns=by_namespace("Late"), backends={"late/next_step": "late_resets:BACKEND"}, title="Late resets"
)
