"""A resumed run is the uninterrupted run, bit for bit: also with archives, tasks, memory and bonuses."""

import pytest
from resuming import SHORT, SMALL, check_that_a_kill_changes_nothing

CASES = {
    "archive": (
        "CartPole-v1:ppo",
        SMALL | SHORT | {"explore": "go_explore", "explore.archive.leave_after": 20, "engine": "torch"},
    ),
    "archive-tasks": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {"pole": {}, "acro": {"id": "Acrobot-v1", "max_episode_steps": 60}},
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
            "algo.normalize_rewards": True,
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
        },
    ),
    "archive-curriculum": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {"short": {"max_episode_steps": 15}, "long": {}},
            "curriculum": {"stages": ["short", "long"], "promote_at": 12.0, "episodes": 10},
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
            "explore.archive.learn_from": "rapid",
        },
    ),
    "archive-memory": (
        "CartPole-v1:positions",
        SHORT
        | {
            "env.num_envs": 4,
            "algo.num_epochs": 2,
            "algo.num_minibatches": 2,
            "net.memory.size": 8,
            "net.memory.inputs": ["action", "reward"],
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
        },
    ),
    "images": (
        "training_envs:Dot-v0:ppo",
        SMALL | {"env.frame_stack": 2, "net.cnn": "small", "net.hidden": [16], "algo.num_steps": 32} | SHORT,
    ),
    "memory": (
        "CartPole-v1:positions",
        SHORT
        | {
            "env.num_envs": 4,
            "algo.num_epochs": 2,
            "algo.num_minibatches": 2,
            "net.memory.size": 8,
            "net.memory.sequence": 8,
            "net.memory.inputs": ["action", "reward"],
        },
    ),
    "memory-a2c": (
        "CartPole-v1:a2c",
        SHORT | {"env.num_envs": 4, "net.memory.cell": "gru", "net.memory.size": 8, "net.shared": True},
    ),
    "components": (
        "training_envs:Parts-v0:ppo",
        SMALL
        | SHORT
        | {
            "env.wrappers": [
                {"frame_skip": {"skip": [1, 2]}},
                {"reward_components": {"components": {"effort": -0.5, "luck": {"key": "fortune"}}}},
            ]
        },
    ),
    "curious": (
        "CartPole-v1:ppo",
        SMALL | SHORT | {"explore": "noveld", "explore.hidden": [16], "explore.repeat": 0.5},
    ),
    "curriculum": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {"short": {"max_episode_steps": 15}, "long": {}},
            "curriculum": {"stages": ["short", "long"], "promote_at": 12.0, "episodes": 20},
            "algo.normalize_rewards": True,
        },
    ),
    "tasks": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {
                "pole": {},
                "acro": {"id": "Acrobot-v1", "backend": "sync", "max_episode_steps": 60},
                "car": {"id": "MountainCar-v0", "backend": "async", "max_episode_steps": 60},
            },
            "env.workers": 1,
            "eval.num_envs": 1,
            "algo.normalize_rewards": True,
            "algo.normalize_advantages": "task",
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
        },
    ),
    "wrapped": (
        "CartPole-v1:ppo",
        SHORT
        | {
            "env.wrappers": [{"frame_skip": {"skip": [1, 3]}}, {"sticky_actions": {"probability": 0.2}}],
            "env.frame_stack": 3,
            "net.dropout": 0.1,
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_and_resumed_equals_uninterrupted(case, tmp_path):
    check_that_a_kill_changes_nothing(*CASES[case], tmp_path)
