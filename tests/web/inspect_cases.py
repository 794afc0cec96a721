"""Small runs of every kind that the inspector must serve, and an episode of theirs, computed apart."""

from pathlib import Path
from typing import Any

import numpy as np

import gymsolve
from gymsolve.apps.loaded_policy import load_policy
from gymsolve.experience.agent import Agent
from gymsolve.runs.run import Run
from gymsolve.seeding import generator, integer_seeds

_SMALL = {"steps": 64, "env.num_envs": 2, "env.backend": "sync", "algo.num_steps": 32, "eval.episodes": 1}
_SMALL |= {"solved_at": 1e9}
_PARTS = [{"reward_components": {"components": {"effort": 0.5}}}]
_TASKS = {
    "env.tasks": {"usual": {}, "fall": {"kwargs": {"sutton_barto_reward": True}}},
    "algo.normalize_rewards": True,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ppo": ("CartPole-v1", {"net.normalize_obs": "running", "algo.normalize_rewards": True}),
    "recurrent": ("CartPole-v1:positions", {"net.memory.size": 8, "net.memory.inputs": ["action", "reward"]}),
    "continuous": ("Pendulum-v1", {"env.max_episode_steps": 40}),
    "buttons": ("inspect_envs:Buttons-v0", {"net.normalize_obs": "running"}),
    "bandit": ("Bandit-v0", {}),
    "dict": ("inspect_envs:Mixed-v0", {"env.frame_stack": 3, "env.wrappers": _PARTS}),
    "reinforce": ("CartPole-v1:reinforce", {"algo.baseline": "mean"}),
}


def train_case(name: str, folder: Path) -> Run:
    env, more = ("CartPole-v1", _TASKS) if name == "tasks" else CASES[name]
    return gymsolve.train(env, {**_SMALL, **more}, runs_dir=folder).run


def replay(run: Run, seed: int, *, sampled: bool = False) -> dict[str, Any]:
    """The same episode in the vector environment of evaluations, one call of the policy at a time."""
    loaded = load_policy(run)
    envs = loaded.make_envs(1)
    rng = generator(seed, "eval", 0, 1) if sampled else None
    found: dict[str, list[Any]] = {
        name: [] for name in ("obs", "action", "value", "reward", "mask", "memory", "components")
    }
    try:
        obs, masks = envs.reset(integer_seeds(seed, "eval", 1, 0))
        agent = Agent(loaded.policy, 1)
        while True:
            found["obs"].append({key: array[0].copy() for key, array in obs.items()})
            found["mask"].append(None if masks is None else masks[0].copy())
            found["value"].append(float(agent.values(obs)[0]))
            found["memory"].append(None if agent.memory is None else agent.memory[0].copy())
            chosen = agent.choose(obs, masks, rng)
            step = envs.step(loaded.policy.spec.action.to_env(chosen))
            found["action"].append(chosen[0])
            found["reward"].append(float(step.rewards[0]))
            found["components"].append(None if step.components is None else step.components[0])
            agent.hear(step.rewards)
            if step.terminated[0] or step.truncated[0]:
                assert step.final_obs is not None
                found["value"].append(float(agent.values(step.final_obs)[0]))
                found["obs"].append({key: array[0].copy() for key, array in step.final_obs.items()})
                break
            obs, masks = step.obs, step.masks
    finally:
        envs.close()
    return found | {"terminated": bool(step.terminated[0]), "episode": step.episodes[0]}


def brute_advantages(rewards: Any, values: Any, terminated: bool, gamma: float, lam: float) -> Any:
    """Sums of TD errors, written out for every step."""
    steps = len(rewards)
    ends = np.array([0.0 if terminated and t == steps - 1 else 1.0 for t in range(steps)])
    deltas = [rewards[t] + gamma * values[t + 1] * ends[t] - values[t] for t in range(steps)]
    return np.array(
        [sum((gamma * lam) ** (k - t) * deltas[k] for k in range(t, steps)) for t in range(steps)]
    )


def brute_returns(rewards: Any, last_value: float, terminated: bool, gamma: float) -> Any:
    """Discounted sums; what a time limit cut off is worth the value of the last state."""
    steps, tail = len(rewards), 0.0 if terminated else last_value
    return np.array(
        [
            sum(gamma ** (k - t) * rewards[k] for k in range(t, steps)) + gamma ** (steps - t) * tail
            for t in range(steps)
        ]
    )
