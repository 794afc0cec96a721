"""Evaluation under domain randomisation: every episode has numbers of its own, the same ones every time."""

import pytest

import gymsolve
from gymsolve.settings.config import TrainConfig
from gymsolve.training.build import build_trainer
from gymsolve.training.evaluation.player import FURTHER, HELD_OUT, Draw, Player

LOW, HIGH, USUAL = 1.0, 9.0, 3.0
BRIEF = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "steps": 64,
    "eval.every": 32,
    "eval.episodes": 12,
    "solved_at": 1e9,
    "video.enabled": False,
}


def randomize(**options):
    return {"randomize": {"ranges": {"pay": [LOW, HIGH]}, **options}}


def returns(result):
    return [episode.raw_return for episode in result.episodes]


@pytest.fixture
def player():
    """Plays episodes of the evaluation of `Pays`, whose return is the number that was drawn."""
    evaluators = []

    def play(wrapper, count, draw=None):
        settings = TrainConfig.model_validate(
            {
                "env": {"id": "training_envs:Pays-v0", "num_envs": 2, "wrappers": [wrapper]},
                "algo": {"name": "ppo", "num_steps": 16},
                "eval": {"num_envs": 3},
            }
        )
        trainer = build_trainer(settings)
        trainer.envs.close()
        evaluators.append(Player(settings))
        if draw is None:
            return evaluators[-1].play(trainer.policy, count)
        return evaluators[-1].play_draw(trainer.policy, count, draw)

    yield play
    for evaluator in evaluators:
        evaluator.close()


def test_every_episode_is_played_with_numbers_of_its_own(player):
    drawn = returns(player(randomize(), 60))
    assert len(set(drawn)) == 60
    assert LOW <= min(drawn) < LOW + 1.0
    assert HIGH - 1.0 < max(drawn) <= HIGH


def test_routine_evaluations_play_the_same_worlds_and_others_do_not(player):
    routine = returns(player(randomize(), 20))
    assert returns(player(randomize(), 20)) == routine
    for draw in (FURTHER, HELD_OUT, Draw("confirm", 1)):
        assert not set(returns(player(randomize(), 20, draw))) & set(routine)


def test_randomisation_of_training_alone_leaves_evaluation_as_it_is(player):
    assert set(returns(player(randomize(roles=["train"]), 30))) == {USUAL}


def test_a_run_is_judged_in_drawn_worlds():
    run = gymsolve.train("training_envs:Pays-v0:ppo", BRIEF | {"env.wrappers": [randomize()]}).run
    records = [record for record in run.read_metrics().rows if "eval/mean_reward" in record]
    assert len(records) == 2
    first, second = (
        {key: record[f"eval/{key}_reward"] for key in ("min", "max", "std")} for record in records
    )
    assert first == second
    assert LOW <= first["min"] < USUAL < first["max"] <= HIGH
    assert first["std"] > 1.0  # 12 even draws from a range of 8; alike ones would have 0
    other = gymsolve.evaluate(run, episodes=12)
    assert len(set(returns(other))) == 12


@pytest.mark.parametrize("backend", ["auto", "sync"])
def test_drawn_numbers_reach_the_rules_of_classic_control(backend):
    """Without forces and gravity a pole drifts and does not fall; compiled rules must not stand in."""
    still = {"randomize": {"ranges": {"force_mag": [0.0, 0.0], "gravity": [0.0, 0.0]}}}
    changes = {"env.max_episode_steps": 80, "env.backend": backend, "steps": 32}
    for wrappers, lengths in (([still], {80}), ([], None)):
        run = gymsolve.train("CartPole-v1:ppo", BRIEF | changes | {"env.wrappers": wrappers}).run
        played = {episode.length for episode in gymsolve.evaluate(run, episodes=8).episodes}
        assert played == lengths if lengths else min(played) < 80
