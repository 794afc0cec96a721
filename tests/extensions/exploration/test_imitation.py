"""Lessons from the best trajectories: the loss written out, and what a policy has given up."""

import numpy as np
import pytest
import torch
from exploring_envs import archive
from test_exploring import SMALL, configure

from gymsolve.experience.agent import Prefix
from gymsolve.extensions.archive.imitation import self_imitation_loss
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import NetConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec
from gymsolve.training.build import build_trainer
from gymsolve.training.loop import collect, count
from gymsolve.training.observer import Silent


def test_self_imitation_counts_surprise_up_to_a_limit_and_follows_it_beyond():
    log_probs = torch.tensor([-0.1, -4.9, -5.1, -30.0, -2.0], requires_grad=True)
    advantages, weights = torch.tensor([0.5, 3.0, 1.0, 0.25, -1.0]), torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0])
    loss = self_imitation_loss(log_probs, advantages, weights)
    loss.backward()
    assert loss.item() == pytest.approx((0.5 * 0.1 + 2 * 4.9 + 5 + 0.25 * 5) / 5)
    np.testing.assert_allclose(log_probs.grad.numpy(), [-0.1, -0.4, -0.2, -0.05, 0.0], rtol=1e-6)


def test_actions_of_many_numbers_are_learned_although_each_of_them_is_unlikely():
    """Of six numbers with a spread of 1, not even the mean has a density above e⁻⁵."""
    spec = EnvSpec("x", {"obs": ObsSpec("vector", (2,), "float32")}, ActionSpec("box", (6,)))
    policy = Policy(spec, NetConfig(hidden=(4,)), np.random.default_rng(0))
    params, _ = policy({"obs": torch.zeros(1, 2)}, None)
    log_probs = policy.head.log_prob(params, params[:, :6].detach() + 0.1)
    assert log_probs.item() < -5.0
    self_imitation_loss(log_probs, torch.ones(1)).backward()
    assert float(policy.head.linear.bias.grad.abs().min()) > 0.0


@pytest.mark.parametrize("memory", [None, {"cell": "lstm", "size": 8}], ids=["plain", "memory"])
def test_what_a_policy_has_given_up_is_learned_again_from_the_archive(memory):
    """The way to the treasure is known, and the policy is all but sure to go the other way."""
    settings = {"env.kwargs": {"size": 3}, "net.hidden": [8], "net.memory": memory, "steps": 2000}
    settings |= {"explore": "go_explore", "solved_at": 0.9, "algo.learning_rate": 0.01}
    trainer = build_trainer(configure("exploring_envs:DeepSea-v0:ppo", SMALL | settings))
    best = archive(trainer).tasks[0].best
    while best.score < 0.9 and trainer.counters.env_steps < 2000:
        count(trainer, collect(trainer, Silent()), 0.0)
    policy, log = trainer.policy, archive(trainer).log
    with torch.no_grad():
        policy.head.linear.bias += torch.tensor([8.0, 0.0])

    def likely():
        """How likely each step of the best way is."""
        prefix = log.read(log.prefix(max(best.kept).row))
        before = [
            Prefix({k: v[:t] for k, v in prefix.obs.items()}, *(x[:t] for x in prefix[1:])) for t in range(3)
        ]
        remembered = None if memory is None else policy.remember(before)
        return np.exp(
            policy.consider(
                {k: v[:] for k, v in prefix.obs.items()}, None, prefix.actions, remembered
            ).log_probs
        )

    assert likely().max() < 0.002
    rng = np.random.default_rng(0)
    for _ in range(40):
        archive(trainer).lessons.learn(Progress(0, 2000), rng)
    assert likely().min() > 0.5
    trainer.envs.close()
