"""`algo.num_steps: auto`: chooses rollouts long enough to see rewards, as `envs/random_policy.py` counts."""

import math
from typing import NamedTuple

from gymsolve.envs.random_policy import Pay
from gymsolve.settings.config import TrainConfig
from gymsolve.text import count

_REWARDS = 2
"""Rewards that one environment's part of a rollout should hold on average: then one in seven has none."""
_LONGEST = 2048
_FEWEST_UPDATES = 20
"""A budget must allow at least this many updates."""


class RolloutLength(NamedTuple):
    """The chosen length, and the reason."""

    num_steps: int
    """A power of two, or the recipe's own number."""
    least: int
    """Below this, rollouts would miss rewards; tuning for speed must not go there."""
    reason: str


def choose_num_steps(config: TrainConfig, pay: Pay) -> RolloutLength:
    """Steps per environment: the recipe's own, or more where rewards are further apart."""
    own = config.algo.num_steps
    wanted, seen = _wanted(config, pay)
    if pay.cut:
        seen += f" (in {count(pay.env_steps)} steps; it is too slow for a longer look)"
    needed = 2 ** math.ceil(math.log2(max(1.0, wanted)))
    if wanted <= own:
        reason = f"algo.num_steps stays {own}, which is long enough: under random actions {seen}."
        return RolloutLength(own, min(own, needed), reason)
    affordable = config.env_budget / (_FEWEST_UPDATES * config.env.num_envs)
    most = min(_LONGEST, 2 ** math.floor(math.log2(max(1.0, affordable))))
    chosen = max(own, min(most, needed))
    limited = "" if chosen >= wanted else f" More is not taken, for {_limit(config, most)}."
    changed = f"{chosen} instead of {own}" if chosen != own else f"stays {own}"
    return RolloutLength(chosen, chosen, f"algo.num_steps {changed}: under random actions {seen}.{limited}")


def _wanted(config: TrainConfig, pay: Pay) -> tuple[float, str]:
    """How many steps a stretch should have, and what was seen."""
    between, longest = pay.between, pay.longest
    if config.algo.whole_episodes and longest is not None:
        return _REWARDS * longest, f"episodes last {longest:.3g} steps, and REINFORCE needs whole ones"
    if between is None:
        seen = "every step pays the same" if pay.usual else "nothing is paid"
        if longest is None:
            return _LONGEST, f"{seen} and no episode ends"
        return longest, f"{seen}, and episodes last {longest:.3g} steps"
    often = "in every step" if between < 1.5 else f"every {between:.3g} steps"
    paid = f"a reward that tells something comes {often}"
    if longest is not None and longest < between:
        # A stretch that holds whole episodes guesses no value: a longer one is only more of the same.
        return _REWARDS * longest, f"{paid}, and episodes last {longest:.3g}"
    return _REWARDS * between, paid


def _limit(config: TrainConfig, most: int) -> str:
    if most == _LONGEST:
        return f"{_LONGEST} is the most"
    return f"a budget of {count(config.env_budget)} steps should give {_FEWEST_UPDATES} updates"
