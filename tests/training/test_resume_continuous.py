"""A resumed run of SAC or TD3 is the run that was never interrupted. TQC has no state besides SAC's."""

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
    # Checkpoints before the buffer is full, and after its oldest steps were overwritten.
    "sac": ("Pendulum-v1:sac", SMALL | {"algo.buffer_size": 700, "net.normalize_obs": "running"}),
    "td3": ("Pendulum-v1:td3", SMALL | {"algo.target_every": 3, "algo.optimizer.name": "rmsprop"}),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_and_resumed_equals_uninterrupted(case, tmp_path):
    check_that_a_kill_changes_nothing(*CASES[case], tmp_path)
