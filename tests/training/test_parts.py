"""State has owners: a run saves, restores, takes back and reseeds its parts without knowing them."""

import json
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import gymsolve
from engines import either_engine
from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.ppo import PPO
from gymsolve.errors import CheckpointError
from gymsolve.experience.rollout import Stream
from gymsolve.extensions.extension import Extension
from gymsolve.parts import Part
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.tensors import pack, unpack
from gymsolve.training.build import build_trainer
from gymsolve.training.checkpoint import save
from gymsolve.training.loop import collect, count, learn
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.restore import restore_trainer

SMALL = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "net.hidden": [8],
    "eval.episodes": 2,
    "video.enabled": False,
}


class Visits(Extension):
    """Pays for states that are rare in the sign of one number; keeps counts, and a draw of its own."""

    def __init__(self, *, apart: bool = False) -> None:
        self.counts, self.apart, self.seeds, self.drawn = np.zeros(2), apart, [], 0.0

    def shape(self, rollout, progress):
        side = (rollout.obs["obs"][:, :, 0] > 0).astype(int)
        paid = 1.0 / np.sqrt(1.0 + self.counts[side])
        if self.apart:
            zeros = np.zeros_like(rollout.values)
            rollout.streams = {"visits": Stream(paid, zeros, zeros, gamma=0.9)}
        else:
            rollout.rewards += paid.astype(np.float32)

    def learn(self, rollout, progress, rng):
        side = (rollout.obs["obs"][:, :, 0] > 0).astype(int)
        self.counts = self.counts + np.bincount(side.ravel(), minlength=2)
        self.drawn = float(rng.random())
        return {}

    def arrays(self):
        return {"counts": self.counts}

    def state(self):
        return {"drawn": self.drawn}

    def load(self, arrays, state):
        self.counts, self.drawn = arrays["counts"], state["drawn"]
        return ["the visits are back"]

    def rollback_point(self):
        counts = self.counts

        def put_back():
            self.counts = counts

        return put_back

    def reseed(self, seed, env_steps):
        self.seeds.append((seed, env_steps))


def make(bonus: Extension | None = None, name: str = "CartPole-v1:ppo", **settings):
    trainer = build_trainer(plan_run(name, SMALL | settings).config)
    if bonus is not None:
        trainer.extensions["visits"] = bonus
    return trainer


def advance(trainer, iterations: int) -> None:
    for _ in range(iterations):
        rollout = collect(trainer, Silent())
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)


class Saved:
    """A checkpoint in memory, through JSON as on disk."""

    path, notes, files_folder, part_files = "here", (), Path(), MappingProxyType({})

    def __init__(self, trainer):
        self.policy = {name: array.copy() for name, array in trainer.policy.arrays().items()}
        self.trainer = {name: array.copy() for name, array in trainer.arrays().items()}
        self.trainer_state = json.loads(json.dumps(trainer.state()))
        self.meta = {"env_steps": trainer.counters.env_steps}


@pytest.mark.parametrize("apart", [False, True])
def test_a_new_part_is_saved_and_restored_and_the_run_goes_on_alike(apart):
    one, other = make(Visits(apart=apart)), make(Visits(apart=apart))
    advance(one, 3)
    saved = Saved(one)
    assert restore_trainer(other, saved, fresh_optimizer=False) == ["the visits are back"]
    for trainer in (one, other):
        advance(trainer, 2)
        trainer.envs.close()
    assert one.extensions["visits"].drawn == other.extensions["visits"].drawn
    for name, array in (one.policy.arrays() | one.arrays()).items():
        np.testing.assert_array_equal(array, (other.policy.arrays() | other.arrays())[name], err_msg=name)


def test_a_bonus_is_paid_and_raw_returns_never_see_it():
    plain, curious, apart = make(), make(Visits()), make(Visits(apart=True))
    rollouts = [collect(trainer, Silent()) for trainer in (plain, curious, apart)]
    assert (rollouts[1].rewards > rollouts[0].rewards).all()
    np.testing.assert_array_equal(rollouts[2].rewards, rollouts[0].rewards)
    assert set(rollouts[2].streams) == {"visits"}
    assert rollouts[0].episodes == rollouts[1].episodes
    for trainer in (plain, curious, apart):
        trainer.envs.close()


def test_an_iteration_that_comes_to_nothing_is_taken_back_everywhere():
    trainer = make(Visits(), **{"algo.normalize_rewards": True, "net.normalize_obs": "running"})
    advance(trainer, 2)
    before = Saved(trainer)
    undo = trainer.rollback_point()
    advance(trainer, 1)
    undo()
    after = Saved(trainer)
    for name in before.policy:
        np.testing.assert_array_equal(before.policy[name], after.policy[name], err_msg=name)
    for name in before.trainer:
        np.testing.assert_array_equal(before.trainer[name], after.trainer[name], err_msg=name)
    parts = after.trainer_state["parts"]
    assert parts["scaler"] == before.trainer_state["parts"]["scaler"]
    # The environments cannot go back, so what is saved says that their episodes begin anew.
    assert parts["collector"]["envs"] is None
    assert parts["collector"]["env_steps"] == before.trainer_state["parts"]["collector"]["env_steps"]
    trainer.envs.close()


def test_every_part_is_told_of_another_seed():
    bonus = Visits()
    trainer = make(bonus)
    advance(trainer, 1)
    seen, drawn = trainer.collector.obs["obs"].copy(), trainer.streams["policy"].bit_generator.state
    trainer.reseed()
    assert bonus.seeds == [(trainer.config.seed, trainer.counters.env_steps)]
    assert not np.array_equal(trainer.collector.obs["obs"], seen)
    assert trainer.streams["policy"].bit_generator.state != drawn
    trainer.envs.close()


def test_a_part_without_any_state_needs_nothing():
    class Idle(Part):
        pass

    idle = Idle()
    assert (idle.arrays(), idle.state(), idle.load({}, {})) == ({}, {}, [])
    idle.rollback_point()()
    idle.reseed(0, 0)


def test_moments_go_by_the_name_of_their_parameter():
    saved = load_checkpoint(gymsolve.train("Bandit-v0", steps=512).run)
    named = {name.removeprefix("optimizer/").split("/")[0] for name in saved.trainer if "/exp_avg" in name}
    assert named
    assert named <= {*saved.policy}


def test_equal_contents_are_equal_bytes():
    arrays = {"b": np.arange(3.0), "a": np.ones(2, np.float32)}
    words = {"spec": "x", "net": "y", "more": "z", "éà": "ü"}
    packed = {pack(arrays, words) for _ in range(20)}
    packed |= {pack(dict(reversed(arrays.items())), dict(reversed(words.items())))}
    assert len(packed) == 1
    found, told = unpack(packed.pop())
    assert told == words
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_a_checkpoint_of_a_newer_version_is_refused_in_one_sentence():
    trainer = make()
    saved = Saved(trainer)
    saved.trainer_state["format"] = 99
    with pytest.raises(CheckpointError, match=r"newer gymsolve \(format 99"):
        restore_trainer(make(), saved, fresh_optimizer=False)
    trainer.envs.close()


def test_dropout_draws_anew_for_another_seed():
    drawn = []
    for seed in (5, 5, 6):
        trainer = make(engine="torch", seed=seed, **{"net.dropout": 0.5})
        saved = Saved(trainer)
        trainer.reseed()
        drawn.append(trainer.arrays()["engine/torch_rng"])
        assert not np.array_equal(drawn[-1], saved.trainer["engine/torch_rng"])
        trainer.envs.close()
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


@either_engine
def test_the_table_of_a_checkpoint_shows_the_credit_that_was_learned_from(engine, tmp_path):
    run = gymsolve.train("Bandit-v0", steps=512, runs_dir=tmp_path).run
    trainer = make(
        name="CartPole-v1:reinforce", engine=engine, **{"algo.baseline": "mean", "algo.num_steps": 64}
    )
    for _ in range(3):
        rollout = collect(trainer, Silent())
        given = trainer.learner.credit(rollout, trainer.progress)
        learn(trainer, rollout)
        count(trainer, rollout, 0.0)
    lines = (save(trainer, run, "test") / "rollout.csv").read_text().splitlines()
    place = lines[0].split(",").index("advantage")
    shown = np.array([float(line.split(",")[place]) for line in lines[1:]], np.float32)
    np.testing.assert_array_equal(shown, given.advantages.T.ravel())
    trainer.envs.close()


def test_further_losses_are_saved_with_the_rest():
    class Quiet(Auxiliary):
        name = "quiet"

        def state(self):
            return {"kept": 3}

    trainer = make(engine="torch")
    trainer.learner = PPO(trainer.config.algo, trainer.policy, (Quiet(),))
    assert trainer.state()["parts"]["quiet"] == {"kept": 3}
    trainer.envs.close()
