"""Groups of settings by what another value means for a run; each entry is the beginning of a path.

Also refuses a budget that is spent before a run goes on.
"""

from collections.abc import Iterable

from gymsolve.errors import UsageError
from gymsolve.text import count

LASTING = ("algo.name", "env.id", "env.tasks", "net.", "seed", "curriculum.stages", "curriculum.choice")
"""Weights and state do not fit another value."""
PLAYED = ("env.kwargs", "env.wrappers", "env.max_episode_steps", "env.frame_stack", "env.legal_actions")
"""Another value makes other episodes of the same environment."""
_EVALUATED = ("eval.deterministic", "eval.episodes", "eval.steps", "eval.solved_episodes")
JUDGED = ("solved_at", "solved_by", *_EVALUATED, *PLAYED)
"""Earlier evaluations do not count after a change of these."""
_TIMEOUTS = ("env.step_timeout", "env.reset_timeout", "env.build_timeout", "grace_seconds")
_SPEED = ("threads", "engine", "device", "env.lean", "env.workers", "eval.asynchronous", "eval.num_envs")
INCIDENTAL = ("description", "track", "video.", "checkpoint.", *_TIMEOUTS, *_SPEED)
"""Another value changes no result beyond rounding: neither what is learned nor how it is evaluated."""


def require_budget_left(run: str, taken: int, budget: int, changes: Iterable[str]) -> None:
    """Refuse to go on where the budget is spent already, unless the policy is to be evaluated again."""
    if taken < budget or any(path.startswith(JUDGED) for path in changes):
        return
    raise UsageError(
        f"run {run} has taken {count(taken)} steps already, and its budget would be {count(budget)}: "
        "it would end at once.",
        where="--steps",
        hint="Give more than that as --steps.",
    )
