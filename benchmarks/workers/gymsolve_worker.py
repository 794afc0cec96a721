"""One training with gymsolve at given hyperparameters; prints one JSON object."""

import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
began = time.perf_counter()

from gymsolve.training.loop import collect, count  # noqa: E402
from gymsolve.training.observer import Silent  # noqa: E402
from gymsolve.training.plan import plan_run  # noqa: E402
from gymsolve.training.trainer import build_trainer  # noqa: E402


def main() -> None:
    env_id, task, seed, engine = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    batch = task["num_envs"] * task["num_steps"]
    falling = " -> 0" if task["decay"] else ""
    settings = {
        "engine": engine,
        "seed": seed,
        "steps": task["steps"],
        "env.num_envs": task["num_envs"],
        "algo": {
            "name": "ppo",
            "num_steps": task["num_steps"],
            "num_minibatches": batch // task["batch_size"],
            "num_epochs": task["num_epochs"],
            "gamma": task["gamma"],
            "gae_lambda": task["gae_lambda"],
            "learning_rate": f"{task['learning_rate']}{falling}",
            "clip_coef": f"{task['clip_coef']}{falling}",
            "ent_coef": task["ent_coef"],
            "normalize_rewards": False,
        },
    }
    trainer = build_trainer(plan_run(env_id, settings).config)
    started = time.perf_counter()
    collecting = 0.0
    while trainer.counters.env_steps < task["steps"]:
        before = time.perf_counter()
        rollout = collect(trainer, Silent())
        collecting += time.perf_counter() - before
        trainer.averager.add(trainer.algorithm.update(rollout, trainer.progress, trainer.minibatch_rng))
        count(trainer, rollout, 0.0)
    seconds = time.perf_counter() - started
    told = {"startup": started - began, "seconds": seconds, "env_steps": trainer.counters.env_steps}
    print(json.dumps(told | {"mean_return": trainer.window.mean_return, "collecting": collecting}))


main()
