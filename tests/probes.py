"""Vector environments in plain NumPy, for proofs about rollouts, networks and algorithms.

`RandomEnvs` does anything at any time and remembers it; `ConstantEnvs` and the probes have answers
that are known beforehand. All obey the contract of `gymsolve.envs.contract`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gymsolve.algos.a2c import A2C
from gymsolve.algos.dqn import DQN
from gymsolve.algos.ppo import PPO
from gymsolve.algos.pqn import PQN
from gymsolve.algos.reinforce import Reinforce
from gymsolve.algos.sac import SAC
from gymsolve.algos.td3 import TD3
from gymsolve.algos.tqc import TQC
from gymsolve.envs.contract import Episode, Step
from gymsolve.experience.collect import Collector
from gymsolve.experience.learner import Learner
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.nn.q_policy import QPolicy
from gymsolve.settings.config import (
    A2CConfig,
    DQNConfig,
    NetConfig,
    PPOConfig,
    PQNConfig,
    ReinforceConfig,
    SACConfig,
    TD3Config,
    TQCConfig,
)
from gymsolve.settings.schedules import Progress
from gymsolve.spec import ActionSpec, Array, EnvSpec, Obs, ObsSpec

torch.set_num_threads(1)

ALGORITHMS = {"ppo": (PPO, PPOConfig), "a2c": (A2C, A2CConfig), "reinforce": (Reinforce, ReinforceConfig)}
ACTION_VALUES = {"pqn": (PQN, PQNConfig), "dqn": (DQN, DQNConfig)}
"""Algorithms that learn what actions are worth; their policy is another one."""
CONTINUOUS = {"sac": (SAC, SACConfig), "td3": (TD3, TD3Config), "tqc": (TQC, TQCConfig)}
"""Algorithms for boxes whose actor learns from critics; policies of two kinds serve them."""
PPO_OPTIONS = {
    "defaults": {},
    "rollout_advantages": {"normalize_advantages": "rollout"},
    "raw_advantages": {"normalize_advantages": "none"},
    "value_clipping": {"clip_value": 0.05, "num_epochs": 4},
    "huber": {"value_loss": "huber", "huber_delta": 0.3},
    "huber_clipped": {"value_loss": "huber", "huber_delta": 0.3, "clip_value": 0.05},
    "entropy": {"ent_coef": 0.3, "vf_coef": 0.0},
    "free_gradients": {"max_grad_norm": 0.0},
    "tight_ratio": {"clip_coef": 0.01, "num_epochs": 5},
}
"""Settings of PPO, each of which changes what an update computes."""
ACTIONS = {
    "discrete": ActionSpec("discrete", (), nvec=(5,), start=(0,)),
    "multi_discrete": ActionSpec("multi_discrete", (3,), nvec=(2, 5, 3), start=(0, 1, 0)),
    "multi_binary": ActionSpec("multi_binary", (4,), nvec=(2,) * 4, start=(0,) * 4, dtype="int8"),
    "box": ActionSpec("box", (3,), low=(-2.0, 0.0, -1.0), high=(3.0, 1.0, 1.0), dtype="float32"),
    "squashed": ActionSpec("box", (3,), low=(-2.0, 0.0, -1.0), high=(3.0, 1.0, 1.0), dtype="float32"),
}
CASES = [(kind, False) for kind in ACTIONS] + [
    (k, True) for k in ("discrete", "multi_discrete", "multi_binary")
]
CASE_IDS = [f"{kind}-masked" if masked else kind for kind, masked in CASES]
START = Progress(0, 1000)


def vector(size: int, **more: Any) -> ObsSpec:
    return ObsSpec("vector", (size,), "float32", **more)


def make_spec(
    kind: str = "discrete", *, masked: bool = False, obs: dict[str, ObsSpec] | None = None
) -> EnvSpec:
    return EnvSpec("Random", obs or {"obs": vector(3)}, ACTIONS[kind], masked=masked)


def evaluate_steps(policy, obs, actions, masks):
    """What a policy says of steps given as tensors."""
    return policy.evaluate(Minibatch(obs, actions, masks, torch.zeros(len(actions)), np.arange(len(actions))))


def make_policy(spec: EnvSpec, *, seed: int = 0, **net: Any) -> Policy:
    config = NetConfig.model_validate({"hidden": (8,), **net})
    return Policy(spec, config, np.random.default_rng(seed))


def make_case(kind: str, masked: bool = False, *, envs: dict[str, Any] | None = None, **net: Any) -> Any:
    """Environments that do anything, and a policy with an opinion, for one action space."""
    spec = make_spec(kind, masked=masked)
    policy = make_policy(spec, **{"squash": kind == "squashed", "policy_gain": 1.0, **net})
    return RandomEnvs(policy.spec, **(envs or {})), policy


def make_q_case(masked: bool = False, *, envs: dict[str, Any] | None = None, **net: Any) -> Any:
    """Environments that do anything, and action values with an opinion; half of its actions are random."""
    config = NetConfig.model_validate({"hidden": (8,), "policy_gain": 1.0, **net})
    policy = QPolicy(make_spec(masked=masked), config, np.random.default_rng(0))
    policy.set_epsilon(0.5)
    return RandomEnvs(policy.spec, **(envs or {})), policy


def make_continuous_policy(algo: str, spec: EnvSpec, *, seed: int = 0, **net: Any) -> Any:
    """The policy that an algorithm for boxes learns."""
    config = NetConfig.model_validate({"hidden": (8,), "policy_gain": 1.0, **net})
    return CONTINUOUS[algo][0].make_policy(spec, config, np.random.default_rng(seed))


def make_continuous_case(algo: str, *, envs: dict[str, Any] | None = None, **net: Any) -> Any:
    """Environments that do anything, and an actor with critics that have opinions."""
    policy = make_continuous_policy(algo, make_spec("box"), **net)
    return RandomEnvs(policy.spec, **(envs or {})), policy


def make_algorithm(name: str, policy: Any, **options: Any) -> Learner:
    build, config = (ALGORITHMS | ACTION_VALUES | CONTINUOUS)[name]
    return build(config.model_validate(options), policy)


def gather(envs: Any, policy: Any, num_steps: int, *, seed: int = 0, keeps_ends: bool = False) -> Rollout:
    collector = Collector(envs, policy, num_steps, 0)
    collector.keeps_ends = keeps_ends
    collector.begin(list(range(envs.num_envs)))
    return collector.collect(np.random.default_rng(seed))


def legal(masks: Array, actions: Array, nvec: tuple[int, ...]) -> Array:
    """Whether each row of actions [B, parts] is allowed by masks [B, choices]."""
    offsets = np.concatenate([[0], np.cumsum(nvec)[:-1]])
    return np.take_along_axis(masks, actions + offsets, axis=1).all(axis=1)


class RandomEnvs:
    """Observations, rewards, masks and ends at random; `next_step` resets in a row of its own."""

    def __init__(
        self,
        spec: EnvSpec,
        num_envs: int = 4,
        *,
        ends: float = 0.15,
        cuts: float = 0.15,
        next_step: bool = False,
    ) -> None:
        self.spec, self.num_envs = spec, num_envs
        self._ends, self._cuts, self._next_step = ends, cuts, next_step
        self.steps: list[Step] = []
        self.given: list[Obs] = []

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        self._rng = np.random.default_rng(seeds)
        self._over = np.zeros(self.num_envs, bool)
        self._lengths = np.zeros(self.num_envs, int)
        self.given.append(self._look())
        return self.given[-1], self._mask()

    def _look(self) -> Obs:
        found: Obs = {}
        for key, entry in self.spec.obs.items():
            size = (self.num_envs, *entry.shape)
            if entry.kind == "vector":
                found[key] = self._rng.normal(1.0, 2.0, size).astype(np.float32)
            else:
                high = np.array(entry.nvec).reshape(entry.shape) if entry.nvec else 256
                found[key] = self._rng.integers(0, high, size).astype(entry.dtype)
        return found

    def _mask(self) -> Array | None:
        if not self.spec.masked:
            return None
        parts = []
        for choices in self.spec.action.nvec:
            part = self._rng.random((self.num_envs, choices)) < 0.5
            part[np.arange(self.num_envs), self._rng.integers(0, choices, self.num_envs)] = True
            parts.append(part)
        self.mask = np.concatenate(parts, axis=1)
        return self.mask

    def step(self, actions: Array) -> Step:
        action, n = self.spec.action, self.num_envs
        assert actions.shape == (n, *action.shape)
        assert actions.dtype == action.dtype
        if self.spec.masked:
            index = actions.reshape(n, -1).astype(np.int64) - np.array(action.start)
            assert legal(self.mask, index, action.nvec).all(), "an illegal action was taken"
        if action.kind == "box":
            assert (actions >= np.float32(action.low)).all()
            assert (actions <= np.float32(action.high)).all()
        valid = ~self._over if self._next_step else np.ones(n, bool)
        draw = self._rng.random(n)
        terminated = (draw < self._ends) & valid
        truncated = (draw > 1 - self._cuts) & valid
        rewards = np.where(valid, self._rng.normal(size=n), 0.0).astype(np.float32)
        obs, last = self._look(), self._look()
        ended = terminated | truncated
        self._lengths += valid
        episodes = [
            Episode(i, 1.0, 1.0, int(self._lengths[i]), bool(truncated[i])) for i in np.flatnonzero(ended)
        ]
        self._lengths[ended] = 0
        if self._next_step:
            self._over, last = ended, obs
        masks = self._mask()
        final = last if ended.any() else None
        self.steps.append(Step(obs, rewards, terminated, truncated, valid, final, masks, episodes))
        self.given.append(obs)
        return self.steps[-1]

    def close(self) -> None:
        pass


class ConstantEnvs(RandomEnvs):
    """One state, reward 1 for ever; each episode is cut, or ended, after `length` steps."""

    def __init__(self, spec: EnvSpec, num_envs: int = 4, *, length: int, terminates: bool = False) -> None:
        super().__init__(spec, num_envs)
        self._length, self._terminates = length, terminates

    def step(self, actions: Array) -> Step:
        n = self.num_envs
        self._lengths += 1
        # Copies are out of phase, so that ends fall anywhere in a rollout.
        ended = (self._lengths + np.arange(n)) % self._length == 0
        never = np.zeros(n, bool)
        obs = {key: np.ones((n, *entry.shape), np.float32) for key, entry in self.spec.obs.items()}
        ends = (ended, never) if self._terminates else (never, ended)
        return Step(obs, np.ones(n, np.float32), *ends, ~never, obs if ended.any() else None, None, [])

    def _look(self) -> Obs:
        return {key: np.ones((self.num_envs, *e.shape), np.float32) for key, e in self.spec.obs.items()}


PROBES = ("constant", "observed", "delayed", "acted", "matched")
PROBE_ACTIONS = {
    "discrete": ActionSpec("discrete", (), nvec=(2,), start=(0,)),
    "continuous": ActionSpec("box", (1,), low=(-1.0,), high=(1.0,), dtype="float32"),
}
TARGET = 0.5
"""Of a continuous action where it matters; the reward is 1 − (action − target)²."""


class ProbeEnvs:
    """Five questions, each of which isolates one ability of an actor-critic.

    constant: reward 1 whatever happens.         observed: the reward is the observation, ±1.
    delayed: a reward of 1 one step later.       acted: only one action (or value 0.5) pays.
    matched: which action pays depends on the observation.
    """

    def __init__(self, name: str, actions: str, num_envs: int = 16) -> None:
        self.name, self.num_envs = name, num_envs
        self.spec = EnvSpec(f"Probe-{name}", {"obs": vector(1)}, PROBE_ACTIONS[actions])

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        self._rng = np.random.default_rng(seeds)
        self._second = np.zeros(self.num_envs, bool)
        self._state = self._begin()
        return {"obs": self._state[:, None]}, None

    def _begin(self) -> Array:
        if self.name in ("observed", "matched"):
            return self._rng.choice(np.float32([-1, 1]), self.num_envs)
        return np.zeros(self.num_envs, np.float32)

    def reward(self, state: Array, actions: Array) -> Array:
        """Of environment actions in states [N]."""
        if self.name in ("constant", "delayed"):
            return np.ones(len(state), np.float32)
        if self.name == "observed":
            return state.astype(np.float32)
        sign = state if self.name == "matched" else np.ones(len(state), np.float32)
        if self.spec.action.kind == "box":
            return (1 - (actions[:, 0] - TARGET * sign) ** 2).astype(np.float32)
        return np.where((actions == 1) == (sign > 0), 1.0, -1.0).astype(np.float32)

    def step(self, actions: Array) -> Step:
        n = self.num_envs
        rewards = self.reward(self._state, actions)
        terminated = np.ones(n, bool)
        if self.name == "delayed":
            terminated = self._second.copy()
            rewards = np.where(terminated, rewards, np.float32(0))
            self._second = ~self._second
        last = {"obs": self._state[:, None]}
        self._state = self._second.astype(np.float32) if self.name == "delayed" else self._begin()
        obs, none = {"obs": self._state[:, None]}, np.zeros(n, bool)
        return Step(obs, rewards, terminated, none, ~none, last if terminated.any() else None, None, [])

    def close(self) -> None:
        pass


class ImageEnvs:
    """Which quarter of a noisy picture is bright? One guess, worth 1."""

    def __init__(self, side: int, num_envs: int = 32) -> None:
        self.num_envs, self._side = num_envs, side
        self.spec = EnvSpec(
            "Probe-image",
            {"obs": ObsSpec("image", (1, side, side), "uint8")},
            ActionSpec("discrete", (), nvec=(4,), start=(0,)),
        )

    def pictures(self, quarters: Array, rng: np.random.Generator) -> Obs:
        half = self._side // 2
        images = rng.integers(0, 60, (len(quarters), 1, self._side, self._side)).astype(np.uint8)
        for image, quarter in zip(images, quarters, strict=True):
            row, column = divmod(int(quarter), 2)
            image[0, row * half : (row + 1) * half, column * half : (column + 1) * half] += 180
        return {"obs": images}

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        self._rng = np.random.default_rng(seeds)
        return self._look(), None

    def _look(self) -> Obs:
        self._quarters = self._rng.integers(0, 4, self.num_envs)
        return self.pictures(self._quarters, self._rng)

    def step(self, actions: Array) -> Step:
        rewards = (actions == self._quarters).astype(np.float32)
        last, none = self._look(), np.zeros(self.num_envs, bool)
        return Step(last, rewards, ~none, none, ~none, last, None, [])

    def close(self) -> None:
        pass


def train(
    algorithm: Learner, envs: Any, updates: int, num_steps: int, *, seed: int = 0
) -> list[dict[str, float]]:
    """The training loop, bare: collect, update, again."""
    collector = Collector(envs, algorithm.policy, num_steps, seed)
    collector.keeps_ends = algorithm.keeps_ends
    collector.begin([seed + i for i in range(envs.num_envs)])
    acting, shuffling = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    metrics = []
    for update in range(updates):
        algorithm.prepare(Progress(update, updates))
        rollout = collector.collect(acting)
        metrics.append(algorithm.update(rollout, Progress(update, updates), shuffling))
    return metrics


def same_arrays(one: dict[str, Array], other: dict[str, Array]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k], equal_nan=True) for k in one)


def unbounded(action: ActionSpec) -> ActionSpec:
    return replace(action, low=(), high=(), bounded=False)
