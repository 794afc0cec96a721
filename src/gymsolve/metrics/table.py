"""The catalogue's data: one row per metric, in the order in which they are shown.

`planned` marks a name that is reserved but that nothing emits yet; it stays out of the documentation.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["GROUPS", "Group", "Metric"]

Better = Literal["up", "down"]


@dataclass(frozen=True)
class Metric:
    """One name that a record may hold; a name that ends in `<…>` stands for all with its prefix."""

    name: str
    meaning: str
    by: str = "all"
    """Who emits it: `all` algorithms, some of them, `evaluation` records, or `both` kinds of record."""
    unit: str = ""
    better: Better | None = None
    low: float | None = None
    """Bounds that hold whatever the settings; `catalog.derived_bounds` knows more of a given run."""
    high: float | None = None
    priority: int = 2
    """1 belongs in every summary, 2 in a full table, 3 is detail."""
    precision: int = 4
    """Significant digits worth showing."""
    condition: str = ""
    """When it is there; empty means always."""
    may_be_nan: bool = False
    """NaN is an answer (nothing varied), not a fault."""
    planned: bool = False


@dataclass(frozen=True)
class Group:
    """Metrics that are read together."""

    title: str
    metrics: tuple[Metric, ...]
    about: str = ""


_POSITION = (
    Metric(
        "env_steps",
        "steps of all environments, summed; resets that cost a step are not counted",
        "both",
        "steps",
        low=0,
        priority=1,
    ),
    Metric("vec_steps", "calls of the vector environment's `step`", "both", "steps", low=0),
    Metric("updates", "updates done, one per rollout", "both", low=0),
    Metric("progress", "share of the budget, 0 to 1", "both", "share", low=0, high=1, priority=1),
)

_TIME = (
    Metric(
        "time/elapsed",
        "seconds spent collecting, learning and (unless asynchronous) evaluating, over all sittings",
        unit="s",
        low=0,
        priority=1,
    ),
    Metric(
        "time/fps",
        "environment steps per second of the newest iteration, collecting and learning",
        unit="steps/s",
        better="up",
        low=0,
        priority=1,
    ),
    Metric("time/collect_seconds", "seconds the newest rollout took", unit="s", better="down", low=0),
    Metric("time/update_seconds", "seconds the newest update took", unit="s", better="down", low=0),
    Metric(
        "time/updates_per_second",
        "updates per second since the record before",
        unit="1/s",
        better="up",
        low=0,
        planned=True,
    ),
    *(
        Metric(
            f"time/{part}_share",
            f"share of the time since the record before that went into {what}",
            unit="share",
            low=0,
            high=1,
            priority=3,
            planned=True,
        )
        for part, what in (
            ("env", "stepping environments"),
            ("act", "choosing actions"),
            ("update", "learning"),
            ("eval", "evaluating"),
            ("checkpoint", "saving checkpoints"),
            ("record", "recording videos"),
            ("diagnose", "measuring and judging metrics"),
        )
    ),
    Metric("time/diagnose_seconds", "seconds the costly metrics took", unit="s", low=0, priority=3, planned=True),
    Metric(
        "time/memory",
        "memory of the training process",
        unit="MB",
        better="down",
        low=0,
        priority=3,
        planned=True,
    ),
)

_EPISODES = (
    Metric("rollout/episodes", "episodes finished since the start", unit="episodes", low=0),
    Metric("rollout/ep_rew_mean", "mean raw return", unit="reward", better="up", priority=1),
    Metric("rollout/ep_rew_min", "smallest raw return", unit="reward", better="up", priority=3),
    Metric("rollout/ep_rew_max", "largest raw return", unit="reward", better="up", priority=3),
    Metric("rollout/ep_rew_last", "raw return of the newest episode", unit="reward", better="up", priority=3),
    Metric("rollout/ep_rew_best", "largest raw return since the start", unit="reward", better="up"),
    Metric("rollout/ep_len_mean", "mean length in agent steps", unit="steps", low=0),
    Metric("rollout/ep_len_std", "spread of the lengths", unit="steps", low=0, priority=3, planned=True),
    Metric("rollout/truncated_share", "share that a time limit cut", unit="share", low=0, high=1),
    Metric(
        "rollout/ep_shaped_rew_mean",
        "mean of what the agent saw",
        unit="reward",
        better="up",
        condition="when wrappers changed rewards",
    ),
    Metric(
        "rollout/success_rate",
        "share of successes",
        unit="share",
        better="up",
        low=0,
        high=1,
        priority=1,
        condition="when the environment tells",
    ),
    Metric(
        "rollout/bootstrapped_share",
        "share of truncated episodes whose last observation was there to bootstrap from",
        unit="share",
        better="up",
        low=0,
        high=1,
        priority=3,
        planned=True,
    ),
    Metric(
        "rollout/reset_synchrony",
        "largest share of environments that ended an episode in the same step",
        unit="share",
        better="down",
        low=0,
        high=1,
        priority=3,
        planned=True,
    ),
    Metric(
        "reward/<component>",
        "share of a named component in the absolute reward of the period",
        unit="share",
        low=0,
        high=1,
        condition="when a wrapper names components",
        planned=True,
    ),
)

_SUBJECTS = (
    ("reward", "rewards as the agent saw them"),
    ("return", "value targets"),
    ("advantage", "advantages before normalisation"),
    ("value", "predicted values"),
)
_STATISTICS = (
    ("mean", "mean", None),
    ("std", "spread", 0.0),
    ("min", "smallest", None),
    ("max", "largest", None),
    ("p95abs", "95th percentile of the size", 0.0),
)

_DATA = (
    *(
        Metric(f"rollout/{key}_{statistic}", f"{word} of the {what}", low=low, priority=3, planned=True)
        for key, what in _SUBJECTS
        for statistic, word, low in _STATISTICS
    ),
    Metric(
        "obs/abs_max", "largest size of a number that the network saw, after normalisation", low=0, planned=True
    ),
    Metric(
        "obs/constant_share",
        "share of the observation's elements that did not change in the period",
        unit="share",
        better="down",
        low=0,
        high=1,
        planned=True,
    ),
    Metric("obs/mean", "mean of what the network saw", priority=3, planned=True),
    Metric("obs/std", "spread of what the network saw", low=0, priority=3, planned=True),
    Metric(
        "action/share_<k>",
        "share of choice k among the period's actions",
        unit="share",
        low=0,
        high=1,
        priority=3,
        condition="for categories",
        planned=True,
    ),
    Metric(
        "action/largest_share",
        "share of the commonest choice",
        unit="share",
        low=0,
        high=1,
        condition="for categories",
        planned=True,
    ),
    Metric("action/mean", "mean action, as the environment takes it", priority=3, planned=True),
    Metric("action/std", "spread of the actions", low=0, priority=3, planned=True),
    Metric(
        "action/saturated_share",
        "share of actions at a bound, in the dimension where it is largest",
        unit="share",
        better="down",
        low=0,
        high=1,
        condition="for boxes",
        planned=True,
    ),
    Metric(
        "policy/entropy_relative",
        "entropy over that of a uniform policy",
        unit="share",
        low=0,
        high=1.001,
        condition="for categories",
        planned=True,
    ),
    Metric("policy/log_std_mean", "mean log standard deviation", condition="for boxes", planned=True),
)

_LEARNING = (
    Metric(
        "train/loss",
        "what was minimised; for REINFORCE without the value function's part",
        better="down",
        priority=1,
    ),
    Metric("train/policy_loss", "the policy's part; its sign and size say little by themselves"),
    Metric(
        "train/value_loss",
        "half squared (or Huber) error of the value function, in its own units; "
        "not for REINFORCE without a value baseline",
        better="down",
        low=0,
    ),
    Metric(
        "train/scaled_value_loss", "the value loss times `vf_coef`", better="down", low=0, priority=3, planned=True
    ),
    Metric(
        "train/entropy",
        "mean entropy of the policy; log(choices) is uniform, 0 is decided",
        unit="nats",
        priority=1,
    ),
    Metric("train/scaled_entropy", "the entropy times `ent_coef`", priority=3, planned=True),
    Metric("train/grad_norm", "length of the gradient before clipping; of the policy's step for REINFORCE", low=0),
    *(
        Metric(
            f"train/grad_norm_{part}",
            f"length of the gradient of the {what}, before clipping",
            low=0,
            priority=3,
            planned=True,
        )
        for part, what in (("trunk", "shared layers"), ("policy", "policy's part"), ("value", "value's part"))
    ),
    Metric(
        "train/grad_clipped_share",
        "share of gradient steps that `max_grad_norm` shortened",
        unit="share",
        low=0,
        high=1,
        priority=3,
        planned=True,
    ),
    Metric(
        "train/approx_kl",
        "how far the policy moved from the one that collected (estimate, never negative)",
        unit="nats",
        low=0,
        priority=1,
    ),
    Metric(
        "train/clip_fraction",
        "share of probability ratios beyond `clip_coef` (0.2 for A2C and REINFORCE)",
        unit="share",
        low=0,
        high=1,
    ),
    Metric(
        "train/first_ratio",
        "mean probability ratio before the first gradient step; anything but 1 is a bug",
        low=0,
        precision=6,
        priority=3,
    ),
    Metric(
        "train/explained_variance",
        "1: the values predict the returns; 0: no better than their mean; below: worse",
        better="up",
        high=1,
        priority=1,
        may_be_nan=True,
    ),
    Metric("train/ratio", "mean probability ratio over the gradient steps", "ppo", low=0, priority=3),
    Metric("train/gradient_steps", "gradient steps per update", "ppo", low=0, priority=3),
    Metric(
        "train/kl_stopped",
        "share of updates that `target_kl` ended early",
        "ppo",
        "share",
        low=0,
        high=1,
        priority=3,
    ),
    Metric(
        "train/unfinished_share",
        "share of steps left out because their episode was still running",
        "reinforce",
        "share",
        better="down",
        low=0,
        high=1,
    ),
    Metric("train/step_rms", "root mean square of the parameters' change per update", low=0, priority=3, planned=True),
    Metric("train/step_max", "largest change of a parameter per update", low=0, priority=3, planned=True),
    Metric(
        "train/dormant_share",
        "share of hidden units that hardly react to anything, after the activation",
        unit="share",
        better="down",
        low=0,
        high=1,
        planned=True,
    ),
    Metric("train/feature_rank", "effective rank of the last hidden layer", low=0, priority=3, planned=True),
    Metric(
        "train/churn",
        "share of a fixed set of observations whose likeliest action one update changed",
        unit="share",
        low=0,
        high=1,
        priority=3,
        planned=True,
    ),
    Metric(
        "train/terminal_correlation",
        "correlation of the value before an episode's end with its last reward",
        low=-1,
        high=1,
        priority=3,
        may_be_nan=True,
        planned=True,
    ),
)

_HYPER = (
    Metric("hyper/learning_rate", "as scheduled, times the factor that `desired_kl` moves", low=0),
    Metric("hyper/gamma", "discount", low=0, high=1, priority=3),
    Metric("hyper/ent_coef", "weight of the entropy bonus", low=0, priority=3),
    Metric("hyper/vf_coef", "weight of the value loss", low=0, priority=3),
    Metric("hyper/max_grad_norm", "limit of the gradient's length", low=0, priority=3),
    Metric("hyper/gae_lambda", "of the advantages", "ppo, a2c", low=0, high=1, priority=3),
    Metric("hyper/num_epochs", "passes over a rollout", "ppo", low=0, priority=3),
    Metric("hyper/clip_coef", "limit of the probability ratio", "ppo", low=0, priority=3),
    Metric("hyper/clip_value", "limit of the value's change", "ppo", low=0, priority=3, condition="when set"),
    Metric("hyper/target_kl", "KL that ends an update", "ppo", low=0, priority=3, condition="when set"),
)

_EVALUATION = (
    Metric(
        "eval/mean_reward",
        "mean raw return; `best` and solved go by it",
        "evaluation",
        "reward",
        "up",
        priority=1,
    ),
    Metric("eval/std_reward", "spread of the raw returns", "evaluation", "reward", low=0),
    Metric("eval/min_reward", "smallest raw return", "evaluation", "reward", "up", priority=3),
    Metric("eval/max_reward", "largest raw return", "evaluation", "reward", "up", priority=3),
    Metric("eval/mean_ep_length", "mean length in agent steps", "evaluation", "steps", low=0),
    Metric("eval/reward_per_step", "all raw returns over all steps", "evaluation", "reward", priority=3),
    Metric("eval/episodes", "episodes behind these numbers", "evaluation", "episodes", low=1, priority=3),
    Metric(
        "eval/env_steps",
        "steps they took, those of copies that had played their share included",
        "evaluation",
        "steps",
        low=0,
        priority=3,
    ),
    Metric(
        "eval/seconds",
        "seconds training waited; 0 when asynchronous",
        "evaluation",
        "s",
        "down",
        low=0,
        priority=3,
    ),
    Metric(
        "eval/success_rate",
        "share of successes",
        "evaluation",
        "share",
        "up",
        low=0,
        high=1,
        priority=1,
        condition="when the environment tells",
    ),
    Metric(
        "eval/confirm_mean_reward",
        "mean raw return on fresh seeds",
        "evaluation",
        "reward",
        "up",
        priority=1,
        condition="after the threshold was reached",
    ),
    Metric(
        "eval/confirm_episodes",
        "episodes behind the confirmation",
        "evaluation",
        "episodes",
        low=1,
        priority=3,
        condition="after the threshold was reached",
    ),
    Metric(
        "solved",
        "1 when both long evaluations reached the threshold, else 0",
        "evaluation",
        better="up",
        low=0,
        high=1,
        priority=1,
    ),
    Metric(
        "quality/area",
        "area under the curve of evaluations so far, 0 at the first one's return and 1 at the threshold, "
        "over the budget",
        "evaluation",
        better="up",
        planned=True,
    ),
)

GROUPS = (
    Group("Where the run is", _POSITION),
    Group("Time", _TIME),
    Group(
        "Training episodes",
        _EPISODES,
        "Over the last 100 finished episodes; sampled actions, so usually below the evaluation.",
    ),
    Group("What was collected", _DATA, "Of the newest rollout."),
    Group("Learning", _LEARNING),
    Group("Hyperparameters in force", _HYPER),
    Group("Evaluation", _EVALUATION),
)
