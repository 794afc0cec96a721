"""One training with Stable-Baselines3; runs in an environment of its own and prints one JSON object."""

import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
began = time.perf_counter()

import torch  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402


def main() -> None:
    env_id, task, seed = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    envs = make_vec_env(env_id, n_envs=task["num_envs"], seed=seed)

    def falling(start: float):
        return (lambda left: start * left) if task["decay"] else start

    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=task["num_steps"],
        batch_size=task["batch_size"],
        n_epochs=task["num_epochs"],
        gamma=task["gamma"],
        gae_lambda=task["gae_lambda"],
        learning_rate=falling(task["learning_rate"]),
        clip_range=falling(task["clip_coef"]),
        ent_coef=task["ent_coef"],
        seed=seed,
        device="cpu",
    )
    started = time.perf_counter()
    model.learn(task["steps"])
    ended = time.perf_counter()
    returns = [episode["r"] for episode in model.ep_info_buffer]
    told = {"startup": started - began, "seconds": ended - started, "env_steps": model.num_timesteps}
    print(json.dumps(told | {"mean_return": sum(returns) / max(1, len(returns))}))


main()
