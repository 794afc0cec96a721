"""Rules about processes that die or hang and are started again: they bias the episodes that are left."""

from gymsolve.doctor.history import History
from gymsolve.doctor.rules.rule import POOR_VALUES, Context, Effect, Evidence, Rule

_FEW = 3
"""A process may be killed by chance, and cuts the episodes of all its copies."""
_MANY = 0.2
"""From this share of cut episodes on, the remaining ones are a biased selection."""
_OFTEN = 1e-3
"""Deaths per vector step: starting a process takes as long as a thousand quick steps."""


def is_restarting(history: History) -> bool:
    """Processes die so often that starting them again takes a notable part of the time."""
    deaths, steps = history.last("rollout/faults") or 0.0, history.last("vec_steps") or 0.0
    return deaths >= _FEW and deaths > _OFTEN * steps


def _counts_them(context: Context) -> bool:
    return context.config is not None  # logs of other tools do not count them


def _cut(history: History, context: Context, active: bool) -> Evidence | None:
    deaths, cut = history.last("rollout/faults") or 0.0, history.last("rollout/cut_episodes") or 0.0
    begun = cut + (history.last("rollout/episodes") or 0.0)
    lately = history.last("rollout/cut_share") or 0.0
    if deaths < _FEW or max(cut / max(1.0, begun), lately) <= (0.5 if active else 1.0) * _MANY:
        return None
    return Evidence("rollout/faults", deaths, 0.0, ">", f"which cut {cut:,.0f} of {begun:,.0f} episodes")


def _interrupted(history: History, context: Context, active: bool) -> Evidence | None:
    deaths = history.last("eval/faults") or 0.0
    return Evidence("eval/faults", deaths, 0.0, ">") if deaths >= _FEW else None


# Alerts that cut episodes cause.
_ODD_EPISODES = ("no_episode_end", "one_step_episodes", "equal_lengths")
_ODD_RETURNS = ("no_reward", "same_return", "return_flat", "return_fell", "eval_gap", "short_sight")
_ODD_VALUES = (*POOR_VALUES, "ev_oscillates", "advantage_biased", "terminal_uncorrelated")

FAULTS = (
    Rule(
        id="worker_lost",
        signal=1,
        severity="error",
        title="processes of the environment die and take their episodes with them",
        needs=("rollout/episodes",),
        check=_cut,
        cause="native code of the environment crashes or hangs, or the system ends its processes for lack of "
        "memory; the episodes that are left are a selection, so training's mean return is not the policy's",
        instead="find out why they die before anything else: `gymsolve check` steps the environment alone, "
        "env.backend=sync in one process; where memory is short, take fewer env.num_envs",
        effect=Effect("rollout/faults", "stays where it is"),
        explains=(*_ODD_EPISODES, *_ODD_RETURNS, *_ODD_VALUES),
        persistence=1,
        warmup=0.0,
        applies=_counts_them,
        standing=True,
    ),
    Rule(
        id="eval_lost",
        signal=1,
        severity="error",
        title="processes that play evaluations die",
        needs=("env_steps",),
        check=_interrupted,
        cause="native code of the environment crashes or hangs, or the system ends its processes for lack of "
        "memory: evaluations take longer, or give no verdict",
        instead="`gymsolve eval` on a checkpoint of the run plays them alone, and `gymsolve check` steps the "
        "environment; where memory is short, take fewer eval.num_envs",
        effect=Effect("eval/faults", "stays where it is"),
        explains=("overhead",),
        persistence=1,
        warmup=0.0,
        applies=_counts_them,
        standing=True,
    ),
)
