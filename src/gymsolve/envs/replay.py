"""The outermost wrapper of every environment: it can say where it is, and get there again.

An episode is the random state before its reset plus the actions since; replaying them in a fresh copy
leads to the same state, which a digest of the observation confirms. That holds for any environment
whose randomness comes from `np_random`, as Gymnasium asks, and needs no help from the environment.

The wrapper also adds the environment's number to faults, and cuts `info` down to what the backends read.
Every step of every environment goes through it, so its code is short.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from gymsolve.crash_sites import FAULTS
from gymsolve.envs.backends.episode_stats import ADVICE
from gymsolve.envs.contract import Snapshot
from gymsolve.envs.contract_faults import (
    SPACE_FIX,
    Breach,
    close_env,
    explain_error,
    explain_info,
    explain_type,
    place_of_method,
)
from gymsolve.envs.family_state import load_native, resumes_natively, save_native
from gymsolve.envs.masks import flat_mask
from gymsolve.envs.spaces import ObsLayout
from gymsolve.envs.wrappers.components import RewardComponents
from gymsolve.envs.wrappers.rewards import RawReturn
from gymsolve.envs.wrappers.watch import Watch
from gymsolve.errors import BadNumber, EnvFaultError, GymsolveError
from gymsolve.spec import ActionSpec, Array

Info: TypeAlias = dict[str, Any]
Options: TypeAlias = dict[str, Any] | None

_LONGEST_REPLAY = 200_000
"""Episodes longer than this are not recorded further; they start anew when a run is resumed."""
_SUCCESS_KEYS = ("is_success", "success")
_WHOLE = (int, np.int64)
_NO_TRUTH = (str, bytes, list, tuple, dict, set)


def _as_flag(value: Any) -> bool | None:
    """True or False, also as 1 or 0 and in an array of one; None for all else, such as the text "no"."""
    if not isinstance(value, bool | int | float | np.generic | np.ndarray) or np.size(value) != 1:
        return None
    single = np.asarray(value).item()
    return bool(single) if single in (0, 1) else None


def _success(info: Mapping[str, Any]) -> bool | None:
    """The success of an episode as `info` has it; None where it says nothing."""
    flags = (_as_flag(info[key]) for key in _SUCCESS_KEYS if key in info)
    return next((flag for flag in flags if flag is not None), None)


class Replay(gym.Wrapper[Any, Any, Any, Any]):
    """Records what is needed to reach the present state again."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        index: int,
        name: str,
        action: ActionSpec,
        masked: bool,
        recorders: tuple[RawReturn | None, RewardComponents | None, Watch | None],
    ) -> None:
        super().__init__(env)
        self._index = index
        self._name = name
        self._action = action
        # `tolist` of a NumPy scalar takes as long as the rest of this wrapper.
        self._whole = action.kind == "discrete"
        self._masked = masked
        self._raw, self._parts, self._watch = recorders
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
        self._legal: Array | None = None
        """The mask that came with it, where there are masks."""
        self._configured: Options = None
        """Reset options of coming episodes."""
        self._options: Options = None
        """Reset options of the episode under way."""
        self._next_seed: int | None = None
        """Seed of the episode after a jump: without it, copies that jumped to one place would go on alike."""
        self._native = not masked and resumes_natively(name, env)
        """Is the whole state in a native snapshot, so that nothing has to be replayed?"""
        self.made_by = ""
        """Which settings made it what it is."""

    def configure(self, options: Options) -> None:
        """Reset options of all coming episodes."""
        self._configured = options

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        return self.begin(
            self._next_seed if seed is None else seed, self._configured if options is None else options
        )

    def begin(self, seed: int | None, options: Options) -> tuple[Any, Info]:
        """Begin an episode; the one place where an environment is reset."""
        self._seed, self._options, self._next_seed = seed, options, None
        # A seed decides the episode; without one, its randomness goes on where the last episode stopped.
        self._rng = {} if seed is not None else dict(self.env.unwrapped.np_random.bit_generator.state)
        self._actions = []
        self._steps = 0
        try:
            obs, info = self.env.reset(seed=seed, options=options)
        except GymsolveError:
            raise
        except FAULTS as error:
            raise self._breach(explain_error(error, "reset", self.env), "reset") from error
        if type(info) is not dict and not isinstance(info, Mapping):
            raise self._breach(explain_info(info, "reset", self.env), "reset")
        self._check(obs)
        self._obs = obs
        return obs, self._mask(info) if self._masked else {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        if self._steps < _LONGEST_REPLAY and not self._native:
            self._actions.append(int(action) if self._whole else action.tolist())
        self._steps += 1
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
            reward = float(reward)
        except GymsolveError:
            raise
        except FAULTS as error:
            raise self._breach(explain_error(error, "step", self.env), self._moment()) from error
        if self._raw is not None and not math.isfinite(self._raw.total):
            raise self._bad_reward()  # a wrapper above may have hidden it
        if type(obs) is not np.ndarray or obs.dtype is not self._dtype or obs.shape != self._shape:
            self._check(obs)
        self._obs = obs
        summary: Info = {}
        if terminated or truncated:
            self._check_ends(terminated, truncated)
            summary = self._summary(info)
        elif self._masked:
            summary = self._mask(info)
        if self._parts is not None:
            summary["reward_components"] = self._parts.take()
        if self._watch is not None:
            summary["watched"] = self._watch.take()
        return obs, reward, terminated, truncated, summary

    def _check_ends(self, terminated: Any, truncated: Any) -> None:
        """Refuse what is true whatever it says, such as the text "no"."""
        for name, value in (("terminated", terminated), ("truncated", truncated)):
            if isinstance(value, _NO_TRUTH) and (breach := explain_type(name, value, self.env)) is not None:
                raise self._breach(breach, self._moment())

    def close(self) -> None:
        """Close it; an error is dropped, since nothing depends on it and `describe` has reported it."""
        close_env(self.env, self.label)

    # ------------------------------------------------------------------------------- snapshots

    def snapshot(self, *, native: bool = False) -> Snapshot | None:
        """JSON-ready; None once an episode is too long to be replayed.

        A `native` snapshot, where the family has them, takes no time to go to, and mostly more room; where a
        resume goes by them, there is no other.
        """
        if self._obs is None or (self._steps > _LONGEST_REPLAY and not self._native):
            return None
        state = {
            "seed": self._seed,
            "rng": _listed(self._rng),
            "actions": list(self._actions),
            "digest": _digest(self._layout, self._obs),
            "options": self._options,
            "next_seed": self._next_seed,
        }
        if self._native or native:
            clone = save_native(self._name, self.env, self._obs)
            mask = None if self._legal is None else self._legal.tolist()
            if clone is not None:
                return {**state, "native": clone, "mask": mask, "made_by": self.made_by}
        return state

    def jump(self, state: Snapshot | None, seed: int) -> tuple[Any, Info, bool]:
        """Go to a snapshot of any copy; the seed is that of the episode after it."""
        obs, info, reached = self.restore(state, seed)
        if reached:
            self._next_seed = seed
        return obs, info, reached

    def restore(self, state: Snapshot | None, seed: int) -> tuple[Any, Info, bool]:
        """Go to a snapshot; where that fails, start an episode with the given seed.

        The observation there, its info, and whether the snapshot was reached.
        """
        self._next_seed = None
        try:
            restored = self._go_to(state, seed)
        except EnvFaultError:  # actions that fit the old episode need not fit what came out of the replay
            restored = None
        return (*self.reset(seed=seed), False) if restored is None else (*restored, True)

    def _go_to(self, state: Snapshot | None, seed: int) -> tuple[Any, Info] | None:
        if state is None:
            return None
        return self._load(state, seed) if "native" in state else self._replay(state, seed)

    def _load(self, state: Snapshot, seed: int) -> tuple[Any, Info]:
        if state.get("made_by", self.made_by) != self.made_by:  # older snapshots do not say
            raise self._fault("has other settings than a snapshot, which would bring back its own")
        if self._obs is None:
            self.begin(seed, None)
        self._obs = load_native(self._name, self.env, state["native"])
        self._seed, self._rng = state["seed"], dict(state["rng"])
        self._options, self._actions = state["options"], list(state["actions"])
        self._steps = len(self._actions)
        # Snapshots of older versions do not know of jumps.
        self._next_seed = state.get("next_seed")
        if not self._masked:
            return self._obs, {}
        self._legal = np.array(state["mask"], bool)
        return self._obs, {"action_mask": self._legal}

    def _replay(self, state: Snapshot, seed: int) -> tuple[Any, Info] | None:
        if state["seed"] is None:
            # The episode was not the first one. Seeding first fixes generators of the environment's
            # own that we cannot see; then the recorded state goes where it was before the reset.
            self.begin(seed, None)
            bits = self.env.unwrapped.np_random.bit_generator
            if state["rng"]["bit_generator"] != type(bits).__name__:
                return None
            bits.state = state["rng"]
        # Snapshots of older versions know of neither options nor jumps.
        obs, info = self.begin(state["seed"], state.get("options"))
        for action in state["actions"]:
            obs, _, terminated, truncated, info = self.step(np.asarray(action, dtype=self._action.dtype)[()])
            if terminated or truncated:
                return None
        if _digest(self._layout, self._obs) != state["digest"]:
            return None
        self._next_seed = state.get("next_seed")
        return obs, info

    # ----------------------------------------------------------------------------- info, faults

    def _mask(self, info: Info) -> Info:
        self._require_info(info)
        if "action_mask" not in info:
            raise self._fault('gave no info["action_mask"] although it is expected to')
        try:
            self._legal = flat_mask(info["action_mask"], self._action)
            return {"action_mask": self._legal}
        except ValueError as error:
            raise self._fault(f"gave a wrong action mask: {error}") from error

    def _summary(self, info: Info) -> Info:
        """The facts about a finished episode that go into `info`."""
        self._require_info(info)
        summary: Info = {} if self._raw is None else {"raw_return": self._raw.total}
        success = _success(info)
        return summary if success is None else {**summary, "success": success}

    def _check(self, obs: Any) -> None:
        if type(obs) is np.ndarray:
            if obs.shape == self._shape and obs.dtype == self._dtype:
                return
        elif self._range is not None and type(obs) in _WHOLE and self._range[0] <= obs < self._range[1]:
            return
        problem = self._layout.fault(obs)
        if problem is not None:
            method = "step" if self._steps else "reset"
            place = place_of_method(self.env, method)
            raise self._fault(f"returned an observation outside of its space{place}: {problem}", SPACE_FIX)

    def _require_info(self, info: Any) -> None:
        if type(info) is not dict and not isinstance(info, Mapping):
            method = "step" if self._steps else "reset"
            raise self._breach(explain_info(info, method, self.env), self._moment())

    def _moment(self) -> str:
        return f"step {self._steps} of an episode" if self._steps else "reset"

    def _breach(self, breach: Breach, when: str) -> EnvFaultError:
        return self._fault(f"{breach.what} in {when}", breach.fix)

    def _bad_reward(self) -> EnvFaultError:
        assert self._raw is not None
        bad = BadNumber("reward", str(self._raw.total), env=self._index)
        what = f"{self.label} returned {bad.number} in the raw reward."
        return EnvFaultError(what, hint=ADVICE, bad=bad)

    @property
    def label(self) -> str:
        """Which copy of which environment this is, in words."""
        return f"environment {self._index} of {self._name}"

    def _fault(self, what: str, fix: str | None = None) -> EnvFaultError:
        return EnvFaultError(f"{self.label} {what}.", hint=fix)


def _range(space: gym.spaces.Discrete) -> tuple[int, int]:
    return int(space.start), int(space.start + space.n)


def _digest(layout: ObsLayout, obs: Any) -> str:
    whole = hashlib.sha256()
    for part in layout.leaf_bytes(obs):
        whole.update(part)
    return whole.hexdigest()


def _listed(value: Any) -> Any:
    """Arrays as lists, all the way down: some bit generators keep their key in one."""
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
