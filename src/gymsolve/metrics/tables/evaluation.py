"""What evaluations report."""

from gymsolve.metrics.metric import Metric

__all__ = ["EVALUATION"]

EVALUATION = (
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
        "mean height of the curve of evaluations over the steps so far (once solved, over the budget): 0 at "
        "the first one's return or below, 1 at the threshold or above",
        "evaluation",
        better="up",
        low=0,
        high=1,
        condition="when there is a threshold",
    ),
)
