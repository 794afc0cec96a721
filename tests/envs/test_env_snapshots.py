"""Every environment that a recipe names goes on from a state as if nothing had happened.

States are taken at random moments, in the first episode of a copy and in later ones. A short trial of one
environment of each family is part of `make test`; `make smoke` tries all of them, for long.
"""

import json
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from same_steps import assert_same_step
from test_env_contract import draw

from gymsolve.envs.contract import Envs, Step
from gymsolve.envs.families import find_family
from gymsolve.envs.make import make_envs
from gymsolve.errors import ConfigError, MissingExtraError
from gymsolve.recipes import list_recipes, resolve
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import Array, Obs


class Extent(NamedTuple):
    """How much of an environment is tried."""

    copies: int
    apart: int
    """Copies where each takes a process of its own."""
    moments: int
    farthest: int
    """Steps between two of them, at most."""
    after: int
    """Steps that are compared."""


SHORT, LONG = Extent(6, 2, 2, 60, 40), Extent(8, 3, 4, 500, 150)
Sight: TypeAlias = tuple[Obs, Array | None]
"""What a policy sees: observations, and which actions are legal."""


def every_environment() -> list[Any]:
    """The settings of environments of all recipes, without repetition."""
    found: dict[str, Any] = {}
    families = set()
    for recipe in list_recipes():
        config = resolve(recipe.name).config.env
        same = config.model_copy(update={"num_envs": 1, "workers": None})
        if (key := same.model_dump_json()) in found:
            continue
        family = next((layer for layer, _ in recipe.layers if layer.startswith("family ")), recipe.name)
        if family not in families:
            found[f"{key} in make test"] = pytest.param(config, SHORT, id=f"{recipe.name} for a short time")
            families.add(family)
        found[key] = pytest.param(config, LONG, id=recipe.name, marks=pytest.mark.smoke)
    return list(found.values())


@pytest.mark.parametrize(("config", "extent"), every_environment())
def test_what_follows_a_state_follows_it_in_fresh_copies(config: EnvConfig, extent: Extent) -> None:
    num_envs = max(extent.apart if find_family(config.id).exclusive else extent.copies, len(config.tasks))
    config = config.model_copy(update={"num_envs": num_envs, "workers": None})
    try:
        envs = make_envs(config, "train")
    except (MissingExtraError, ConfigError) as error:
        if isinstance(error, ConfigError) and not str(error).startswith("env.id: the ROM of"):
            raise
        pytest.skip(str(error))
    moments, rng = np.random.default_rng(1), np.random.default_rng(2)
    here = envs.reset(list(range(num_envs)))
    for _ in range(extent.moments):
        gap = int(moments.integers(1, extent.farthest))
        here = follow(envs, gap, rng, here)[1]
        state = json.loads(json.dumps(envs.capture()))
        # New ones each time: what has followed the others once may have come by what they hide.
        fresh = make_envs(config, "train")
        *there, restarted = fresh.restore(state, list(range(90, 90 + num_envs)))
        assert restarted == []
        assert_same_sight(here, there)
        seed = int(moments.integers(1000))
        expected, here = follow(envs, extent.after, np.random.default_rng(seed), here)
        found, _ = follow(fresh, extent.after, np.random.default_rng(seed), there)
        for one, other in zip(expected, found, strict=True):
            assert_same_step(one, other)
        assert json.dumps(envs.capture()) == json.dumps(fresh.capture())
        fresh.close()
    envs.close()


def assert_same_sight(one: Sight, other: Sight) -> None:
    for key, values in one[0].items():
        np.testing.assert_array_equal(other[0][key], values)
    np.testing.assert_array_equal(one[1], other[1])


def follow(envs: Envs, steps: int, rng: np.random.Generator, here: Sight) -> tuple[list[Step], Sight]:
    """Take random steps; what they gave, and what is seen after them."""
    results = []
    for _ in range(steps):
        actions = draw(rng, envs.spec.action, envs.num_envs, here[1])
        results.append(envs.step(envs.spec.action.to_env(actions)))
        here = results[-1].obs, results[-1].masks
    return results, here
