"""Behaviour cloning of CartPole's expert: from 20 recorded episodes to 475, without a step of its own."""

import pytest

import gymsolve
from gymsolve.apps.video.record import RecordRequest, record_run


@pytest.mark.learn
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_an_expert_is_cloned_from_20_episodes(seed, tmp_path):
    expert = gymsolve.train("CartPole-v1", seed=1, runs_dir=tmp_path)
    assert expert.solved
    record_run(f"{expert.run.path}@best", RecordRequest(episodes=20, data=True), runs_dir=tmp_path)
    settings = {"imitate.episodes": [str(expert.run.path)], "imitate.rollouts": False}
    clone = gymsolve.train("CartPole-v1:ppo", settings, seed=seed, steps=50_000, runs_dir=tmp_path)
    assert clone.solved
    assert clone.mean_reward >= 475
