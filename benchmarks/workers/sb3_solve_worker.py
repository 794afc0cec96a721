"""Stable-Baselines3 with the zoo's preset until solved, by gymsolve's rule.

Every so many steps the policy plays some episodes; with the threshold in reach, the long evaluation; if
that meets it, as many episodes again on fresh seeds. Only then is it solved. After the last step of
the budget there is a final verdict, unless the time was over before. Actions are the likeliest ones.
"""

import time
from typing import Any

from protocol import answer, read_job, since_launch

job = read_job()

import numpy as np  # noqa: E402
from sb3_ppo import make_envs, make_model  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402


class EvalScheduler(BaseCallback):
    """Looks at the policy between a rollout's end and the next one, as gymsolve does."""

    def __init__(self) -> None:
        super().__init__()
        self.next_eval = job["every"]
        self.evaluating, self.solved, self.solved_at = 0.0, False, None
        self.judged = -1
        self.envs = make_envs(job["env_id"], job["task"], 10_000 + job["seed"], num_envs=job["episodes"])

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.next_eval:
            self.next_eval = (self.num_timesteps // job["every"] + 1) * job["every"]
            self.judge()

    def _on_step(self) -> bool:
        return not self.solved and not self.late()

    def late(self) -> bool:
        return since_launch() > job["longest"]

    def judge(self) -> None:
        began = time.perf_counter()
        self.judged = self.num_timesteps
        returns = self.play(job["episodes"], 10_000)
        reach = returns.mean() + 2 * returns.std() / np.sqrt(len(returns))
        if reach >= job["threshold"]:
            returns = self.play(job["solved_episodes"], 10_000)
            if returns.mean() >= job["threshold"]:
                again = self.play(job["solved_episodes"], 20_000 + self.num_timesteps)
                self.solved = bool(again.mean() >= job["threshold"])
        self.evaluating += time.perf_counter() - began
        if self.solved:
            self.solved_at = since_launch()

    def play(self, episodes: int, seed: int) -> Any:
        self.envs.seed(seed + job["seed"])
        returns, _ = evaluate_policy(
            self.model, self.envs, n_eval_episodes=episodes, return_episode_rewards=True, warn=False
        )
        return np.array(returns)


def main() -> None:
    task, seed = job["task"], job["seed"]
    model = make_model(PPO, make_envs(job["env_id"], task, seed), task, seed)
    judge = EvalScheduler()
    startup = since_launch()
    model.learn(task["steps"], callback=judge)
    if not judge.solved and not judge.late() and judge.judged != model.num_timesteps:
        judge.judge()
    answer(
        solved=judge.solved,
        env_steps=model.num_timesteps,
        startup=startup,
        from_start=judge.solved_at,
        from_first_step=None if judge.solved_at is None else judge.solved_at - startup,
        evaluating=judge.evaluating,
    )


main()
