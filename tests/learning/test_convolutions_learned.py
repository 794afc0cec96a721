"""Every stack of convolutions learns a task whose answer is in a picture."""

import numpy as np
import pytest

from probes import ImageEnvs, make_algorithm, make_policy, train


@pytest.mark.parametrize(("cnn", "side"), [("nature", 36), ("small", 12), ("impala", 8)])
def test_every_stack_of_convolutions_learns_a_tiny_image_task(cnn, side):
    envs = ImageEnvs(side)
    policy = make_policy(envs.spec, cnn=cnn, hidden=(32,), activation="relu")
    algorithm = make_algorithm(
        "ppo", policy, learning_rate="1e-3 -> 1e-4", gamma=0.0, num_epochs=4, num_minibatches=4, ent_coef=0.01
    )
    train(algorithm, envs, updates=40, num_steps=4)
    quarters = np.arange(200) % 4
    obs = envs.pictures(quarters, np.random.default_rng(99))
    assert (policy.greedy(obs, None)[:, 0] == quarters).mean() > 0.97
    np.testing.assert_allclose(policy.values(obs).mean(), 1.0, atol=0.15)
