"""Faults of memory, bonuses for exploring, archives, several tasks and curricula; and each in good order."""

from typing import Any

from benchmarks.doctor.fault import NOT_LEARNING, WRAPPERS, Fault, Settings, fixed, wrapped
from gymsolve.settings.config import TrainConfig

__all__ = ["METHODS", "METHOD_FAULTS"]


def _without_velocities(config: TrainConfig) -> Settings:
    places = {"CartPole-v1": [0, 2], "Acrobot-v1": [0, 1, 2, 3], "Pendulum-v1": [0, 1]}[config.env.id]
    return wrapped("keep_elements", {"net.memory.cell": "lstm"}, elements=places)(config)


_OTHER = {
    "CartPole-v1": "Acrobot-v1",
    "Acrobot-v1": "CartPole-v1",
    "MountainCar-v0": "CartPole-v1",
    "Pendulum-v1": "MountainCarContinuous-v0",
}
"""A second task with actions of the same kind."""


def _two_tasks(config: TrainConfig, first: Settings, second: Settings, **more: Any) -> Settings:
    tasks = {"first": first, "second": {"id": _OTHER[config.env.id], **second}}
    per_task = {"net.normalize_values": "popart", "algo.normalize_advantages": "task"}
    return {"env.tasks": tasks, "env.num_envs": 8, "engine": "torch", **per_task, **more}


def _loud_second_task(config: TrainConfig) -> Settings:
    shared = {"net.normalize_values": "none", "net.tasks.values": "shared"}
    shared |= {"algo.normalize_advantages": "rollout", "algo.normalize_rewards": False}
    return _two_tasks(config, {}, {"wrappers": [{"scale_reward": {"factor": 1000.0}}]}) | shared


def _even_tasks(config: TrainConfig) -> Settings:
    return _two_tasks(config, {}, {})


_EASIER: dict[str, tuple[Settings, float]] = {
    "CartPole-v1": ({"wrappers": [{"time_limit": {"max_steps": 100}}]}, 80.0),
    "FrozenLake-v1": ({"kwargs": {"is_slippery": False}}, 0.7),
}
"""A stage before the task itself, and the return that ends it."""


def _staged(stages: list[Any], tasks: Settings) -> Settings:
    return {"env.tasks": tasks, "env.num_envs": 8, "engine": "torch", "curriculum.stages": stages}


def _easier_first(config: TrainConfig) -> Settings:
    easy, enough = _EASIER[config.env.id]
    stages = [{"name": "easy", "promote_at": enough, "steps": config.steps // 2}, "whole"]
    return _staged(stages, {"easy": easy, "whole": {}})


_BARRED: dict[str, tuple[Settings, float]] = {
    "CartPole-v1": (_EASIER["CartPole-v1"][0], 150.0),
    "FrozenLake-v1": (_EASIER["FrozenLake-v1"][0], 1.5),
    # Another task: what is learned in an easier one would solve the whole at once.
    "Bandit-v0": ({"wrappers": [f"{WRAPPERS}:MirroredActions"]}, 12.0),
}
"""The same, with a return that nobody gets: those stages pay 100, 1 and 9 at most."""


def _barred_stage(config: TrainConfig) -> Settings:
    easy, too_much = _BARRED[config.env.id]
    stages = [{"name": "easy", "promote_at": too_much}, "whole"]
    return _staged(stages, {"easy": easy, "whole": {}})


def _nothing_rehearsed(config: TrainConfig) -> Settings:
    """One task for half of the budget, then another, until the end."""
    own = [wrapper.model_dump() for wrapper in config.env.wrappers]
    mirrored = {"wrappers": [*own, f"{WRAPPERS}:MirroredActions"]}
    second, more = {
        # A policy that has decided would not learn the other way any more, and so forget nothing.
        "CartPole-v1": (mirrored, {"algo.ent_coef": 0.01}),
        "Acrobot-v1": ({"id": _OTHER["Acrobot-v1"]}, {}),
        "Bandit-v0": (mirrored, {"env.kwargs": {"arms": 2, "std": 0.1}, "solved_at": 0.9}),
    }[config.env.id]
    steps = 2 * config.steps
    stages = [{"name": "first", "steps": steps // 2}, "second"]
    off = {"curriculum.rehearsal": 0.0, "curriculum.demote_below": 0.0, "eval.stop_when_solved": False}
    return _staged(stages, {"first": {}, "second": second}) | off | {"steps": steps, **more}


METHOD_FAULTS = (
    Fault(
        "memory_cut",
        "a recurrent policy that starts afresh in every step, without velocities",
        names=("memory_unused",),
        shows=NOT_LEARNING,
        settings=_without_velocities,
        patch="cut_memory",
    ),
    Fault(
        "curiosity_drowns",
        "a bonus for exploring that counts a thousand times as much as the task",
        names=("bonus_drowns",),
        shows=("return_flat", "ev_zero", "ev_negative", "entropy_stuck", "return_fell", "entropy_collapse"),
        settings=fixed(explore__bonus="rnd", explore__coef=1000.0),
        envs=("CartPole-v1", "Pendulum-v1", "FrozenLake-v1"),  # Acrobot is solved by curiosity alone
    ),
    Fault(
        "curiosity_gone",
        "a predictor that learns so fast that nothing stays new",
        names=("bonus_vanished",),
        shows=("return_flat", "ev_zero", "ev_negative", "no_reward", "same_return", "entropy_stuck"),
        settings=fixed(explore__bonus="rnd", explore__learning_rate=0.03, explore__num_epochs=10),
        envs=(
            "FrozenLake-v1",
            "FrozenLake8x8-v1",
            "CliffWalking-v1",
        ),  # others need no bonus, nor does the last
    ),
    Fault(
        "archive_coarse",
        "learning from an archive alone whose cells take nearly everything for the same place",
        names=("archive_stalled",),
        shows=("return_flat", "no_reward", "same_return", "ev_zero", "ev_negative", "entropy_stuck"),
        settings=fixed(
            explore__bins=2,
            explore__archive__cells="bins",
            explore__archive__rollouts=False,
            explore__archive__true_starts=0.5,
        ),
        envs=("MountainCar-v0", "Pendulum-v1", "Acrobot-v1"),  # MountainCarContinuous is solved all the same
    ),
    Fault(
        "task_drowned",
        "two tasks, the second with rewards × 1000, and nothing normalised by task",
        names=("task_starved",),
        shows=(*NOT_LEARNING, "value_scale", "value_dominates", "grad_clipped", "ev_oscillates"),
        settings=_loud_second_task,
        envs=("CartPole-v1", "Acrobot-v1", "MountainCar-v0"),
    ),
    Fault(
        "task_dropped",
        "two tasks, and from 40 % of the budget on nobody plays the first",
        names=("task_forgotten", "task_starved"),
        shows=("return_flat", "return_fell"),
        settings=_even_tasks,
        patch="drop_first_task",
    ),
    Fault(
        "task_overwritten",
        "a curriculum of two tasks whose first one nobody rehearses",
        names=("task_forgotten",),
        shows=("return_fell",),
        settings=_nothing_rehearsed,
        envs=("CartPole-v1", "Acrobot-v1", "Bandit-v0"),
    ),
    Fault(
        "stage_barred",
        "a curriculum whose first stage asks for more than there is to get",
        names=("stage_stuck",),
        shows=("return_flat",),
        settings=_barred_stage,
        envs=("CartPole-v1", "FrozenLake-v1", "Bandit-v0"),
    ),
)

METHODS = (
    Fault(
        "healthy_memory",
        "with memory",
        settings=fixed(net__memory__cell="lstm"),
    ),
    Fault(
        "healthy_bonus",
        "with a bonus for exploring",
        settings=fixed(explore__bonus="rnd"),
    ),
    Fault(
        "healthy_archive",
        "with an archive to start from",
        settings=fixed(explore="go_explore"),
    ),
    Fault(
        "healthy_tasks",
        "beside a second task",
        settings=_even_tasks,
    ),
    Fault(
        "healthy_curriculum",
        "after an easier stage",
        settings=_easier_first,
        envs=("CartPole-v1", "FrozenLake-v1:ppo"),
    ),
)
"""Sound ways to train, as their first lines of YAML give them."""
