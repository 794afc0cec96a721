"""A resumed run is the run that was never interrupted: same weights, same metrics, bit for bit.

Here for policy gradients, engines, backends and families of environments; algorithms that learn values of
actions are in `test_resume_values.py`, the other parts of a training in `test_resume_parts.py`.
"""

import signal

import pytest
from killing import KillAt, in_child
from resuming import BUDGET, SHORT, SMALL, assert_same, check_that_a_kill_changes_nothing, metrics

import gymsolve

CASES = {
    "ppo": ("CartPole-v1:ppo", {"net.normalize_obs": "running", "algo.learning_rate": "1e-3 -> 0"}),
    "a2c": ("CartPole-v1:a2c", {"algo.num_steps": 16, "net.normalize_values": "popart"}),
    "reinforce": ("CartPole-v1:reinforce", {"algo.num_steps": 64, "algo.baseline": "mean"}),
    "reinforce-value": ("CartPole-v1:reinforce", {"algo.num_steps": 64}),
    "torch-ppo": ("CartPole-v1:ppo", SHORT | {"engine": "torch", "net.normalize_obs": "running"}),
    "torch-a2c": ("CartPole-v1:a2c", {"engine": "torch", "algo.num_steps": 16}),
    "torch-reinforce": ("CartPole-v1:reinforce", {"engine": "torch", "algo.num_steps": 64}),
    "sync": ("CartPole-v1:ppo", {"env.backend": "sync", "algo.normalize_rewards": True}),
    "async": ("CartPole-v1:ppo", {"env.backend": "async", "env.num_envs": 2, "eval.num_envs": 1} | SHORT),
    "box2d": ("LunarLander-v3:ppo", SMALL),
    "continuous": ("Pendulum-v1:ppo", SMALL | {"net.squash": True}),
    "masked": ("Taxi-v4:ppo", SMALL | SHORT),
    "mujoco": ("Hopper-v5:ppo", SMALL | SHORT),
    "atari_objects": (
        "ALE/Breakout-v5:objects",
        {
            "env.num_envs": 2,
            "env.max_episode_steps": 40,
            "algo.num_steps": 16,
            "algo.num_epochs": 1,
            "net.hidden": [16],
            "steps": 384,
            "checkpoint.every": 96,
            "eval.every": 192,
            "eval.episodes": 2,
        },
    ),
    "atari": (
        "ALE/Breakout-v5:ppo",
        {
            "env.num_envs": 2,
            "env.wrappers": [{"atari": {"size": 42}}, {"clip_reward": {"sign": True}}],
            "env.max_episode_steps": 200,
            "algo.num_steps": 16,
            "algo.num_epochs": 1,
            "net.cnn": "small",
            "net.hidden": [16],
            "steps": 384,
            "checkpoint.every": 96,
            "eval.every": 192,
            "eval.episodes": 2,
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_and_resumed_equals_uninterrupted(case, tmp_path):
    check_that_a_kill_changes_nothing(*CASES[case], tmp_path)


def test_killed_before_the_first_checkpoint_starts_again_from_the_seed(tmp_path):
    straight = gymsolve.train("CartPole-v1", BUDGET, runs_dir=tmp_path / "straight").run

    def die():
        gymsolve.train("CartPole-v1", BUDGET, runs_dir=tmp_path / "killed", observer=KillAt(steps=5))

    assert in_child(die) == signal.SIGKILL
    killed = gymsolve.open_run("@last", runs_dir=tmp_path / "killed")
    gymsolve.resume(killed)
    assert_same(metrics(straight), metrics(killed))
