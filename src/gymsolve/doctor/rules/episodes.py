"""Rules about how episodes begin and end, and about their rewards."""

import statistics

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.learning_trend import is_confirmed, is_flat, is_reached
from gymsolve.doctor.rules.rule import Context, Effect, Evidence, Rule, above, below
from gymsolve.text import number

_ENOUGH_EPISODES = 100
_ALL_OF_IT = 0.98
_VERY_LONG = 10_000
"""Hardly any episode lasts longer than so many steps."""
_WINDOW = 20
_SHARE = "reward_share/"
_PAID = "rollout/ep_shaped_rew_mean"


def _no_end(history: History, context: Context, active: bool) -> Evidence | None:
    """Every copy has played for longer than an episode may last, or for very long where no limit is known."""
    value = history.series["rollout/episodes"].last
    if value >= 1.0:
        return None
    played, limit = _played(history, context), context.episode_limit
    cut = history.last("rollout/cut_episodes") or 0.0
    if cut:  # faults cut them: the longest stretch without one is at least as long as the mean of all
        copies = context.setting("env.num_envs") or 1
        played *= copies / (copies + cut)
    if played <= (limit or _VERY_LONG) or (limit is None and context.progress(history) < 0.5):
        return None  # the first one may still be under way
    most = f"a limit of {limit:,}" if limit else "no known limit"
    note = f"although each copy has taken {played:,.0f} steps, with {most}"
    return Evidence("rollout/episodes", value, 1.0, "<", note)


def _played(history: History, context: Context) -> float:
    """Steps of each copy; the steps of all copies say nothing about the length of an episode."""
    each = history.last("vec_steps")
    if each is not None:
        return each
    copies = context.setting("env.num_envs")
    return history.env_steps / copies if copies else 0.0


def _one_step(history: History, context: Context, active: bool) -> Evidence | None:
    series = history.series["rollout/ep_len_mean"]
    if series.last > 1.0 or series.peak <= 1.0 or is_reached(history, context):
        return None  # always of one step: that is a bandit
    return Evidence("rollout/ep_len_mean", series.last, 1.0, "=", "episodes end in their first step")


def _equal_lengths(history: History, context: Context, active: bool) -> Evidence | None:
    length = history.last("rollout/ep_len_mean")
    limit = context.episode_limit
    cut = history.last("rollout/truncated_share") or 0.0
    if length is None or length <= 1.0 or length == limit or cut >= 1.0 or is_confirmed(history, context):
        return None
    if (history.last("rollout/episodes") or 0.0) < _ENOUGH_EPISODES:
        return None
    return below("rollout/ep_len_std", 1e-9)(history, context, active)


def _one_component(history: History, context: Context, active: bool) -> Evidence | None:
    if not is_flat(history, context, 0.2):
        return None
    shares = {name: series.last for name, series in history.series.items() if name.startswith(_SHARE)}
    if len(shares) < 2:
        return None  # the only part is all of it by nature
    bar = 0.85 if active else 0.9
    # The task's own reward may be all of it.
    large = {name: value for name, value in shares.items() if value > bar and name != f"{_SHARE}base"}
    for name, value in large.items():
        paid = history.last(name.replace(_SHARE, "reward/", 1))
        rate = "" if paid is None else f", at {paid:.3g} per step"
        return Evidence(name, value, 0.9, ">", f"while the raw return is flat{rate}")
    return None


def _limit_as_end(history: History, context: Context, active: bool) -> Evidence | None:
    """Episodes last as long as the limit allows, and none is reported as truncated."""
    limit = context.episode_limit
    length, cut = history.series["rollout/ep_len_mean"].last, history.last("rollout/truncated_share")
    if limit is None or limit <= 1 or cut != 0.0 or not length >= _ALL_OF_IT * limit:
        return None
    return Evidence(
        "rollout/truncated_share", cut, 0.0, "=", f"although episodes last {length:.4g} of {limit}"
    )


def _misleads(history: History, context: Context, active: bool) -> Evidence | None:
    """The agent's reward moves against the task's own."""
    paid, raw = history.series[_PAID], history.series["rollout/ep_rew_mean"]
    mine, theirs = paid.tail(_WINDOW), raw.tail(_WINDOW)
    if len(mine) < _WINDOW or len(mine) != len(theirs) or is_reached(history, context):
        return None
    still = min(mine) == max(mine) or min(theirs) == max(theirs)
    if still:
        against = -1.0 if paid.last * raw.last < 0.0 and is_flat(history, context, 0.2) else 0.0
    else:
        against = statistics.correlation(mine, theirs)
    if against >= (-0.3 if active else -0.5):
        return None
    # Where a return does not change there is no correlation: opposite signs count instead.
    what = "sign of the paid return against that of" if still else "correlation of the paid return with"
    note = f"{number(paid.last)} is paid for {number(raw.last)}"
    return Evidence(_PAID, against, -0.5, "<", note, meaning=f"{what} the task's own return")


def _may_be_shaped(context: Context) -> bool:
    return context.config is None or bool(context.config.env.wrappers)


def _many_copies(context: Context) -> bool:
    copies = context.setting("env.num_envs")
    return copies is None or copies > 1


EPISODES = (
    Rule(
        id="limit_as_end",
        signal=24,
        severity="error",
        title="time limits are learned from as if they were ends",
        needs=("rollout/ep_len_mean", "rollout/truncated_share"),
        check=_limit_as_end,
        cause="the environment, or a wrapper, reports `terminated` where a time limit cut the episode",
        effect=Effect(
            "rollout/truncated_share", "rises", above=0, more="while episodes last as long as they may"
        ),
        explains=("ev_negative", "ev_zero", "ev_oscillates", "equal_lengths", "terminal_uncorrelated"),
        persistence=3,
        warmup=0.0,
        standing=True,
    ),
    Rule(
        id="reward_misleads",
        signal=28,
        severity="error",
        title="the agent is paid for what the task punishes",
        needs=(_PAID, "rollout/ep_rew_mean"),
        check=_misleads,
        cause="a reward wrapper has the wrong sign, or pays for something that gets in the way",
        effect=Effect("rollout/ep_shaped_rew_mean", "and rollout/ep_rew_mean rise together"),
        explains=("return_flat", "return_fell", "one_component", "entropy_collapse", "eval_gap"),
        applies=_may_be_shaped,
        standing=True,
    ),
    Rule(
        id="no_episode_end",
        signal=23,
        title="no episode has ended yet",
        needs=("rollout/episodes",),
        check=_no_end,
        cause="nothing the policy does ends an episode, and no time limit does either",
        instead="look at when the environment sets `terminated` and `truncated`; if the task has no end of "
        "its own, give it one with env.max_episode_steps",
        effect=Effect("rollout/episodes", "grows"),
        explains=("return_flat", "ev_zero"),
        patience=1,
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
        effect=Effect("rollout/ep_len_mean", "rises", above=1),
        explains=("return_flat", "return_fell", "equal_lengths"),
    ),
    Rule(
        id="equal_lengths",
        signal=23,
        title="all episodes have the same length, below the time limit",
        needs=("rollout/ep_len_std", "rollout/ep_len_mean"),
        check=_equal_lengths,
        cause="the environment ends by itself after so many steps, or every episode is the same one",
        effect=Effect("rollout/ep_len_std", "rises", above=0),
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
        effect=Effect("rollout/reset_synchrony", "falls", below=0.9),
        persistence=20,
        applies=_many_copies,
    ),
    Rule(
        id="one_component",
        signal=28,
        title="one part of the reward is nearly all of it",
        needs=("rollout/ep_rew_mean", "reward_share/<component>"),
        check=_one_component,
        cause="the policy earns from shaping what the task does not pay for",
        effect=Effect("rollout/ep_rew_mean", "rises", more="while the component's share falls"),
        explains=("return_flat",),
    ),
)
