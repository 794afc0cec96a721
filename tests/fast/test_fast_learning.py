"""What the torch engine learns, the NumPy engine learns: probes here, learning curves under `learn`."""

import numpy as np
import pytest
from fast_pairs import fast_algorithm

from engines import needs_kernels
from gymsolve.envs.make import make_envs
from gymsolve.experience.collect import Collector
from gymsolve.experience.episodes import EpisodeWindow
from gymsolve.fast import FastPolicy
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import EnvConfig, NetConfig
from gymsolve.settings.schedules import Progress
from probes import ALGORITHMS, TARGET, ProbeEnvs, make_algorithm, train

pytestmark = needs_kernels

OPTIONS = {
    "ppo": {"learning_rate": "2e-2 -> 1e-3", "num_epochs": 4, "num_minibatches": 2},
    "a2c": {"learning_rate": "2e-2 -> 1e-3", "normalize_advantages": "rollout"},
    "reinforce": {"learning_rate": "3e-2 -> 1e-3", "value_epochs": 4},
}
UPDATES = {"ppo": 50, "a2c": 150, "reinforce": 100}


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_which_action_pays_is_learned(algo, actions):
    envs = ProbeEnvs("matched", actions)
    policy = FastPolicy(envs.spec, NetConfig(hidden=(16,)), np.random.default_rng(0))
    train(fast_algorithm(algo, policy, gamma=0.5, **OPTIONS[algo]), envs, UPDATES[algo], num_steps=16)
    signs = np.float32([-1.0, 1.0])
    best = policy.spec.action.to_env(policy.greedy({"obs": signs[:, None]}, None))
    if actions == "discrete":
        np.testing.assert_array_equal(best, signs > 0)
    else:
        np.testing.assert_allclose(best[:, 0], TARGET * signs, atol=0.1)


class CartPole:
    """One PPO run on an engine."""

    def __init__(self, engine: str, seed: int) -> None:
        self.envs = make_envs(EnvConfig(id="CartPole-v1", num_envs=8), "train")
        kind, build = {"torch": (Policy, make_algorithm), "numpy": (FastPolicy, fast_algorithm)}[engine]
        self.policy = kind(self.envs.spec, NetConfig(), np.random.default_rng(seed))
        options = {"num_steps": 64, "num_epochs": 8, "learning_rate": "1e-3 -> 1e-4", "gae_lambda": 0.9}
        self.algorithm = build("ppo", self.policy, **options)
        self.collector = Collector(self.envs, self.policy, 64, seed)
        self.acting, self.shuffling = np.random.default_rng(seed), np.random.default_rng(seed + 1)

    def curve(self, updates: int) -> list[float]:
        """Mean return of the last 50 episodes at each update."""
        window, returns = EpisodeWindow(50), []
        for update in range(updates):
            rollout = self.collector.collect(self.acting)
            window.add(rollout.episodes)
            self.algorithm.update(rollout, Progress(update, updates), self.shuffling)
            returns.append(window.mean_return or 0.0)
        self.envs.close()
        return returns


@pytest.mark.learn
def test_learning_curves_on_cartpole_agree_over_seeds():
    """80 updates (41k steps), 5 seeds: the same curve until rounding has grown, and as high afterwards.

    Compared by the mean along the curve: where a run ends differs by hundreds between torch and torch
    with weights changed by 1e-7.
    """
    heights: dict[str, list[float]] = {"torch": [], "numpy": []}
    for seed in range(5):
        theirs, ours = (CartPole(engine, seed).curve(80) for engine in ("torch", "numpy"))
        assert theirs[:8] == ours[:8]  # 256 gradient steps, and not one action differs
        heights["torch"].append(float(np.mean(theirs)))
        heights["numpy"].append(float(np.mean(ours)))
    assert np.mean(heights["numpy"]) == pytest.approx(np.mean(heights["torch"]), rel=0.25)


@pytest.mark.learn
@pytest.mark.parametrize("seed", [1, 2])
def test_every_update_of_a_run_is_the_same_step(seed):
    """From the same weights, moments and rollout, at every stage of 80 updates."""
    torchs, fast = CartPole("torch", seed), CartPole("numpy", seed)
    for update in range(80):
        rollout = torchs.collector.collect(torchs.acting)
        before = torchs.policy.arrays()
        assert fast.policy.load_arrays(before) == []
        fast.algorithm.optimizer.load(torchs.algorithm.optimizer.arrays(), {})
        for run in (torchs, fast):
            run.algorithm.update(rollout, Progress(update, 80), np.random.default_rng(update))
        after, ours = torchs.policy.arrays(), fast.policy.arrays()
        length = sum(np.square(after[name] - before[name]).sum() for name in after) ** 0.5
        error = sum(np.square(after[name] - ours[name]).sum() for name in after) ** 0.5
        assert error < 1e-3 * length
    fast.envs.close()
    torchs.envs.close()
