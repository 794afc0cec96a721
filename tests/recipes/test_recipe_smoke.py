"""Every shipped recipe really trains: environments built, two updates, one evaluation, a checkpoint."""

import math

import pytest

import gymsolve
from gymsolve.recipes import list_recipes, resolve
from gymsolve.runs.loading import load_checkpoint

NAMES = [recipe.name for recipe in list_recipes()]


@pytest.mark.parametrize("name", NAMES)
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
