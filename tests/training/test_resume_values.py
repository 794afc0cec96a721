"""A resumed run that learns values of actions is the run that was never interrupted.

TQC has no state besides SAC's.
"""

import pytest
from resuming import SHORT, check_that_a_kill_changes_nothing

SMALL = SHORT | {
    "env.num_envs": 2,
    "algo.gradient_steps": 0.3,
    "algo.batch_size": 16,
    "algo.learning_starts": 200,
    "net.hidden": [16],
}
CASES = {
    "pqn": ("CartPole-v1:pqn", {"net.normalize_obs": "running"}),
    # Checkpoints before the buffer is full, and after its oldest steps were overwritten.
    "dqn": (
        "CartPole-v1:dqn",
        SHORT | {"net.normalize_obs": "running", "algo.buffer_size": 700, "algo.learning_starts": 100},
    ),
    "dqn-soft": (
        "CartPole-v1:dqn",
        SHORT
        | {
            "env.backend": "async",
            "env.num_envs": 2,
            "eval.num_envs": 1,
            "net.duelling": True,
            "algo.tau": 0.01,
            "algo.target_every": 1,
            "algo.gradient_steps": 0.3,
            "algo.learning_starts": 100,
        },
    ),
    "dqn-masked": (
        "CartPole-v1:dqn",
        SHORT | {"env.legal_actions": [0, 1], "algo.buffer_size": 400, "algo.learning_starts": 100},
    ),
    "dqn-images": (
        "training_envs:Dot-v0:dqn",
        SHORT
        | {
            "env.num_envs": 4,
            "env.frame_stack": 2,
            "net.cnn": "small",
            "net.hidden": [16],
            "algo.buffer_size": 600,
            "algo.batch_size": 16,
            "algo.learning_starts": 100,
        },
    ),
    "sac": ("Pendulum-v1:sac", SMALL | {"algo.buffer_size": 700, "net.normalize_obs": "running"}),
    "td3": ("Pendulum-v1:td3", SMALL | {"algo.target_every": 3, "algo.optimizer.name": "rmsprop"}),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_and_resumed_equals_uninterrupted(case, tmp_path):
    check_that_a_kill_changes_nothing(*CASES[case], tmp_path)
