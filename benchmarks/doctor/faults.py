"""Every fault: what is done, where it matters, and which alerts name it (`fault.py` says what that means)."""

from benchmarks.doctor.fault import NOT_LEARNING, NOT_MOVING, TOO_FAR, Fault, Settings, fixed, wrapped
from benchmarks.doctor.method_faults import METHOD_FAULTS, METHODS
from gymsolve.settings.config import PPOConfig, TrainConfig
from gymsolve.settings.schedules import Progress

__all__ = ["FAULTS", "HEALTHY", "METHODS", "Fault"]

HEALTHY = Fault("healthy", "as it is")


def _rate(config: TrainConfig) -> float:
    return config.algo.learning_rate.at(Progress(0, config.steps))


def _batch(config: TrainConfig) -> int:
    return config.env.num_envs * config.algo.num_steps


def _tiny_minibatches(config: TrainConfig) -> Settings:
    assert isinstance(config.algo, PPOConfig)
    return {"algo.num_minibatches": _batch(config) // 4, "algo.num_epochs": 4}


FAULTS = (
    Fault(
        "rate_x100",
        "learning rate × 100",
        names=(*TOO_FAR, "nonfinite"),
        shows=("entropy_collapse", "dead_network", "dormant", "step_jump", "grad_jump", "ev_negative"),
        settings=lambda config: {"algo.learning_rate": 100 * _rate(config)},
    ),
    Fault(
        "rate_x0.001",
        "learning rate ÷ 1000",
        names=NOT_MOVING,
        shows=NOT_LEARNING,
        settings=lambda config: {"algo.learning_rate": _rate(config) / 1000},
    ),
    Fault(
        "rate_ends",
        "the learning rate falls to 0 within 2 % of the budget",
        names=("rate_zero",),
        shows=(*NOT_MOVING, *NOT_LEARNING),
        settings=lambda config: {"algo.learning_rate": {"start": _rate(config), "end": 0.0, "until": "2%"}},
    ),
    Fault(
        "bonus_huge",
        "entropy coefficient 10",
        names=("entropy_stuck", "log_std_high"),
        shows=("return_flat", "action_saturated", "clip_unused", "policy_frozen"),
        settings=fixed(algo__ent_coef=10.0),
    ),
    Fault(
        "bonus_none",
        "entropy coefficient 0 and a policy that is sure from the start",
        names=("initial_policy", "entropy_collapse", "entropy_falling", "action_stuck"),
        shows=("return_flat", "policy_frozen", "no_reward", "same_return"),
        settings=fixed(algo__ent_coef=0.0, net__policy_gain=30.0),
        envs=("CartPole-v1", "Acrobot-v1", "FrozenLake-v1"),
    ),
    *METHOD_FAULTS,
    Fault(
        "clip_zero",
        "clip_coef 0",
        names=("clip_extreme", "clip_high", "clip_closed"),
        shows=NOT_LEARNING,
        settings=fixed(algo__clip_coef=0.0),
    ),
    Fault(
        "gamma_low",
        "gamma 0.1 where what matters comes later",
        names=("short_sight",),
        shows=(*NOT_LEARNING, "value_scale"),
        settings=fixed(algo__gamma=0.1),
        envs=("Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0"),
    ),
    Fault(
        "gamma_one",
        "gamma and lambda 1, rewards not scaled",
        names=("value_scale", "ev_negative", "ev_zero", "ev_oscillates", "advantage_biased", "grad_clipped"),
        shows=("return_flat", "return_fell"),
        settings=fixed(algo__gamma=1.0, algo__gae_lambda=1.0, algo__normalize_rewards=False),
    ),
    Fault(
        "obs_huge",
        "observations × 10,000, not normalised",
        names=("obs_huge",),
        shows=(*TOO_FAR, *NOT_LEARNING, "initial_policy", "entropy_collapse", "action_saturated"),
        settings=wrapped("ScaledObservations", {"net.normalize_obs": "none"}, factor=1e4),
    ),
    Fault(
        "obs_constant",
        "observations are always 0",
        names=("obs_constant",),
        shows=(*NOT_LEARNING, "ev_oscillates"),
        settings=wrapped("ScaledObservations", factor=0.0),
    ),
    Fault(
        "obs_noise",
        "observations are noise",
        names=("ev_zero", "ev_negative"),
        shows=(*NOT_LEARNING, "ev_oscillates"),
        settings=wrapped("NoiseObservations"),
    ),
    Fault(
        "reward_x1000",
        "rewards × 1000, not scaled, one trunk",
        names=("value_scale", "value_dominates", "grad_clipped"),
        shows=(*NOT_LEARNING, "ev_oscillates"),
        settings=wrapped("scale_reward", {"algo.normalize_rewards": False, "net.shared": True}, factor=1e3),
    ),
    Fault(
        "reward_none",
        "rewards × 0",
        names=("no_reward", "advantage_dead"),
        shows=(*NOT_LEARNING, "same_return", "grad_vanished"),
        settings=wrapped("scale_reward", factor=0.0),
    ),
    Fault(
        "reward_flipped",
        "a reward wrapper with the wrong sign",
        names=("reward_misleads",),
        shows=("return_flat", "return_fell", "one_component"),
        settings=wrapped("scale_reward", factor=-1.0),
    ),
    Fault(
        "mask_wrong",
        "an action mask that allows one action only",
        names=("action_stuck", "mask_closed"),
        shows=("entropy_collapse", "initial_policy", "return_flat", "grad_vanished", "policy_frozen"),
        settings=wrapped("OneLegalAction"),
        envs=("CartPole-v1", "Acrobot-v1", "MountainCar-v0"),
    ),
    Fault(
        "limit_as_end",
        "time limits reported as ends",
        names=("limit_as_end", "bootstrap_missing"),
        shows=("ev_negative", "equal_lengths"),
        settings=wrapped("LimitAsEnd"),
        envs=("Acrobot-v1", "Pendulum-v1", "MountainCar-v0"),
    ),
    Fault(
        "stale_log_probs",
        "log-probabilities of the policy before the last update",
        names=("stale_ratio",),
        shows=TOO_FAR,
        patch="keep_old_log_probs",
    ),
    Fault(
        "eval_mirrored",
        "evaluation sees observations with the other sign",
        names=("eval_gap", "eval_sight"),
        settings=wrapped("ScaledObservations", factor=-1.0, roles=["eval"]),
    ),
    Fault(
        "eval_statistics",
        "evaluation has lost the normaliser's statistics",
        names=("eval_gap", "eval_sight"),
        settings=wrapped("ScaledObservations", {"net.normalize_obs": "running"}, factor=30.0),
        patch="lose_statistics",
    ),
    Fault(
        "units_dead",
        "rectifiers that start dead",
        names=("dead_network", "grad_vanished", "dormant"),
        shows=(*NOT_LEARNING, *NOT_MOVING),
        settings=fixed(net__activation="relu"),
        patch="kill_units",
    ),
    Fault(
        "values_untrained",
        "vf_coef 0",
        names=("values_untrained", "ev_zero", "ev_negative", "advantage_biased"),
        shows=("return_flat",),
        settings=fixed(algo__vf_coef=0.0),
    ),
    Fault(
        "one_action",
        "a policy that takes one action always",
        names=("action_stuck", "action_saturated", "initial_policy", "entropy_collapse"),
        shows=NOT_LEARNING,
        patch="prefer_one_action",
    ),
    Fault(
        "nan_observation",
        "an observation is NaN",
        names=("nonfinite",),
        settings=wrapped("BrokenSensor", after=2000),
    ),
    Fault(
        "nan_reward",
        "a reward is NaN",
        names=("nonfinite",),
        settings=wrapped("BrokenReward", after=2000),
    ),
    Fault(
        "process_dies",
        "the process of the environments crashes every 150 steps",
        names=("worker_lost",),
        shows=("no_episode_end", *NOT_LEARNING),
        settings=wrapped(
            "DyingProcess", {"env.backend": "async", "env.workers": 1}, after=150, roles=["train"]
        ),
        envs=("Acrobot-v1", "Pendulum-v1", "MountainCar-v0"),
    ),
    Fault(
        "value_loss_huge",
        "vf_coef 10,000, one trunk",
        names=("value_dominates", "grad_clipped"),
        shows=(*NOT_LEARNING, "clip_unused"),
        settings=fixed(algo__vf_coef=1e4, net__shared=True),
    ),
    Fault(
        "minibatches_tiny",
        "minibatches of 4 steps",
        names=TOO_FAR,
        shows=("return_flat", "return_fell", "ev_oscillates", "entropy_collapse"),
        settings=_tiny_minibatches,
    ),
    Fault(
        "gradient_choked",
        "max_grad_norm 1e-8",
        names=(*NOT_MOVING, "grad_clipped"),
        shows=NOT_LEARNING,
        settings=fixed(algo__max_grad_norm=1e-8),
    ),
    Fault(
        "episodes_cut",
        "a counter ends every training episode after 8 steps",
        names=("equal_lengths", "same_return"),
        shows=(*NOT_LEARNING, "advantage_dead"),
        settings=wrapped("ShortEpisodes", length=8, roles=["train"]),
    ),
)
