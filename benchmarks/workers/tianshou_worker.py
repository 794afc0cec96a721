"""One training with Tianshou's procedural interface; runs in its environment."""

import time
from typing import Any

from protocol import answer, read_job, seconds_per_env_step, since_launch

job = read_job()

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from tianshou.algorithm import PPO  # noqa: E402
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy  # noqa: E402
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear  # noqa: E402
from tianshou.data import Collector, VectorReplayBuffer  # noqa: E402
from tianshou.env import DummyVectorEnv  # noqa: E402
from tianshou.trainer import OnPolicyTrainerParams  # noqa: E402
from tianshou.utils.net.common import Net  # noqa: E402
from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic  # noqa: E402
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic  # noqa: E402


def make_env(env_id: str, pixels: bool) -> gym.Env:
    if not pixels:
        return gym.make(env_id)
    # Its own Atari wrappers do not work with this NumPy; Gymnasium's do the same.
    import ale_py
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation, TransformReward

    gym.register_envs(ale_py)
    raw = gym.make(env_id, frameskip=1, repeat_action_probability=0.0)
    seen = FrameStackObservation(AtariPreprocessing(raw, terminal_on_life_loss=True), 4)
    return TransformReward(seen, lambda reward: float(np.sign(reward)))


def make_policy(env: gym.Env, pixels: bool) -> tuple[ProbabilisticActorPolicy, torch.nn.Module]:
    """Actor and critic: two networks of 64 × 64 tanh, or one shared Nature CNN."""
    space = env.action_space
    if pixels:
        from tianshou.env.atari.atari_network import DQNet, ScaledObsInputActionReprNet

        trunk = DQNet(*env.observation_space.shape, space.n, features_only=True, output_dim_added_layer=512)
        shared = ScaledObsInputActionReprNet(trunk)
        bodies = (shared, shared)
    else:
        facts: dict[str, Any] = {"hidden_sizes": (64, 64), "activation": torch.nn.Tanh}
        bodies = tuple(Net(state_shape=env.observation_space.shape, **facts) for _ in range(2))
    if isinstance(space, gym.spaces.Discrete):
        actor = DiscreteActor(preprocess_net=bodies[0], action_shape=space.n, softmax_output=False)
        critic: torch.nn.Module = DiscreteCritic(preprocess_net=bodies[1])
        policy = ProbabilisticActorPolicy(
            actor=actor,
            dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
            action_space=space,
            action_scaling=False,
            action_bound_method=None,
        )
        return policy, critic
    gaussian = ContinuousActorProbabilistic(
        preprocess_net=bodies[0], action_shape=space.shape, unbounded=True
    )
    policy = ProbabilisticActorPolicy(
        actor=gaussian,
        dist_fn=lambda pair: torch.distributions.Independent(torch.distributions.Normal(*pair), 1),
        action_space=space,
    )
    return policy, ContinuousCritic(preprocess_net=bodies[1])


def main() -> None:
    task, seed = job["task"], job["seed"]
    torch.manual_seed(seed)
    pixels, count = task["pixels"], task["num_envs"]
    envs = DummyVectorEnv([lambda: make_env(job["env_id"], pixels) for _ in range(count)])
    envs.seed(seed)
    policy, critic = make_policy(make_env(job["env_id"], pixels), pixels)
    optimizer = AdamOptimizerFactory(lr=task["learning_rate"])
    batch = count * task["num_steps"]
    epochs = max(1, task["steps"] // batch)
    if task["decay"]:
        optimizer.with_lr_scheduler_factory(
            LRSchedulerFactoryLinear(
                max_epochs=epochs, epoch_num_steps=batch, collection_step_num_env_steps=batch
            )
        )
    algorithm = PPO(
        policy=policy,
        critic=critic,
        optim=optimizer,
        eps_clip=task["clip_coef"],
        ent_coef=task["ent_coef"],
        max_grad_norm=0.5,
        gae_lambda=task["gae_lambda"],
        gamma=task["gamma"],
    )
    collector = Collector(algorithm, envs, VectorReplayBuffer(batch, count))
    params = OnPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=epochs * batch,
        collection_step_num_env_steps=batch,
        batch_size=task["batch_size"],
        update_step_num_repetitions=task["num_epochs"],
        verbose=False,
        show_progress=False,
    )
    startup, began = since_launch(), time.perf_counter()
    told = algorithm.run_training(params)
    seconds = time.perf_counter() - began
    space = envs.action_space[0]
    draws = [np.array([space.sample() for _ in range(count)]) for _ in range(256)]
    envs.reset()
    answer(
        startup=startup,
        seconds=seconds,
        env_steps=told.train_step,
        mean_return=None,
        env_step_seconds=seconds_per_env_step(envs.step, draws, count),
    )


main()
