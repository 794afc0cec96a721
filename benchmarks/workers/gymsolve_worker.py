"""One training with gymsolve at given hyperparameters, as a user's would be: with a run directory,
records and checkpoints. There is no evaluation but the final one, whose time is taken off and told, and
there are no videos, which are made after training.
"""

import tempfile
import time
from typing import Any

from protocol import answer, peak_mib, read_job, seconds_per_env_step, since_launch

job = read_job()

import numpy as np  # noqa: E402

from gymsolve.envs.make import make_envs  # noqa: E402
from gymsolve.experience.episodes import EpisodeWindow  # noqa: E402
from gymsolve.settings.config import EnvConfig  # noqa: E402
from gymsolve.training.observer import Silent  # noqa: E402
from gymsolve.training.planning.plan import plan_run  # noqa: E402
from gymsolve.training.session import start_run  # noqa: E402


class Watch(Silent):
    """When training began, and what its evaluations took."""

    def __init__(self) -> None:
        self.began, self.startup, self.evaluating = 0.0, 0.0, 0.0
        self.engine, self.returned = "", None

    def started(self, run: Any, trainer: Any) -> None:
        self.engine = trainer.engine.name
        self.startup, self.began = since_launch(), time.perf_counter()

    def record(self, record: dict[str, Any]) -> None:
        self.evaluating += record.get("eval/seconds", 0.0)
        self.returned = record.get("rollout/ep_rew_mean") or self.returned


def settings(task: dict[str, Any]) -> dict[str, Any]:
    """The task in our words; a task's `ours` has the last one."""
    batch = task["num_envs"] * task["num_steps"]
    falling = " -> 0" if task["decay"] else ""
    return {
        "seed": job["seed"],
        "steps": task["steps"],
        "env.num_envs": task["num_envs"],
        "eval.every": task["steps"] * 10,
        "eval.episodes": 1,
        "eval.max_steps": 64,
        "video.enabled": False,
        "algo": {
            "name": "ppo",
            "num_steps": task["num_steps"],
            "num_minibatches": max(1, batch // task["batch_size"]),
            "num_epochs": task["num_epochs"],
            "gamma": task["gamma"],
            "gae_lambda": task["gae_lambda"],
            "learning_rate": f"{task['learning_rate']}{falling}",
            "clip_coef": f"{task['clip_coef']}{falling}",
            "ent_coef": task["ent_coef"],
            "normalize_rewards": False,
        },
        **task["ours"],
        **job.get("set", {}),
    }


def add_metrics(count: int) -> None:
    """So many more in every record, under a name that the catalogue keeps for parts of a reward."""
    measured, more = EpisodeWindow.metrics, {f"reward/part_{index}": 1.0 / count for index in range(count)}
    EpisodeWindow.metrics = lambda self: measured(self) | more  # type: ignore[method-assign]


def bare_env(config: EnvConfig) -> float:
    envs = make_envs(config, "train")
    spec, rng = envs.spec.action, np.random.default_rng(0)
    envs.reset(list(range(envs.num_envs)))
    shape = (256, envs.num_envs, spec.size)
    drawn = rng.uniform(-1, 1, shape) if spec.kind == "box" else rng.integers(0, spec.nvec, shape)
    found = seconds_per_env_step(envs.step, [spec.to_env(row) for row in drawn], envs.num_envs)
    envs.close()
    return found


def main() -> None:
    plan = plan_run(job["env_id"], settings(job["task"]))
    if job.get("more_metrics"):
        add_metrics(job["more_metrics"])
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        outcome = start_run(plan, runs_dir=folder, observer=watch, command=["gymsolve", "bench"])
        ended, finished = time.perf_counter(), since_launch()
    trained = peak_mib()
    answer(
        startup=watch.startup,
        seconds=ended - watch.began - watch.evaluating,
        evaluating=watch.evaluating,
        finished=finished - watch.evaluating,
        env_steps=outcome.env_steps,
        mean_return=watch.returned,
        engine=watch.engine,
        training_mib=trained,
        env_step_seconds=bare_env(plan.config.env) if job.get("bare_env", True) else None,
    )


if __name__ == "__main__":  # environments in processes of their own import this file again
    main()
