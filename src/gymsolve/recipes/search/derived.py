"""Derives a search space from the algorithm, its settings and the length of episodes, each with a reason.

A range always holds the recipe's own value. A setting that follows a schedule is searched by where it starts,
and keeps its shape.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gymsolve.recipes.search.check import setting_at
from gymsolve.recipes.search.domains import Domain
from gymsolve.recipes.search.fitting import FEWEST_UPDATES
from gymsolve.recipes.search.space import Dimension, Space
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Schedule
from gymsolve.text import count, number, setting

_PLACE = "derived"
_NETS = ([64], [64, 64], [128, 128], [256, 256])


@dataclass(frozen=True)
class Facts:
    """The settings of the recipe, and what is known of the environment."""

    config: TrainConfig
    longest: int | None = None
    """Steps after which an episode is cut; None where there is no limit."""


Derive = Callable[[Facts], Dimension | None]


def derive_space(config: TrainConfig, longest: int | None = None) -> Space:
    """The dimensions that matter most for the algorithm of these settings."""
    facts = Facts(config, longest)
    rules = (*_COMMON, *_BY_ALGORITHM.get(config.algo.name, ()), _network)
    return tuple(dimension for rule in rules if (dimension := rule(facts)) is not None)


def _numeric(path: str, domain: Domain, reason: str) -> Derive:
    """A rule for a setting that may be a schedule or unset."""

    def derive(facts: Facts) -> Dimension | None:
        value = setting_at(facts.config, path)
        if value is None:
            return None
        where = f"{path}.start" if isinstance(value, dict) else path
        own = value.get("start") if isinstance(value, dict) else value
        if own is None:  # a schedule of points
            return None
        return _holding(Dimension(where, domain, reason=reason, place=_PLACE), own)

    return derive


def _holding(dimension: Dimension, own: Any) -> Dimension | None:
    """The dimension, wide enough for the recipe's own value; None where its scale has no such value."""
    domain = dimension.domain
    if domain.drawn_for(own) is not None:
        return dimension
    if domain.kind == "choice":
        return replace(dimension, domain=Domain("choice", choices=(own, *domain.choices)))
    drawn = 1.0 - own if domain.kind == "one_minus_log" else own
    if drawn <= 0 and domain.kind != "range":
        return None
    if domain.kind in ("int", "logint", "pow2") and (drawn != int(drawn) or drawn < 1):
        return None
    if domain.kind == "pow2" and not math.log2(drawn).is_integer():
        domain = replace(domain, kind="logint")
    wide = replace(domain, low=min(domain.low, drawn), high=max(domain.high, drawn))
    text = f"{dimension.reason}; widened to the recipe's {setting(own)}"
    return replace(dimension, domain=wide, reason=text)


def _discount(facts: Facts) -> Dimension | None:
    gamma = facts.config.algo.gamma
    if not gamma.is_constant or gamma.start == 1.0:
        return None  # nothing is discounted, on purpose
    longest = facts.longest or 1000
    least = max(1e-4, min(0.01, 1.0 / (5.0 * longest)))
    reason = f"sight from ten steps to five times the longest episode ({count(longest)} steps)"
    return _holding(Dimension("algo.gamma", Domain("one_minus_log", least, 0.1), reason=reason, place=_PLACE),
                    gamma.start)  # fmt: skip


def _rollout(facts: Facts) -> Dimension | None:
    own, copies = facts.config.algo.num_steps, facts.config.env.num_envs
    most = max(1, facts.config.env_budget // (FEWEST_UPDATES * copies))
    low, high = 2 ** max(0, math.floor(math.log2(own)) - 2), 2 ** (math.ceil(math.log2(own)) + 2)
    high = min(high, 2 ** math.floor(math.log2(most)))
    if low >= high:
        return None
    reason = (
        f"a quarter to four times the recipe's {own}, and at least {FEWEST_UPDATES} updates in the budget"
    )
    return _holding(Dimension("algo.num_steps", Domain("pow2", low, high), reason=reason, place=_PLACE), own)


def _entropy(facts: Facts) -> Dimension | None:
    value = setting_at(facts.config, "algo.ent_coef")
    own = value.get("start") if isinstance(value, dict) else value
    path = "algo.ent_coef.start" if isinstance(value, dict) else "algo.ent_coef"
    if own is None:
        return None
    domain, reason = Domain("choice", choices=(0.0, 0.001, 0.01, 0.03)), "none, or little to much exploration"
    return _holding(Dimension(path, domain, reason=reason, place=_PLACE), own)


def _network(facts: Facts) -> Dimension | None:
    net = facts.config.net
    if (
        setting_at(facts.config, "net.hidden") is None
        or net.memory is not None
        or facts.config.env.frame_stack > 1
    ):
        return None  # there, other parts of the network decide
    domain = Domain("choice", choices=_NETS)
    return _holding(Dimension("net.hidden", domain, reason="one or two layers, narrow to wide", place=_PLACE),
                    list(net.hidden))  # fmt: skip


def _exploration_end(facts: Facts) -> Dimension | None:
    epsilon: Schedule = facts.config.algo.epsilon  # type: ignore[union-attr]  # of algorithms that have it
    if epsilon.is_constant or epsilon.points is not None or epsilon.until > 1:
        return None
    reason = f"random actions fade early or late; the recipe's end at {number(epsilon.until)} of the budget"
    return _holding(
        Dimension("algo.epsilon.until", Domain("range", 0.05, 0.6), reason=reason, place=_PLACE),
        epsilon.until,
    )


_RATE = _numeric("algo.learning_rate", Domain("log", 1e-5, 1e-2), "from too careful to unstable, by factors")


def _trace(facts: Facts) -> Dimension | None:
    if setting_at(facts.config, "algo.gamma") == setting_at(facts.config, "algo.gae_lambda") == 1.0:
        return None  # episodes of one step
    reason = "trades bias for variance of the advantages"
    return _numeric("algo.gae_lambda", Domain("range", 0.8, 1.0), reason)(facts)


_COMMON: tuple[Derive, ...] = (_RATE, _discount)
_MINIBATCHES = _numeric("algo.num_minibatches", Domain("pow2", 1, 32), "one large step to many small ones")
_BY_ALGORITHM: dict[str, tuple[Derive, ...]] = {
    "ppo": (
        _trace,
        _rollout,
        _numeric("algo.num_epochs", Domain("int", 1, 20), "passes cost time and reuse data"),
        _MINIBATCHES,
        _numeric("algo.clip_coef", Domain("range", 0.1, 0.4), "how far one update may move the policy"),
        _entropy,
    ),
    "a2c": (_trace, _rollout, _entropy),
    "reinforce": (_rollout, _entropy),
    "pqn": (
        _rollout,
        _numeric("algo.num_epochs", Domain("int", 1, 8), "passes cost time and reuse data"),
        _MINIBATCHES,
        _numeric("algo.q_lambda", Domain("range", 0.0, 0.98), "trades bias for variance of the targets"),
        _exploration_end,
    ),
    "dqn": (
        _numeric("algo.batch_size", Domain("pow2", 32, 512), "noisy and cheap to exact and costly gradients"),
        _numeric(
            "algo.gradient_steps", Domain("log", 0.25, 4.0), "learning per step costs time, reuses data"
        ),
        _numeric("algo.n_step", Domain("int", 1, 5), "rewards that are summed before the target is asked"),
        _numeric("algo.target_every", Domain("logint", 50, 5000), "a target that follows soon or late"),
        _exploration_end,
    ),
}
"""Rules by algorithm; others are searched by learning rate, discount and network."""
