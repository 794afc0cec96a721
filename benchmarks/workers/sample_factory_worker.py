"""One training with Sample Factory, in one process or in its usual several; runs in its environment.

Its clock starts at the first update: what comes before cannot be told from building things.
"""

import tempfile
import time
from typing import Any

from protocol import answer, read_job, since_launch

job = read_job()

import gymnasium as gym  # noqa: E402
from sample_factory.algo.runners.runner import AlgoObserver  # noqa: E402
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args  # noqa: E402
from sample_factory.envs.env_utils import register_env  # noqa: E402
from sample_factory.train import make_runner  # noqa: E402


class Clock(AlgoObserver):
    """Notes how many steps were learned from, and when."""

    def __init__(self) -> None:
        self.points: list[tuple[float, int]] = []
        self.startup = 0.0

    def on_training_step(self, runner: Any, training_iteration_since_resume: int) -> None:
        self.startup = self.startup or since_launch()
        self.points.append((time.perf_counter(), sum(runner.env_steps.values())))


def make_env(name: str, cfg: Any = None, env_config: Any = None, render_mode: str | None = None) -> gym.Env:
    if not job["task"]["pixels"]:
        return gym.make(name, render_mode=render_mode)
    import ale_py  # noqa: F401  # registers its environments
    from sf_examples.atari.atari_utils import make_atari_env

    return make_atari_env(name, cfg, env_config, render_mode)


_VECTORS = {"actor_critic_share_weights": False, "encoder_mlp_layers": (64, 64), "nonlinearity": "tanh"}
_PIXELS = {
    "actor_critic_share_weights": True,
    "encoder_conv_architecture": "convnet_atari",
    "nonlinearity": "relu",
    "obs_scale": 255.0,
    "env_frameskip": 4,
    "env_framestack": 4,
}


def arguments(env_id: str, task: dict[str, Any], serial: bool, folder: str) -> list[str]:
    batch = task["num_envs"] * task["num_steps"]
    minibatches = max(1, batch // task["batch_size"])
    workers = 1 if serial else min(2, task["num_envs"])
    values = {
        "algo": "APPO",
        "env": env_id,
        "experiment": "bench",
        "train_dir": folder,
        "device": "cpu",
        "seed": job["seed"],
        "serial_mode": serial,
        "async_rl": not serial,
        "num_workers": workers,
        "num_envs_per_worker": task["num_envs"] // workers,
        "worker_num_splits": 1 if serial else 2,
        # Trajectories longer than a minibatch are refused; shorter ones give as many samples per update.
        "rollout": min(task["num_steps"], batch // minibatches),
        "recurrence": 1,
        "use_rnn": False,
        "batch_size": batch // minibatches,
        "num_batches_per_epoch": minibatches,
        "num_epochs": task["num_epochs"],
        "gamma": task["gamma"],
        "gae_lambda": task["gae_lambda"],
        "learning_rate": task["learning_rate"],
        "ppo_clip_ratio": task["clip_coef"],
        "exploration_loss_coeff": task["ent_coef"],
        "value_loss_coeff": 0.5,
        "max_grad_norm": 0.5,
        "with_vtrace": False,
        "normalize_input": False,
        "normalize_returns": False,
        "summaries_use_frameskip": False,
        **(_PIXELS if task["pixels"] else _VECTORS),
        "train_for_env_steps": task["steps"],
        "save_every_sec": 10_000,
        "stats_avg": 10,
        "with_wandb": False,
    }
    return [word for key, value in values.items() for word in _option(key, value)]


def _option(key: str, value: Any) -> list[str]:
    return [f"--{key}", *map(str, value)] if isinstance(value, tuple) else [f"--{key}={value}"]


def main() -> None:
    register_env(job["env_id"], make_env)
    with tempfile.TemporaryDirectory() as folder:
        words = arguments(job["env_id"], job["task"], job["serial"], folder)
        parser, _ = parse_sf_args(argv=words)
        if job["task"]["decay"]:
            parser.set_defaults(lr_schedule="linear_decay")  # which its command line does not take
        _, runner = make_runner(parse_full_cfg(parser, argv=words))
        clock = Clock()
        runner.register_observer(clock)
        runner.init()
        runner.run()
    (began, before), (ended, after) = clock.points[0], clock.points[-1]
    answer(
        startup=clock.startup,
        seconds=ended - began,
        env_steps=after - before,
        mean_return=None,
        env_step_seconds=None,
    )


if __name__ == "__main__":
    main()
