"""Every fault: what is done, where it matters, and which alerts name it.

`names` are alerts that a reader would act on rightly: one of them first is a root cause found. `shows` are
symptoms that this fault really has; with one of those alone it was noticed, but not understood.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gymsolve.config import PPOConfig, TrainConfig
from gymsolve.schedules import Progress

__all__ = ["FAULTS", "HEALTHY", "METHODS", "Fault"]

Settings = dict[str, Any]
TRIO = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
_HERE = "benchmarks.doctor.wrappers"
_TOO_FAR = ("kl_shock", "kl_extreme", "kl_high", "clip_extreme", "clip_high")
_NOT_MOVING = ("policy_frozen", "step_tiny", "clip_unused", "churn_dead")
_NOT_LEARNING = ("return_flat", "ev_zero", "ev_negative", "entropy_stuck", "policy_frozen", "return_fell")


@dataclass(frozen=True)
class Fault:
    """One mistake that people make; or none, if no alert names it: nothing may be found then."""

    name: str
    about: str
    names: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    settings: Callable[[TrainConfig], Settings] = lambda config: {}
    patch: str = ""
    """A key of `patches.PATCHES`."""
    envs: tuple[str, ...] = TRIO


HEALTHY = Fault("healthy", "as it is")


def _rate(config: TrainConfig) -> float:
    return config.algo.learning_rate.at(Progress(0, config.steps))


def _fixed(**settings: Any) -> Callable[[TrainConfig], Settings]:
    """`algo__gamma=1` sets algo.gamma."""
    return lambda config: {path.replace("__", "."): value for path, value in settings.items()}


def _wrapped(name: str, more: Settings | None = None, **options: Any) -> Callable[[TrainConfig], Settings]:
    def settings(config: TrainConfig) -> Settings:
        path = name if "." not in name and name.islower() else f"{_HERE}:{name}"
        own = [wrapper.model_dump() for wrapper in config.env.wrappers]
        return {"env.wrappers": [*own, {path: options} if options else path], **(more or {})}

    return settings


def _without_velocities(config: TrainConfig) -> Settings:
    places = {"CartPole-v1": [0, 2], "Acrobot-v1": [0, 1, 2, 3], "Pendulum-v1": [0, 1]}[config.env.id]
    return _wrapped("keep_elements", {"net.memory.cell": "lstm"}, elements=places)(config)


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


def _easier_first(config: TrainConfig) -> Settings:
    easy, enough = _EASIER[config.env.id]
    stages = [{"name": "easy", "promote_at": enough, "steps": config.steps // 2}, "whole"]
    tasks = {"easy": easy, "whole": {}}
    return {"env.tasks": tasks, "env.num_envs": 8, "engine": "torch", "curriculum.stages": stages}


def _batch(config: TrainConfig) -> int:
    return config.env.num_envs * config.algo.num_steps


def _tiny_minibatches(config: TrainConfig) -> Settings:
    assert isinstance(config.algo, PPOConfig)
    return {"algo.num_minibatches": _batch(config) // 4, "algo.num_epochs": 4}


FAULTS = (
    Fault(
        "rate_x100",
        "learning rate × 100",
        names=(*_TOO_FAR, "nonfinite"),
        shows=("entropy_collapse", "dead_network", "dormant", "step_jump", "grad_jump", "ev_negative"),
        settings=lambda config: {"algo.learning_rate": 100 * _rate(config)},
    ),
    Fault(
        "rate_x0.001",
        "learning rate ÷ 1000",
        names=_NOT_MOVING,
        shows=_NOT_LEARNING,
        settings=lambda config: {"algo.learning_rate": _rate(config) / 1000},
    ),
    Fault(
        "rate_ends",
        "the learning rate falls to 0 within 2 % of the budget",
        names=("rate_zero",),
        shows=(*_NOT_MOVING, *_NOT_LEARNING),
        settings=lambda config: {"algo.learning_rate": {"start": _rate(config), "end": 0.0, "until": "2%"}},
    ),
    Fault(
        "bonus_huge",
        "entropy coefficient 10",
        names=("entropy_stuck", "log_std_high"),
        shows=("return_flat", "action_saturated", "clip_unused", "policy_frozen"),
        settings=_fixed(algo__ent_coef=10.0),
    ),
    Fault(
        "bonus_none",
        "entropy coefficient 0 and a policy that is sure from the start",
        names=("initial_policy", "entropy_collapse", "entropy_falling", "action_stuck"),
        shows=("return_flat", "policy_frozen", "no_reward", "same_return"),
        settings=_fixed(algo__ent_coef=0.0, net__policy_gain=30.0),
        envs=("CartPole-v1", "Acrobot-v1", "FrozenLake-v1"),
    ),
    Fault(
        "curiosity_drowns",
        "a bonus for exploring that counts a thousand times as much as the task",
        names=("bonus_drowns",),
        shows=("return_flat", "ev_zero", "ev_negative", "entropy_stuck", "return_fell", "entropy_collapse"),
        settings=_fixed(explore__bonus="rnd", explore__coef=1000.0),
        envs=("CartPole-v1", "Pendulum-v1", "FrozenLake-v1"),  # Acrobot is solved by curiosity alone
    ),
    Fault(
        "task_drowned",
        "two tasks, the second with rewards × 1000, and nothing normalised by task",
        names=("task_starved",),
        shows=(*_NOT_LEARNING, "value_scale", "value_dominates", "grad_clipped", "ev_oscillates"),
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
        "archive_coarse",
        "learning from an archive alone whose cells take nearly everything for the same place",
        names=("archive_stalled",),
        shows=("return_flat", "no_reward", "same_return", "ev_zero", "ev_negative", "entropy_stuck"),
        settings=_fixed(
            explore__bins=2,
            explore__archive__cells="bins",
            explore__archive__rollouts=False,
            explore__archive__true_starts=0.5,
        ),
        envs=("MountainCar-v0", "Pendulum-v1", "Acrobot-v1"),  # MountainCarContinuous is solved all the same
    ),
    Fault(
        "curiosity_gone",
        "a predictor that learns so fast that nothing stays new",
        names=("bonus_vanished",),
        shows=("return_flat", "ev_zero", "ev_negative", "no_reward", "same_return", "entropy_stuck"),
        settings=_fixed(explore__bonus="rnd", explore__learning_rate=0.03, explore__num_epochs=10),
        envs=(
            "FrozenLake-v1",
            "FrozenLake8x8-v1",
            "CliffWalking-v1",
        ),  # others need no bonus, nor does the last
    ),
    Fault(
        "clip_zero",
        "clip_coef 0",
        names=("clip_extreme", "clip_high", "clip_closed"),
        shows=_NOT_LEARNING,
        settings=_fixed(algo__clip_coef=0.0),
    ),
    Fault(
        "gamma_low",
        "gamma 0.1 where what matters comes later",
        names=("short_sight",),
        shows=(*_NOT_LEARNING, "value_scale"),
        settings=_fixed(algo__gamma=0.1),
        envs=("Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0"),
    ),
    Fault(
        "gamma_one",
        "gamma and lambda 1, rewards not scaled",
        names=("value_scale", "ev_negative", "ev_zero", "ev_oscillates", "advantage_biased", "grad_clipped"),
        shows=("return_flat", "return_fell"),
        settings=_fixed(algo__gamma=1.0, algo__gae_lambda=1.0, algo__normalize_rewards=False),
    ),
    Fault(
        "obs_huge",
        "observations × 10,000, not normalised",
        names=("obs_huge",),
        shows=(*_TOO_FAR, *_NOT_LEARNING, "initial_policy", "entropy_collapse", "action_saturated"),
        settings=_wrapped("ScaledObservations", {"net.normalize_obs": "none"}, factor=1e4),
    ),
    Fault(
        "obs_constant",
        "observations are always 0",
        names=("obs_constant",),
        shows=(*_NOT_LEARNING, "ev_oscillates"),
        settings=_wrapped("ScaledObservations", factor=0.0),
    ),
    Fault(
        "obs_noise",
        "observations are noise",
        names=("ev_zero", "ev_negative"),
        shows=(*_NOT_LEARNING, "ev_oscillates"),
        settings=_wrapped("NoiseObservations"),
    ),
    Fault(
        "reward_x1000",
        "rewards × 1000, not scaled, one trunk",
        names=("value_scale", "value_dominates", "grad_clipped"),
        shows=(*_NOT_LEARNING, "ev_oscillates"),
        settings=_wrapped("scale_reward", {"algo.normalize_rewards": False, "net.shared": True}, factor=1e3),
    ),
    Fault(
        "reward_none",
        "rewards × 0",
        names=("no_reward", "advantage_dead"),
        shows=(*_NOT_LEARNING, "same_return", "grad_vanished"),
        settings=_wrapped("scale_reward", factor=0.0),
    ),
    Fault(
        "reward_flipped",
        "a reward wrapper with the wrong sign",
        names=("reward_misleads",),
        shows=("return_flat", "return_fell", "one_component"),
        settings=_wrapped("scale_reward", factor=-1.0),
    ),
    Fault(
        "mask_wrong",
        "an action mask that allows one action only",
        names=("action_stuck", "mask_closed"),
        shows=("entropy_collapse", "initial_policy", "return_flat", "grad_vanished", "policy_frozen"),
        settings=_wrapped("OneLegalAction"),
        envs=("CartPole-v1", "Acrobot-v1", "MountainCar-v0"),
    ),
    Fault(
        "limit_as_end",
        "time limits reported as ends",
        names=("limit_as_end", "bootstrap_missing"),
        shows=("ev_negative", "equal_lengths"),
        settings=_wrapped("LimitAsEnd"),
        envs=("Acrobot-v1", "Pendulum-v1", "MountainCar-v0"),
    ),
    Fault(
        "stale_log_probs",
        "log-probabilities of the policy before the last update",
        names=("stale_ratio",),
        shows=_TOO_FAR,
        patch="keep_old_log_probs",
    ),
    Fault(
        "eval_mirrored",
        "evaluation sees observations with the other sign",
        names=("eval_gap", "eval_sight"),
        settings=_wrapped("ScaledObservations", factor=-1.0, roles=["eval"]),
    ),
    Fault(
        "eval_statistics",
        "evaluation has lost the normaliser's statistics",
        names=("eval_gap", "eval_sight"),
        settings=_wrapped("ScaledObservations", {"net.normalize_obs": "running"}, factor=30.0),
        patch="lose_statistics",
    ),
    Fault(
        "units_dead",
        "rectifiers that start dead",
        names=("dead_network", "grad_vanished", "dormant"),
        shows=(*_NOT_LEARNING, *_NOT_MOVING),
        settings=_fixed(net__activation="relu"),
        patch="kill_units",
    ),
    Fault(
        "memory_cut",
        "a recurrent policy that starts afresh in every step, without velocities",
        names=("memory_unused",),
        shows=_NOT_LEARNING,
        settings=_without_velocities,
        patch="cut_memory",
    ),
    Fault(
        "values_untrained",
        "vf_coef 0",
        names=("values_untrained", "ev_zero", "ev_negative", "advantage_biased"),
        shows=("return_flat",),
        settings=_fixed(algo__vf_coef=0.0),
    ),
    Fault(
        "one_action",
        "a policy that takes one action always",
        names=("action_stuck", "action_saturated", "initial_policy", "entropy_collapse"),
        shows=_NOT_LEARNING,
        patch="prefer_one_action",
    ),
    Fault(
        "nan_observation",
        "an observation is NaN",
        names=("nonfinite",),
        settings=_wrapped("BrokenSensor", after=2000),
    ),
    Fault(
        "nan_reward",
        "a reward is NaN",
        names=("nonfinite",),
        settings=_wrapped("BrokenReward", after=2000),
    ),
    Fault(
        "process_dies",
        "the process of the environments crashes every 150 steps",
        names=("worker_lost",),
        shows=("no_episode_end", *_NOT_LEARNING),
        settings=_wrapped(
            "DyingProcess", {"env.backend": "async", "env.workers": 1}, after=150, roles=["train"]
        ),
        envs=("Acrobot-v1", "Pendulum-v1", "MountainCar-v0"),
    ),
    Fault(
        "value_loss_huge",
        "vf_coef 10,000, one trunk",
        names=("value_dominates", "grad_clipped"),
        shows=(*_NOT_LEARNING, "clip_unused"),
        settings=_fixed(algo__vf_coef=1e4, net__shared=True),
    ),
    Fault(
        "minibatches_tiny",
        "minibatches of 4 steps",
        names=_TOO_FAR,
        shows=("return_flat", "return_fell", "ev_oscillates", "entropy_collapse"),
        settings=_tiny_minibatches,
    ),
    Fault(
        "gradient_choked",
        "max_grad_norm 1e-8",
        names=(*_NOT_MOVING, "grad_clipped"),
        shows=_NOT_LEARNING,
        settings=_fixed(algo__max_grad_norm=1e-8),
    ),
    Fault(
        "episodes_cut",
        "a counter ends every training episode after 8 steps",
        names=("equal_lengths", "same_return"),
        shows=(*_NOT_LEARNING, "advantage_dead"),
        settings=_wrapped("ShortEpisodes", length=8, roles=["train"]),
    ),
)

METHODS = (
    Fault(
        "healthy_memory",
        "with memory",
        settings=_fixed(net__memory__cell="lstm"),
    ),
    Fault(
        "healthy_bonus",
        "with a bonus for exploring",
        settings=_fixed(explore__bonus="rnd"),
    ),
    Fault(
        "healthy_archive",
        "with an archive to start from",
        settings=_fixed(explore="go_explore"),
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
