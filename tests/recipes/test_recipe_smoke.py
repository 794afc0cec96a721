"""Every shipped recipe really works: it trains, is evaluated, resumes bit for bit and can be filmed.

One recipe of each family and algorithm is part of `make test`; `make smoke` tries all of them. A table of
what was tried ends either (`conftest.py`).
"""

import math
from pathlib import Path

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.video.record import RecordRequest, record_run
from gymsolve.envs.families import find_family
from gymsolve.errors import ConfigError, MissingExtraError, UsageError
from gymsolve.recipes import list_recipes, resolve
from gymsolve.runs.loading import load_checkpoint

RECIPES = list_recipes()


def every_recipe():
    """All of them; those that have a relative before them in the list are left to `make smoke`."""
    seen = set()
    for recipe in RECIPES:
        config = resolve(recipe.name).config
        kind = (find_family(config.env.id).name, config.algo.name)
        yield pytest.param(recipe.name, marks=[pytest.mark.smoke] if kind in seen else [])
        seen.add(kind)


def shortened(config):
    """Settings for four small updates with a checkpoint after the second."""
    num_envs = max(min(config.env.num_envs, 2), len(config.env.tasks))
    sequence = (config.net.memory.sequence if config.net.memory else None) or 0
    num_steps = min(config.algo.num_steps, max(sequence, 32))
    settings = {
        "env.num_envs": num_envs,
        "algo.num_steps": num_steps,
        "steps": 4 * num_envs * num_steps,
        "checkpoint.every": 2 * num_envs * num_steps,
        "eval.episodes": 1,
        "eval.max_steps": 200,
        "eval.every": 0,
        "solved_by": "return",
        "solved_at": 1e9,
    }
    if config.algo.name == "ppo":
        settings |= {"algo.num_minibatches": 2, "algo.num_epochs": 1}
    if hasattr(config.algo, "buffer_size"):  # so few steps would only fill the replay buffer
        settings |= {"algo.learning_starts": 0, "algo.batch_size": 4}
    if config.curriculum.stages:  # one update in each
        each = num_envs * num_steps
        settings["curriculum.stages"] = [{"name": name, "steps": each} for name in config.curriculum.names]
    return settings


@pytest.mark.parametrize("name", list(every_recipe()))
def test_a_recipe_works(name, tmp_path, record_property):
    config = resolve(name).config
    record_property("recipe", name)
    try:
        outcome = gymsolve.train(name, shortened(config), runs_dir=tmp_path)
    except (MissingExtraError, ConfigError) as error:
        if isinstance(error, ConfigError) and not str(error).startswith("env.id: the ROM of"):
            raise
        record_property("skipped", str(error))
        pytest.skip(str(error))
    assert outcome.status == "finished"
    losses = [row["train/loss"] for row in outcome.run.read_metrics().rows if "train/loss" in row]
    # So few steps may end no episode, and find nothing that an archive could teach.
    taught = config.explore.archive is not None and config.explore.archive.rollouts is not True
    assert losses or taught or config.algo.name == "reinforce"
    assert all(math.isfinite(loss) for loss in losses)
    record_property("trained", f"{outcome.env_steps} steps")
    record_property("resumed", resumes(outcome.run))
    record_property("filmed", filmed(outcome.run))


def resumes(run):
    """Go on from the checkpoint in the middle: the same weights at the end, or a note that says why not."""
    straight = load_checkpoint(run, "last")
    middle = straight.meta["env_steps"] // 2
    gymsolve.resume(f"{run.path}@{middle}")
    again = load_checkpoint(run, "last")
    assert again.meta["env_steps"] == straight.meta["env_steps"]
    notes = [event["text"] for event in run.read_events().rows if event["kind"] == "note"]
    if any("start anew" in note for note in notes):
        return "episodes start anew"
    for key, weights in straight.policy.items():
        np.testing.assert_array_equal(weights, again.policy[key], err_msg=key)
    return "bit for bit"


def filmed(run):
    """A second of the last policy, where the environment can be drawn."""
    try:
        shown = record_run(f"{run.path}@last", RecordRequest(max_seconds=1.0))
    except UsageError as error:
        if "cannot be drawn" not in str(error):
            raise
        return "nothing to draw"
    assert Path(shown["path"]).stat().st_size > 1000
    return "yes"
