"""One training with rejax: environment, policy and update compiled into one program."""

import time

from protocol import answer, read_job, since_launch

job = read_job()

import jax  # noqa: E402
from rejax import PPO  # noqa: E402


def main() -> None:
    task = job["task"]
    batch = task["num_envs"] * task["num_steps"]
    steps = -(-task["steps"] // batch) * batch
    algo = PPO.create(
        env=job["env_id"],
        agent_kwargs={"activation": "tanh", "hidden_layer_sizes": (64, 64)},
        num_envs=task["num_envs"],
        num_steps=task["num_steps"],
        num_epochs=task["num_epochs"],
        num_minibatches=max(1, batch // task["batch_size"]),
        learning_rate=task["learning_rate"],
        gamma=task["gamma"],
        gae_lambda=task["gae_lambda"],
        clip_eps=task["clip_coef"],
        ent_coef=task["ent_coef"],
        max_grad_norm=0.5,
        total_timesteps=steps,
        eval_freq=steps,
        skip_initial_evaluation=True,
    )
    # No evaluation: it plays 128 episodes, which is not training.
    algo = algo.replace(eval_callback=lambda algo, ts, rng: ())
    program = jax.jit(algo.train).lower(jax.random.PRNGKey(job["seed"])).compile()
    startup, began = since_launch(), time.perf_counter()
    jax.block_until_ready(program(jax.random.PRNGKey(job["seed"])))
    seconds = time.perf_counter() - began
    answer(
        startup=startup,
        seconds=seconds,
        finished=since_launch(),
        env_steps=steps,
        mean_return=None,
        env_step_seconds=None,
    )


main()
