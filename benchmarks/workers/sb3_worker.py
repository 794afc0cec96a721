"""One training with Stable-Baselines3 or SBX; runs in its environment.

SBX compiles while it collects and learns for the first time, so its clock starts after the first update.
"""

import time

from protocol import answer, read_job, seconds_per_env_step, since_launch

job = read_job()

from sb3_ppo import draw_actions, make_envs, make_model  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402


class Clock(BaseCallback):
    """Notes when each rollout begins."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[tuple[float, int]] = []

    def _on_rollout_start(self) -> None:
        self.starts.append((time.perf_counter(), self.num_timesteps))

    def _on_step(self) -> bool:
        return True


def main() -> None:
    task, seed, warm = job["task"], job["seed"], job["tool"] == "sbx"
    if warm:
        from sbx import PPO
    else:
        from stable_baselines3 import PPO
    envs = make_envs(job["env_id"], task, seed)
    model = make_model(PPO, envs, task, seed)
    clock = Clock()
    startup = since_launch()
    extra = task["num_envs"] * task["num_steps"] if warm else 0
    model.learn(task["steps"] + extra, callback=clock)
    ended = time.perf_counter()
    began, done_before = clock.starts[1 if warm else 0]
    if warm:
        startup += began - clock.starts[0][0]
    returns = [episode["r"] for episode in model.ep_info_buffer]
    envs.reset()
    answer(
        startup=startup,
        seconds=ended - began,
        env_steps=model.num_timesteps - done_before,
        mean_return=sum(returns) / len(returns) if returns else None,
        env_step_seconds=seconds_per_env_step(envs.step, draw_actions(envs), envs.num_envs),
    )


main()
