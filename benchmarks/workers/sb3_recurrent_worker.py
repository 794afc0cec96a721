"""One training with sb3-contrib's RecurrentPPO; runs in the environment of Stable-Baselines3."""

import time
from typing import Any

from protocol import answer, read_job, seconds_per_env_step, since_launch

job = read_job()

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
from sb3_contrib import RecurrentPPO  # noqa: E402
from sb3_ppo import draw_actions  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402


class Kept(gym.ObservationWrapper[Any, Any, Any]):
    """Some elements of a vector."""

    def __init__(self, env: gym.Env[Any, Any], elements: list[int]) -> None:
        super().__init__(env)
        self.elements, space = np.array(elements), env.observation_space
        self.observation_space = gym.spaces.Box(space.low[self.elements], space.high[self.elements])

    def observation(self, observation: Any) -> Any:
        return observation[self.elements]


def main() -> None:
    task, seed = job["task"], job["seed"]

    def falling(start: float) -> Any:
        return (lambda left: start * left) if task["decay"] else start

    envs = make_vec_env(
        job["env_id"],
        n_envs=task["num_envs"],
        seed=seed,
        wrapper_class=Kept,
        wrapper_kwargs={"elements": task["kept"]},
    )
    model = RecurrentPPO(
        "MlpLstmPolicy",
        envs,
        n_steps=task["num_steps"],
        batch_size=task["batch_size"],
        n_epochs=task["num_epochs"],
        gamma=task["gamma"],
        gae_lambda=task["gae_lambda"],
        learning_rate=falling(task["learning_rate"]),
        clip_range=falling(task["clip_coef"]),
        ent_coef=task["ent_coef"],
        policy_kwargs={"lstm_hidden_size": task["memory"], "net_arch": [64], "enable_critic_lstm": True},
        seed=seed,
        device="cpu",
    )
    startup, began = since_launch(), time.perf_counter()
    model.learn(task["steps"])
    ended = time.perf_counter()
    returns = [episode["r"] for episode in model.ep_info_buffer]
    envs.reset()
    answer(
        startup=startup,
        seconds=ended - began,
        env_steps=model.num_timesteps,
        mean_return=sum(returns) / len(returns) if returns else None,
        env_step_seconds=seconds_per_env_step(envs.step, draw_actions(envs), envs.num_envs),
    )


main()
