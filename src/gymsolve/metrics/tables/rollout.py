"""Metrics of collected data: episodes, rewards, observations, actions."""

from gymsolve.metrics.metric import ACTOR_CRITICS, CONTINUOUS, WITH_CREDIT, Metric, share, with_defaults

_COMPONENTS = "when the wrapper `reward_components` names them"
_TASKS = "with several tasks"

EPISODES = (
    Metric("rollout/episodes", "episodes finished since the start", unit="episodes", low=0),
    Metric(
        "rollout/faults",
        "processes of the environments that died or hung since the start, and were started again",
        low=0,
        better="down",
        condition="once one did",
    ),
    Metric(
        "rollout/cut_episodes",
        "episodes that went with them: they count nowhere and are not learned from",
        unit="episodes",
        better="down",
        low=0,
        condition="once one did",
    ),
    share(
        "rollout/cut_share",
        "share of the newest episodes that faults cut: from 5% on, means are those of a selection",
        better="down",
        condition="once one was cut",
    ),
    Metric(
        "rollout/ep_rew_mean",
        "mean raw return; of several tasks, the mean of theirs once each has ended an episode, and of a "
        "curriculum that of its last stage",
        unit="reward",
        better="up",
        priority=1,
    ),
    Metric("rollout/ep_rew_std", "spread of the raw returns", unit="reward", low=0, priority=3),
    Metric("rollout/ep_rew_min", "smallest raw return", unit="reward", better="up", priority=3),
    Metric("rollout/ep_rew_max", "largest raw return", unit="reward", better="up", priority=3),
    Metric("rollout/ep_rew_last", "raw return of the newest episode", unit="reward", better="up", priority=3),
    Metric("rollout/ep_rew_best", "largest raw return since the start", unit="reward", better="up"),
    Metric("rollout/ep_len_mean", "mean length in agent steps", unit="steps", low=0),
    Metric("rollout/ep_len_std", "spread of the lengths", unit="steps", low=0, priority=3),
    share("rollout/truncated_share", "share that a time limit cut"),
    Metric(
        "rollout/ep_shaped_rew_mean",
        "mean return as wrappers made it, before scaling",
        unit="reward",
        better="up",
        condition="when wrappers changed rewards",
    ),
    share(
        "rollout/success_rate",
        "share of successes",
        better="up",
        priority=1,
        condition="when the environment tells",
    ),
    share(
        "rollout/bootstrapped_share",
        "share of the newest rollout's truncated episodes whose last observation was there to bootstrap from",
        better="up",
        priority=3,
        condition="when a time limit cut one",
    ),
    share(
        "rollout/reset_synchrony",
        "largest share of environments that ended an episode in the same step of the newest rollout",
        better="down",
        priority=3,
    ),
    Metric(
        "reward/<component>",
        "what a component of the reward paid per step, its weight included; `base` is the reward below",
        unit="reward",
        condition=_COMPONENTS,
    ),
    share(
        "reward_share/<component>", "share of a component in the sizes of all of them", condition=_COMPONENTS
    ),
)

TASKS = with_defaults(
    Metric(
        "task_return/<task>",
        "mean raw return of a task's last 100 training episodes",
        unit="reward",
        better="up",
        priority=1,
    ),
    Metric("task_length/<task>", "their mean length", unit="steps", low=0, priority=3),
    Metric(
        "task_episodes/<task>", "episodes of a task that ended so far", unit="episodes", low=0, priority=3
    ),
    share(
        "task_success/<task>",
        "share of successes among a task's last 100 training episodes",
        better="up",
        condition=f"{_TASKS}, when the environment tells",
    ),
    share("task_steps/<task>", "a task's share of the steps that are learned from"),
    share(
        "task_signal/<task>",
        "a task's share in the sizes of all advantages, as they are normalised: how much of the policy's "
        "learning is about it",
    ),
    by=ACTOR_CRITICS,
    condition=_TASKS,
)

_SUBJECTS = (
    ("reward", "rewards that are learned from, after wrappers and scaling"),
    ("return", "value targets"),
    ("advantage", "advantages before normalisation"),
    ("value", "predicted values"),
)
_NUMBERS = "when observations hold more than categories"
_STATISTICS = (
    ("mean", "mean", None),
    ("std", "spread", 0.0),
    ("min", "smallest", None),
    ("max", "largest", None),
    ("p95abs", "95th percentile of the size", 0.0),
)

DATA = (
    *(
        Metric(f"rollout/{key}_{statistic}", f"{word} of the {what}", WITH_CREDIT, low=low, priority=3)
        for key, what in _SUBJECTS
        for statistic, word, low in _STATISTICS
    ),
    Metric(
        "obs/abs_max",
        "largest size of a number that the network saw, after normalisation",
        low=0,
        condition=_NUMBERS,
    ),
    share(
        "obs/constant_share",
        "share of the observation's elements that did not change during the rollout",
        better="down",
    ),
    Metric(
        "obs/first_size",
        "root mean square of what the network saw as episodes began, after normalisation",
        low=0,
        priority=3,
        condition="when an episode began within the rollout, and observations hold more than categories",
    ),
    Metric("obs/mean", "mean of what the network saw", priority=3, condition=_NUMBERS),
    Metric("obs/std", "spread of what the network saw", low=0, priority=3, condition=_NUMBERS),
    share(
        "action/share_<k>",
        "share of choice k among the actions; `<part>_<choice>` where an action has several parts; of more "
        "than 32 choices, neighbours are counted together, as in `8to11`",
        priority=3,
        condition="for categories in at most 16 parts",
    ),
    share(
        "action/largest_share",
        "share of the commonest choice, in the part where it is largest",
        condition="for categories",
    ),
    Metric("action/mean", "mean action, as the environment takes it", priority=3),
    Metric("action/std", "spread of the actions", low=0, priority=3),
    share(
        "action/saturated_share",
        "share of actions at a bound (within 0.5 % of the range), in the dimension where it is largest",
        f"{ACTOR_CRITICS}, {CONTINUOUS}",
        better="down",
        condition="for bounded boxes",
    ),
    Metric(
        "policy/entropy_relative",
        "entropy over that of a uniform policy on what was legal",
        ACTOR_CRITICS,
        unit="share",
        low=0,
        high=1.001,
        condition="for categories",
    ),
    Metric("policy/log_std_mean", "mean log standard deviation", ACTOR_CRITICS, condition="for boxes"),
)
