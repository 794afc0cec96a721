"""The short trainings that `make same` compares, as command lines of `gymsolve`.

Each lasts a few seconds, most of them for starting Python. Together they pass through every part of training:
algorithms, engines, kinds of networks and spaces, extensions, processes, forks and resumes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BRIEF: dict[str, Any] = {
    "env.num_envs": 4,
    "net.hidden": [16],
    "steps": 1024,
    "checkpoint.every": 256,
    "checkpoint.keep": None,
    "eval.every": 512,
    "eval.episodes": 3,
    "eval.num_envs": 1,
    "solved_at": 1e9,
    "video.enabled": False,
    "seed": 3,
    "threads": 1,
}
PPO = {"algo.num_steps": 32, "algo.num_epochs": 2, "algo.num_minibatches": 2}
SHORT = {"steps": 512, "checkpoint.every": 128, "eval.every": 256}
NUMPY, TORCH = {"engine": "numpy"}, {"engine": "torch"}
MEMORY = {
    "algo.num_epochs": 2,
    "algo.num_minibatches": 2,
    "net.memory.size": 8,
    "net.memory.sequence": 8,
    "net.memory.inputs": ["action", "reward"],
}
LADDER = {
    "env.tasks": {"short": {"max_episode_steps": 15}, "long": {}},
    "curriculum": {"stages": ["short", "long"], "promote_at": 10.0, "episodes": 10},
}
DQN = {
    "algo.learning_starts": 64,
    "algo.buffer_size": 300,
    "algo.batch_size": 16,
    "algo.target_every": 20,
    "algo.gradient_steps": 0.5,
    "algo.gamma": 0.98,
    "algo.learning_rate": "1e-3 -> 0",
    "algo.epsilon": {"start": 1, "end": 0.02, "until": "20%"},
}
BONUS = PPO | SHORT | {"explore.hidden": [16], "explore.features": 8}


@dataclass(frozen=True)
class Case:
    """One training, and what may follow it."""

    env: str
    settings: Mapping[str, Any]
    then: tuple[str, ...] = ()
    """A second command; `{run}` is the folder of the first run, and `{settings}` stands for all settings."""
    repeats: bool = False
    """The second command must give what the first one gave."""

    def commands(self) -> list[list[str]]:
        """Words after `gymsolve`; `{run}` is still to be filled in."""
        words: list[str] = []
        for path, value in (BRIEF | dict(self.settings)).items():
            words += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
        commands = [["train", self.env, *words, "--yes"]]
        if self.then:
            second = [part for word in self.then for part in (words if word == "{settings}" else [word])]
            commands.append(second)
        return [[*command, "--json", "--quiet"] for command in commands]


CASES: dict[str, Case] = {
    "ppo-numpy": Case("CartPole-v1:ppo", PPO | NUMPY | {"algo.learning_rate": "1e-3 -> 0"}),
    "ppo-torch": Case("CartPole-v1:ppo", PPO | TORCH | {"net.dropout": 0.1, "net.layer_norm": True}),
    "a2c-numpy": Case("CartPole-v1:a2c", NUMPY | {"algo.num_steps": 16}),
    "a2c-torch": Case("CartPole-v1:a2c", TORCH | {"algo.num_steps": 16, "net.normalize_values": "popart"}),
    "reinforce-numpy": Case("CartPole-v1:reinforce", NUMPY | {"algo.num_steps": 64}),
    "reinforce-torch": Case("CartPole-v1:reinforce", TORCH | {"algo.num_steps": 64, "algo.baseline": "mean"}),
    "memory-lstm": Case("CartPole-v1:positions", MEMORY),
    "memory-gru": Case(
        "CartPole-v1:a2c", SHORT | {"net.memory.cell": "gru", "net.memory.size": 8, "net.shared": True}
    ),
    "images": Case(
        "same_envs:Dot-v0:ppo", PPO | SHORT | {"env.frame_stack": 2, "net.cnn": "small", "net.hidden": [16]}
    ),
    "masks": Case("same_envs:Doors-v0:ppo", PPO | {"net.discrete_obs": "embedding", "net.embedding_size": 4}),
    "box-normalised": Case("Pendulum-v1:ppo", PPO | {"net.squash": True, "net.normalize_obs": "running"}),
    "reward-scaling": Case(
        "CartPole-v1:ppo", PPO | {"env.backend": "sync", "algo.normalize_rewards": True, "algo.gamma": 0.95}
    ),
    "tasks": Case(
        "CartPole-v1:ppo",
        PPO
        | {
            "env.tasks": {"pole": {}, "acro": {"id": "Acrobot-v1", "max_episode_steps": 60}},
            "algo.normalize_rewards": True,
            "algo.normalize_advantages": "task",
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
        },
    ),
    "curriculum": Case("CartPole-v1:ppo", PPO | LADDER | {"algo.normalize_rewards": True}),
    "bonus-counts": Case("MountainCar-v0:counts", BONUS),
    "bonus-rnd": Case("CartPole-v1:ppo", BONUS | {"explore.bonus": "rnd"}),
    "bonus-icm": Case("CartPole-v1:ppo", BONUS | {"explore.bonus": "icm"}),
    "bonus-noveld": Case("CartPole-v1:ppo", BONUS | {"explore.bonus": "noveld", "explore.repeat": 0.5}),
    "archive": Case(
        "CartPole-v1:ppo", PPO | TORCH | {"explore": "go_explore", "explore.archive.leave_after": 20}
    ),
    "archive-memory": Case(
        "CartPole-v1:positions",
        MEMORY
        | SHORT
        | {
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
            "explore.archive.learn_from": "rapid",
        },
    ),
    # One evaluation, after the last step: it then cannot matter how long it takes.
    "async-evaluation": Case("CartPole-v1:ppo", PPO | {"eval.asynchronous": True, "eval.every": 1024}),
    "pqn": Case("CartPole-v1:pqn", {"algo.num_steps": 16, "algo.num_minibatches": 2, "algo.q_lambda": 0.8}),
    "dqn": Case("CartPole-v1:dqn", DQN | {"algo.n_step": 3, "net.duelling": True}),
    "dqn-images": Case(
        "same_envs:Dot-v0:dqn",
        SHORT | DQN | {"env.frame_stack": 2, "net.cnn": "small"},
        then=("resume", "{run}@256"),
        repeats=True,
    ),
    "async-envs": Case("CartPole-v1:ppo", PPO | SHORT | {"env.backend": "async", "env.workers": 2}),
    "fork": Case(
        "CartPole-v1:ppo",
        PPO | SHORT | {"net.normalize_obs": "running"},
        then=("train", "CartPole-v1:ppo", "{settings}", "--set", "seed=4", "--from", "{run}", "--yes"),
    ),
    "resume": Case(
        "CartPole-v1:ppo",
        PPO | LADDER | {"explore.bonus": "rnd", "explore.hidden": [16], "algo.normalize_rewards": True},
        then=("resume", "{run}@512"),
        repeats=True,
    ),
}
