"""How episodes begin and end, and what they are paid for."""

from gymsolve.metrics.history import History
from gymsolve.metrics.rules.outlook import is_flat, is_reached
from gymsolve.metrics.rules.rule import Context, Evidence, Rule, above, below, set_to

__all__ = ["EPISODES"]

_ENOUGH_EPISODES = 100


def _no_end(history: History, context: Context, active: bool) -> Evidence | None:
    value = history.series["rollout/episodes"].last
    steps = f"none in {history.env_steps} steps"
    return Evidence("rollout/episodes", value, 1.0, "<", steps) if value < 1.0 else None


def _one_step(history: History, context: Context, active: bool) -> Evidence | None:
    series = history.series["rollout/ep_len_mean"]
    if series.last > 1.0 or series.peak <= 1.0 or is_reached(history, context):
        return None  # always of one step: that is a bandit
    return Evidence("rollout/ep_len_mean", series.last, 1.0, "=", "episodes end in their first step")


def _equal_lengths(history: History, context: Context, active: bool) -> Evidence | None:
    length = history.last("rollout/ep_len_mean")
    limit = None if context.spec is None else context.spec.max_episode_steps
    cut = history.last("rollout/truncated_share") or 0.0
    if length is None or length <= 1.0 or length == limit or cut >= 1.0 or is_reached(history, context):
        return None
    if (history.last("rollout/episodes") or 0.0) < _ENOUGH_EPISODES:
        return None
    return below("rollout/ep_len_std", 1e-9)(history, context, active)


def _one_component(history: History, context: Context, active: bool) -> Evidence | None:
    if not is_flat(history, context, 0.2):
        return None
    for name, value in history.record.items():
        if name.startswith("reward/") and value > 0.9:
            return Evidence(name, value, 0.9, ">", "while the raw return is flat")
    return None


def _many_copies(context: Context) -> bool:
    copies = context.setting("env.num_envs")
    return copies is None or copies > 1


EPISODES = (
    Rule(
        id="no_episode_end",
        signal=23,
        severity="warn",
        title="no episode has ended yet",
        needs=("rollout/episodes",),
        check=_no_end,
        cause="there is no time limit, and nothing the policy does ends an episode",
        remedy=set_to("env.max_episode_steps", 1000),
        effect="rollout/episodes grows",
        explains=("return_flat", "ev_zero"),
        warmup=0.1,
    ),
    Rule(
        id="one_step_episodes",
        signal=23,
        severity="error",
        title="episodes end in their first step",
        needs=("rollout/ep_len_mean",),
        check=_one_step,
        cause="the environment's reset is broken, or the policy learned to end episodes at once",
        effect="rollout/ep_len_mean rises above 1",
        explains=("return_flat", "return_fell", "equal_lengths"),
    ),
    Rule(
        id="equal_lengths",
        signal=23,
        severity="warn",
        title="all episodes have the same length, below the time limit",
        needs=("rollout/ep_len_std", "rollout/ep_len_mean"),
        check=_equal_lengths,
        cause="the environment ends by itself after so many steps, or every episode is the same one",
        effect="rollout/ep_len_std rises above 0",
        persistence=20,
    ),
    Rule(
        id="reset_synchrony",
        signal=27,
        severity="info",
        title="all environments start their episodes together",
        needs=("rollout/reset_synchrony",),
        check=above("rollout/reset_synchrony", 0.9, 0.8),
        cause="episodes of one fixed length: every rollout holds the same part of an episode",
        effect="rollout/reset_synchrony falls below 0.9",
        persistence=20,
        applies=_many_copies,
    ),
    Rule(
        id="one_component",
        signal=28,
        severity="warn",
        title="one part of the reward is nearly all of it",
        needs=("rollout/ep_rew_mean", "reward/<component>"),
        check=_one_component,
        cause="the policy earns from shaping what the task does not pay for",
        effect="rollout/ep_rew_mean rises while the component's share falls",
        explains=("return_flat",),
    ),
)
