"""Metrics of evaluations."""

from gymsolve.metrics.metric import Metric, share, with_defaults

_TASKS = "with several tasks"
_END = "at the end of a run that is not solved, of one task"
_BLIND = {
    "idle": f"{_END}, if an action is known to do nothing",
    "random": f"{_END}, if no action is known to do nothing",
}

EVALUATION = with_defaults(
    Metric(
        "eval/mean_reward",
        "mean raw return; `best` and solved go by it; NaN when a cap came before the end of any episode; of "
        "several tasks the mean of their means, of a curriculum that of its last stage",
        unit="reward",
        better="up",
        priority=1,
    ),
    Metric("eval/std_reward", "spread of the raw returns", unit="reward", low=0),
    Metric("eval/min_reward", "smallest raw return", unit="reward", better="up", priority=3),
    Metric("eval/max_reward", "largest raw return", unit="reward", better="up", priority=3),
    Metric("eval/mean_ep_length", "mean length in agent steps", unit="steps", low=0),
    Metric("eval/reward_per_step", "all raw returns over all steps", unit="reward", priority=3),
    Metric("eval/episodes", "episodes behind these numbers", unit="episodes", low=0, priority=3),
    Metric(
        "eval/env_steps",
        "steps they took, those of copies that had played their share included",
        unit="steps",
        low=0,
        priority=3,
    ),
    Metric(
        "eval/faults",
        "processes of evaluations that died or hung since the start; their episodes are played again",
        better="down",
        low=0,
        condition="once one did",
    ),
    Metric(
        "eval/first_obs_size",
        "root mean square of what the network saw as episodes began, after normalisation",
        low=0,
        priority=3,
        condition="when observations hold more than categories",
    ),
    Metric(
        "eval/seconds",
        "seconds training waited; 0 when asynchronous",
        unit="s",
        better="down",
        low=0,
        priority=3,
    ),
    share(
        "eval/success_rate",
        "share of successes",
        better="up",
        priority=1,
        condition="when the environment tells",
    ),
    Metric(
        "eval/confirm_mean_reward",
        "mean raw return on fresh seeds",
        unit="reward",
        better="up",
        priority=1,
        condition="after the threshold was reached",
    ),
    Metric(
        "eval/confirm_episodes",
        "episodes behind the confirmation",
        unit="episodes",
        low=1,
        priority=3,
        condition="after the threshold was reached",
    ),
    share(
        "eval/confirm_success_rate",
        "share of successes on fresh seeds",
        better="up",
        priority=1,
        condition="after the threshold was reached, when the environment tells",
    ),
    Metric(
        "task_eval/<task>",
        "mean raw return of a task, played alone",
        unit="reward",
        better="up",
        priority=1,
        condition=_TASKS,
    ),
    Metric(
        "task_eval_std/<task>", "spread of those returns", unit="reward", low=0, priority=3, condition=_TASKS
    ),
    share(
        "task_eval_success/<task>",
        "share of a task's evaluation episodes that were a success",
        better="up",
        condition=f"{_TASKS}, when the environment tells",
    ),
    Metric(
        "task_threshold/<task>",
        "what a task must reach",
        priority=3,
        condition=f"{_TASKS}, when it has a threshold",
    ),
    Metric(
        "task_reached/<task>",
        "1 when a task reached its own threshold in this evaluation, else 0",
        better="up",
        low=0,
        high=1,
        condition=_TASKS,
    ),
    Metric(
        "eval/tasks_reached",
        "how many tasks did",
        unit="tasks",
        better="up",
        low=0,
        priority=1,
        condition=_TASKS,
    ),
    *(
        metric
        for name, who in (("idle", "actions that do nothing"), ("random", "random actions"))
        for metric in (
            Metric(
                f"blind/{name}_reward",
                f"mean raw return of {who} in episodes of the evaluation",
                unit="reward",
                condition=_BLIND[name],
            ),
            Metric(
                f"blind/{name}_std",
                "spread of those returns",
                unit="reward",
                low=0,
                priority=3,
                condition=_BLIND[name],
            ),
            Metric(
                f"blind/{name}_episodes",
                "episodes behind them",
                unit="episodes",
                low=1,
                priority=3,
                condition=_BLIND[name],
            ),
        )
    ),
    Metric(
        "solved",
        "1 when both long evaluations reached the threshold, of several tasks that of each, of a curriculum "
        "that of its last stage, else 0",
        better="up",
        low=0,
        high=1,
        priority=1,
    ),
    Metric(
        "quality/area",
        "mean height of the curve of evaluations over the steps so far (once solved, over the budget): 0 at "
        "the first one's return (or share of successes, where that decides) or below, 1 at the threshold or "
        "above",
        better="up",
        low=0,
        high=1,
        condition="when there is a threshold",
    ),
    by="evaluation",
)
