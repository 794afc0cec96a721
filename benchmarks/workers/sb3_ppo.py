"""PPO of Stable-Baselines3, and of SBX, which has the same door: environments and model of a task."""

from typing import Any

from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecFrameStack, VecNormalize

__all__ = ["draw_actions", "make_envs", "make_model"]


def make_envs(env_id: str, task: dict[str, Any], seed: int, num_envs: int | None = None) -> VecEnv:
    count = num_envs or task["num_envs"]
    if task.get("objects"):
        from pong_objects import make_pong

        return VecNormalize(make_vec_env(make_pong, n_envs=count, seed=seed), norm_reward=False)
    if not task["pixels"]:
        return make_vec_env(env_id, n_envs=count, seed=seed)
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    # AtariWrapper skips frames itself.
    raw = {"frameskip": 1, "repeat_action_probability": 0.0}
    return VecFrameStack(make_atari_env(env_id, n_envs=count, seed=seed, env_kwargs=raw), 4)


def make_model(algorithm: Any, envs: VecEnv, task: dict[str, Any], seed: int) -> Any:
    def falling(start: float) -> Any:
        return (lambda left: start * left) if task["decay"] else start

    return algorithm(
        "CnnPolicy" if task["pixels"] else "MlpPolicy",
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


def draw_actions(envs: VecEnv) -> list[Any]:
    """Random actions for all environments, many times."""
    import numpy as np

    return [np.array([envs.action_space.sample() for _ in range(envs.num_envs)]) for _ in range(256)]
