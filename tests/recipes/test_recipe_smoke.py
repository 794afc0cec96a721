"""Every shipped recipe really trains: environments built, two updates, one evaluation, a checkpoint.

One recipe of each family and algorithm is part of `make test`; `make smoke` trains all of them.
"""

import math

import pytest

import gymsolve
from gymsolve.recipes import list_recipes, resolve
from gymsolve.runs.loading import load_checkpoint

RECIPES = list_recipes()


def every_recipe():
    """All of them; those that have a relative before them in the list are left to `make smoke`."""
    seen = set()
    for recipe in RECIPES:
        family = next((layer for layer, _ in recipe.layers if layer.startswith("family ")), recipe.name)
        kind = (family, resolve(recipe.name).config.algo.name)
        yield pytest.param(recipe.name, marks=[pytest.mark.smoke] if kind in seen else [])
        seen.add(kind)


@pytest.mark.parametrize("name", list(every_recipe()))
def test_a_recipe_trains(name, tmp_path):
    config = resolve(name).config
    num_envs = min(config.env.num_envs, 4)
    num_steps = min(config.algo.num_steps, 64)
    settings = {
        "env.num_envs": num_envs,
        "algo.num_steps": num_steps,
        "steps": 2 * num_envs * num_steps,
        "eval.episodes": 1,
        "eval.max_steps": 300,
        "solved_by": "return",
        "solved_at": 1e9,
    }
    if config.algo.name == "ppo":
        settings |= {"algo.num_minibatches": 2, "algo.num_epochs": 1}
    outcome = gymsolve.train(name, settings, runs_dir=tmp_path)
    assert outcome.status == "finished"
    rows = outcome.run.read_metrics().rows
    losses = [row["train/loss"] for row in rows if "train/loss" in row]
    assert losses or config.algo.name == "reinforce"
    assert all(math.isfinite(loss) for loss in losses)
    assert load_checkpoint(outcome.run, "last").meta["env_steps"] == outcome.env_steps
