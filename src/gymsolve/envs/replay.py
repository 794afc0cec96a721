"""The outermost wrapper of every environment: it can say where it is, and get there again.

An episode is the random state before its reset plus the actions since; replaying them in a fresh copy
leads to the same state, which a digest of the observation confirms. That holds for any environment
whose randomness comes from `np_random`, as Gymnasium asks, and needs no help from the environment.

The same wrapper is where faults get the environment's number, and where `info` is cut down to what
the backends read. Every step of every environment goes through it, so it takes care to be short.
"""

import hashlib
import math
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from gymsolve.envs.backends.episode_stats import ADVICE
from gymsolve.envs.masks import flat_mask
from gymsolve.envs.spaces import ObsLayout
from gymsolve.envs.wrappers.components import RewardComponents
from gymsolve.envs.wrappers.rewards import RawReturn
from gymsolve.errors import BadNumber, EnvFaultError, GymsolveError
from gymsolve.spec import ActionSpec

__all__ = ["Info", "Replay", "Snapshot"]

Info: TypeAlias = dict[str, Any]
Snapshot: TypeAlias = dict[str, Any]

_LONGEST_REPLAY = 200_000
"""Episodes longer than this are not recorded further; they start anew when a run is resumed."""
_SUCCESS_KEYS = ("is_success", "success")
_WHOLE = (int, np.int64)


class Replay(gym.Wrapper[Any, Any, Any, Any]):
    """Records what is needed to reach the present state again."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        index: int,
        name: str,
        action: ActionSpec,
        masked: bool,
        recorders: tuple[RawReturn | None, RewardComponents | None],
    ) -> None:
        super().__init__(env)
        self._index = index
        self._name = name
        self._action = action
        # Of a NumPy scalar, `tolist` takes as long as the rest of this wrapper.
        self._whole = action.kind == "discrete"
        self._masked = masked
        self._raw, self._parts = recorders
        self._layout = ObsLayout(env.observation_space)
        space = env.observation_space
        self._shape = space.shape if isinstance(space, gym.spaces.Box) else None
        self._dtype = space.dtype
        self._range = _range(space) if isinstance(space, gym.spaces.Discrete) else None
        self._seed: int | None = None
        self._rng: dict[str, Any] = {}
        self._actions: list[Any] = []
        self._steps = 0
        self._obs: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self._seed = seed
        # A seed says all there is to know; without one, the episode starts where the last one stopped.
        self._rng = {} if seed is not None else dict(self.env.unwrapped.np_random.bit_generator.state)
        self._actions = []
        self._steps = 0
        try:
            obs, info = self.env.reset(seed=seed, options=options)
        except GymsolveError:
            raise
        except Exception as error:
            raise self._fault(f"raised {_name(error)} in reset") from error
        self._check(obs)
        self._obs = obs
        return obs, self._mask(info) if self._masked else {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        if self._steps < _LONGEST_REPLAY:
            self._actions.append(int(action) if self._whole else action.tolist())
        self._steps += 1
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
            reward = float(reward)
        except GymsolveError:
            raise
        except Exception as error:
            raise self._fault(f"raised {_name(error)} in step {self._steps} of an episode") from error
        if self._raw is not None and not math.isfinite(self._raw.total):
            raise self._bad_reward()  # a wrapper above may have made something harmless of it
        if type(obs) is not np.ndarray or obs.dtype is not self._dtype or obs.shape != self._shape:
            self._check(obs)
        self._obs = obs
        told: Info = {}
        if terminated or truncated:
            told = self._summary(info)
        elif self._masked:
            told = self._mask(info)
        if self._parts is not None:
            told["reward_components"] = self._parts.take()
        return obs, reward, terminated, truncated, told

    # ------------------------------------------------------------------------------- snapshots

    def snapshot(self) -> Snapshot | None:
        """JSON-ready; None once an episode is too long to be replayed."""
        if self._steps > _LONGEST_REPLAY or self._obs is None:
            return None
        return {
            "seed": self._seed,
            "rng": _listed(self._rng),
            "actions": list(self._actions),
            "digest": self._digest(),
        }

    def restore(self, state: Snapshot | None, seed: int) -> tuple[Any, Info, bool]:
        """Go to a snapshot; where that fails, start an episode with the given seed.

        The observation there, its info, and whether the snapshot was reached.
        """
        try:
            restored = self._replay(state, seed) if state is not None else None
        except EnvFaultError:  # actions that fit the old episode need not fit what came out of the replay
            restored = None
        return (*self.reset(seed=seed), False) if restored is None else (*restored, True)

    def _replay(self, state: Snapshot, seed: int) -> tuple[Any, Info] | None:
        if state["seed"] is None:
            # The episode was not the first one. Seeding first fixes generators of the environment's
            # own that we cannot see; then the recorded state goes where it was before the reset.
            self.reset(seed=seed)
            bits = self.env.unwrapped.np_random.bit_generator
            if state["rng"]["bit_generator"] != type(bits).__name__:
                return None
            bits.state = state["rng"]
        obs, info = self.reset(seed=state["seed"])
        for action in state["actions"]:
            obs, _, terminated, truncated, info = self.step(np.asarray(action, dtype=self._action.dtype)[()])
            if terminated or truncated:
                return None
        return (obs, info) if self._digest() == state["digest"] else None

    def _digest(self) -> str:
        whole = hashlib.sha256()
        for part in self._layout.leaf_bytes(self._obs):
            whole.update(part)
        return whole.hexdigest()

    # ----------------------------------------------------------------------------- info, faults

    def _mask(self, info: Info) -> Info:
        if "action_mask" not in info:
            raise self._fault('gave no info["action_mask"] although it is expected to')
        try:
            return {"action_mask": flat_mask(info["action_mask"], self._action)}
        except ValueError as error:
            raise self._fault(f"gave a wrong action mask: {error}") from error

    def _summary(self, info: Info) -> Info:
        """What is told about a finished episode."""
        told: Info = {} if self._raw is None else {"raw_return": self._raw.total}
        for key in _SUCCESS_KEYS:
            if key in info:
                told["success"] = bool(info[key])
                break
        return told

    def _check(self, obs: Any) -> None:
        if type(obs) is np.ndarray:
            if obs.shape == self._shape and obs.dtype == self._dtype:
                return
        elif self._range is not None and type(obs) in _WHOLE and self._range[0] <= obs < self._range[1]:
            return
        problem = self._layout.fault(obs)
        if problem is not None:
            raise self._fault(f"returned an observation outside of its space: {problem}")

    def _bad_reward(self) -> EnvFaultError:
        assert self._raw is not None
        bad = BadNumber("reward", str(self._raw.total), env=self._index)
        what = f"environment {self._index} of {self._name} returned {bad.number} in the raw reward."
        return EnvFaultError(what, hint=ADVICE, bad=bad)

    def _fault(self, what: str) -> EnvFaultError:
        return EnvFaultError(f"environment {self._index} of {self._name} {what}.")


def _range(space: gym.spaces.Discrete) -> tuple[int, int]:
    return int(space.start), int(space.start + space.n)


def _name(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _listed(value: Any) -> Any:
    """Arrays as lists, all the way down: some bit generators keep their key in one."""
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
