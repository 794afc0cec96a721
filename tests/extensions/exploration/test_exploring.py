"""Bonuses inside a training: what they change, what they leave alone, and what is refused."""

import json
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import late_resets
from engines import either_engine
from gymsolve.errors import ConfigError, DivergenceError, GymsolveError
from gymsolve.extensions.exploration.needs import training_env
from gymsolve.metrics.catalog import undeclared
from gymsolve.recipes.layers import nest
from gymsolve.recipes.validation import validate
from gymsolve.training.build import build_trainer
from gymsolve.training.health.nonfinite import require_finite_update
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.restore import restore_trainer
from gymsolve.training.stages import advance_stage

SMALL = {"env.num_envs": 3, "algo.num_steps": 16, "algo.num_minibatches": 2, "algo.num_epochs": 1}
NETS = {"explore.hidden": [8], "explore.features": 4, "explore.num_minibatches": 2}
RICH = SMALL | NETS | {"net.cnn": "small", "net.hidden": [8], "env.frame_stack": 2, "steps": 2000}
SEA = SMALL | NETS | {"net.hidden": [8], "steps": 2000}
BONUSES = {
    "counts": ("exploring_envs:DeepSea-v0:ppo", SEA),
    "counts-hash": ("exploring_envs:Rich-v0:ppo", RICH | {"explore.cells": "hash"}),
    "counts-fast": ("MountainCar-v0:ppo", SMALL | NETS),
    "episodic": ("exploring_envs:DeepSea-v0:ppo", SEA | {"engine": "torch"}),
    "episodic-state": ("MiniGrid-DoorKey-5x5-v0", SMALL | NETS | {"explore.cells": "state"}),
    "rnd": ("exploring_envs:Rich-v0:ppo", RICH | {"explore.share": 0.5}),
    "rnd-next_step": (f"{late_resets.ID}:ppo", SMALL | NETS),
    "noveld": ("exploring_envs:Rich-v0:ppo", RICH | {"explore.cells": "exact", "env.kwargs": {"box": True}}),
    "icm": ("exploring_envs:Rich-v0:ppo", RICH),
    "icm-box": ("Pendulum-v1:ppo", SMALL | NETS | {"net.squash": True}),
    "forward": ("exploring_envs:Rich-v0:ppo", RICH | {"explore.entries": ["place", "kind"]}),
    "forward-a2c": ("CartPole-v1:a2c", {"env.num_envs": 3, **NETS}),
    "rarity": ("exploring_envs:Rich-v0:ppo", RICH | {"explore.events": ["score", "-lives"]}),
    "counts-repeat": ("MountainCar-v0:ppo", SMALL | NETS | {"explore.repeat": 0.8}),
}


def configure(name, settings):
    """Settings of a run; for our own environments without a recipe, which would be derived in seconds."""
    if not name.startswith(("exploring_envs:", "late_resets:")):
        return plan_run(name, settings).config
    return validate(nest({"env.id": name.removesuffix(":ppo"), "algo.name": "ppo"} | settings))


def make(name, settings, bonus):
    return build_trainer(configure(name, settings | {"explore.bonus": bonus}))


def advance(trainer, iterations):
    metrics = {}
    for _ in range(iterations):
        rollout = collect(trainer, Silent())
        metrics = learn(trainer, rollout)
        count(trainer, rollout, 0.0)
        advance_stage(trainer, rollout)
    return metrics


class Saved:
    """A checkpoint in memory, through JSON as on disk."""

    path, notes, files_folder, part_files = "here", (), Path(), MappingProxyType({})

    def __init__(self, trainer):
        self.policy = {name: array.copy() for name, array in trainer.policy.arrays().items()}
        self.trainer = {name: array.copy() for name, array in trainer.arrays().items()}
        self.trainer_state = json.loads(json.dumps(trainer.state()))
        self.meta = {"env_steps": trainer.counters.env_steps}


def assert_same(one: Saved, other: Saved, *, environments: bool = True):
    arrays = [dict(saved.trainer) for saved in (one, other)]
    if not environments:  # what is remembered of their episodes goes with them
        arrays = [{n: a for n, a in one.items() if not n.startswith("collector/")} for one in arrays]
    for left, right in ((one.policy, other.policy), arrays):
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    parts = [dict(saved.trainer_state["parts"]) for saved in (one, other)]
    for part in parts:
        for gone in ("averager", "counters", *(() if environments else ("collector", "random", "window"))):
            part.pop(gone)
    assert parts[0] == parts[1]


@pytest.mark.parametrize("case", BONUSES)
def test_a_bonus_is_resumed_and_taken_back_bit_for_bit(case):
    name, settings = BONUSES[case]
    one, other = (make(name, settings, case.partition("-")[0]) for _ in range(2))
    metrics = advance(one, 1)  # the first update takes the costly measures
    advance(one, 2)
    saved = Saved(one)
    assert restore_trainer(other, saved, fresh_optimizer=False) == []
    for trainer in (one, other):
        advance(trainer, 2)
    before = Saved(one)
    assert_same(before, Saved(other))
    assert any(
        not np.array_equal(before.trainer[n], saved.trainer[n]) for n in saved.trainer if "explore" in n
    )
    undo = one.rollback_point()
    advance(one, 1)
    undo()
    assert_same(before, Saved(one), environments=False)
    assert not undeclared(metrics)
    assert metrics["train/first_ratio"] == pytest.approx(1.0, abs=1e-5)
    assert np.isfinite([metrics[key] for key in ("bonus/mean", "bonus/share", "bonus/value_loss")]).all()
    for trainer in (one, other):
        trainer.envs.close()


@either_engine
def test_a_coefficient_of_zero_learns_what_is_learned_without_a_bonus(engine):
    for bonus in ("counts", "rnd", "icm"):
        policies = []
        for given in (bonus, "none"):
            trainer = make("CartPole-v1:ppo", SMALL | NETS | {"engine": engine, "explore.coef": 0}, given)
            assert trainer.engine.name == engine
            advance(trainer, 4)
            policies.append(trainer.policy.arrays())
            trainer.envs.close()
        for key, array in policies[0].items():
            np.testing.assert_array_equal(array, policies[1][key], err_msg=key)


def test_the_tasks_own_rewards_and_returns_do_not_know_of_the_bonus():
    rollouts = []
    for bonus in ("counts", "none"):
        trainer = make("CartPole-v1:ppo", SMALL | NETS | {"explore.coef": 5}, bonus)
        rollout = collect(trainer, Silent())
        rollouts.append((rollout.rewards.copy(), rollout.values.copy(), rollout.episodes))
        trainer.envs.close()
    np.testing.assert_array_equal(rollouts[0][0], rollouts[1][0])
    np.testing.assert_array_equal(rollouts[0][1], rollouts[1][1])
    assert rollouts[0][2] == rollouts[1][2]


def test_a_checkpoint_of_another_bonus_is_said_to_be_of_no_use():
    plain, one, other = (make("CartPole-v1:ppo", SMALL | NETS, bonus) for bonus in ("none", "rnd", "icm"))
    for saved in (Saved(plain), Saved(other)):
        (note,) = restore_trainer(one, saved, fresh_optimizer=False)
        assert "starts afresh" in note
    assert restore_trainer(plain, Saved(one), fresh_optimizer=False) == []
    for trainer in (plain, one, other):
        trainer.envs.close()


@pytest.mark.parametrize("case", ["episodic", "rnd", "rarity"])
def test_another_number_of_copies_keeps_what_is_known(case):
    name, settings = BONUSES[case]
    settings = settings | {"algo.normalize_rewards": True}
    one, *others = (make(name, settings | {"env.num_envs": count}, case) for count in (3, 2, 4))
    advance(one, 2)
    saved = Saved(one)
    for other, notes in zip(others, (0, 1), strict=True):
        assert len(restore_trainer(other, saved, fresh_optimizer=False)) == notes  # the fourth begins anew
        found = other.arrays()
        for key in (key for key in saved.trainer if key.startswith("explore/")):
            if key.endswith(("visited_sizes", "running")):
                np.testing.assert_array_equal(found[key][:2], saved.trainer[key][:2], err_msg=key)
            elif not key.endswith("visited"):
                np.testing.assert_array_equal(found[key], saved.trainer[key], err_msg=key)
        assert other.extensions["scaler"].var == one.extensions["scaler"].var != 1.0
        assert (
            other.extensions["scaler"].running[:2].tolist() == one.extensions["scaler"].running[:2].tolist()
        )
        advance(other, 1)
    for trainer in (one, *others):
        trainer.envs.close()


def test_a_bonus_that_leaves_the_finite_numbers_ends_the_iteration():
    trainer = make("CartPole-v1:ppo", SMALL | NETS | {"explore.learning_rate": 1e38}, "rnd")
    trainer.probe.take(collect(trainer, Silent()), None)
    before, undo = Saved(trainer), trainer.rollback_point()
    metrics = advance(trainer, 2)
    with pytest.raises(DivergenceError, match="bonus for exploring became") as told:
        require_finite_update(trainer, trainer.collector.rollout, metrics)
    assert "explore.learning_rate" in str(told.value)
    undo()
    assert_same(before, Saved(trainer), environments=False)
    trainer.envs.close()


def test_actions_are_repeated_in_training_only():
    config = plan_run("MountainCar-v0:ppo", {"explore.repeat": 0.9}).config
    assert [wrapper.name for wrapper in training_env(config).wrappers] == ["sticky_actions"]
    assert config.env.wrappers == ()  # which is what evaluation and play build


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("CartPole-v1:ppo", {"explore": "rdn"}, "explore.bonus: should be .* not 'rdn'.*'rnd'"),
        (
            "CartPole-v1:ppo",
            {"explore.bonus": "rnd", "explore.coef": -1},
            "explore.coef.*(at least|below|negative|≥|0)",
        ),
        ("CartPole-v1:reinforce", {"explore": "rnd"}, "explore.bonus: reinforce learns from finished"),
        ("CartPole-v1:ppo", {"explore": "rarity"}, "explore: events: name the keys"),
        ("CartPole-v1:ppo", {"explore.events": ["kills"]}, "events: the bonus 'none' takes none"),
        (
            "exploring_envs:DeepSea-v0:ppo",
            {"explore": "rarity", "explore.events": "dept"},
            "Did you mean 'depth'",
        ),
        (
            "exploring_envs:DeepSea-v0:ppo",
            {"explore": "rarity", "explore.events": "name"},
            "not a finite number",
        ),
        (
            "CartPole-v1:ppo",
            {"explore": "rarity", "explore.events": "kills"},
            "It has no numbers at all; use another bonus",
        ),
        ("CartPole-v1:ppo", {"explore": "counts", "explore.cells": "bins"}, "numbers without bounds.*=hash"),
        (
            "CartPole-v1:ppo",
            {"explore": "counts", "explore.cells": "state"},
            "full state of CartPole-v1.*hash",
        ),
        ("exploring_envs:Rich-v0:ppo", RICH | {"explore": "counts"}, "no two pictures.*cells=hash"),
        (
            "exploring_envs:Rich-v0:ppo",
            RICH | {"explore.entries": ["plaze"], "explore.bonus": "rnd"},
            "Did you mean 'place'",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_the_fix(name, settings, sentence):
    with pytest.raises(GymsolveError, match=sentence) as told:
        build_trainer(configure(name, settings))
    assert isinstance(told.value, ConfigError)


def test_one_word_and_single_settings_go_together():
    config = plan_run("CartPole-v1:ppo", {"explore": "rnd", "explore.coef": 2}).config
    assert config.explore.bonus == "rnd"
    assert config.explore.coef.start == 2.0
    config = plan_run("CartPole-v1:ppo", {"explore.coef": 2, "explore": "icm"}).config
    assert (config.explore.bonus, config.explore.coef.start) == ("icm", 2.0)
