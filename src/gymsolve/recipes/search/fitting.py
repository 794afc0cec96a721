"""Moves drawn values to ones that can work together: nothing impossible is ever trained.

A rollout must be cut into equal minibatches and leave room for several updates in the budget; a replay buffer
must hold a rollout. Only searched settings move, and only within their ranges.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gymsolve.recipes.search.check import apply_values, setting_at
from gymsolve.recipes.search.space import Dimension, Space
from gymsolve.settings.algorithms import DQNConfig
from gymsolve.settings.config import TrainConfig

FEWEST_UPDATES = 10
"""A budget of fewer updates teaches nothing."""
_MOST_MOVES = 64
Draw = Callable[[Dimension], Any]


def draw_values(space: Space, base: TrainConfig, draw: Draw) -> dict[str, Any]:
    """A value for each dimension that counts, in the order of the space; `draw` gives numbers or choices."""
    values: dict[str, Any] = {}

    def lookup(path: str) -> Any:
        searched = any(dimension.path == path for dimension in space)
        return values.get(path) if searched else setting_at(base, path)

    for dimension in space:
        if dimension.counts(lookup):
            values[dimension.path] = dimension.domain.value_of(draw(dimension))
    return values


def fit_values(space: Space, base: TrainConfig, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values with as few and small moves as make them possible; None where no move does."""
    fitted = dict(values)
    domains = {each.path: each.domain for each in space if each.path in fitted}
    for _ in range(_MOST_MOVES):
        move = _next_move(base, fitted)
        if move is None:
            return fitted if isinstance(apply_values(base, fitted), TrainConfig) else None
        path = next((name for name in move if name in domains), None)
        smaller = [] if path is None else domains[path].lower(fitted[path])
        while path is not None and not smaller:
            movable = [name for name in move if name in domains and domains[name].lower(fitted[name])]
            path = movable[0] if movable else None
            smaller = [] if path is None else domains[path].lower(fitted[path])
        if path is None:
            return None
        fitted[path] = smaller[0]
    return None


def misfit(config: TrainConfig) -> tuple[str, ...] | None:
    """The settings of which one has to be smaller; None where all fit."""
    algo, batch = config.algo, config.env.num_envs * config.algo.num_steps
    if batch * FEWEST_UPDATES > config.env_budget:
        return "algo.num_steps", "env.num_envs"
    if batch % algo.minibatches:
        return ("algo.num_minibatches",)
    if config.net.memory is not None and algo.minibatches > config.most_minibatches:
        return "algo.num_minibatches", "net.memory.sequence"
    if isinstance(algo, DQNConfig) and algo.learning_starts * 2 > config.env_budget:
        return ("algo.learning_starts",)
    return None


def _next_move(base: TrainConfig, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The settings of which one has to be smaller than these values say; None where nothing is to move."""
    outcome = apply_values(base, values)
    if isinstance(outcome, TrainConfig):
        wanted = misfit(outcome)
        # What the recipe itself cannot do is no fault of the drawn values.
        return None if wanted is None or not any(path in values for path in wanted) else wanted
    text = " ".join(str(problem) for problem in outcome)
    if "algo.num_minibatches" in text:
        return "algo.num_minibatches", "net.memory.sequence"
    if "algo.buffer_size" in text:
        return "algo.num_steps", "env.num_envs"
    return None
