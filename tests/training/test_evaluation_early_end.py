"""An evaluation ends early where the threshold is out of reach, and never calls that solved."""

import itertools

import numpy as np
import pytest

from gymsolve.confidence import is_out_of_reach
from gymsolve.settings.config import TrainConfig
from gymsolve.training.build import build_trainer
from gymsolve.training.evaluation.evaluate import Evaluator
from gymsolve.training.evaluation.player import FURTHER, Draw, Player


@pytest.fixture(scope="module")
def lengths():
    """Settings of an environment whose mean return is 25.5, and a policy for it."""

    def settings(seed):
        return TrainConfig.model_validate(
            {"env": {"id": "training_envs:Lengths-v0"}, "algo": {"name": "ppo"}, "seed": seed, "steps": 1000}
        )

    trainer = build_trainer(settings(0))
    trainer.envs.close()
    return settings, trainer.policy


def judge(settings, policy, threshold):
    evaluator = Evaluator(settings, threshold)
    verdict = evaluator.evaluate(policy, 1)
    evaluator.close()
    return verdict


def test_a_hopeless_proof_ends_after_a_whole_round(lengths):
    settings, policy = lengths
    ended_early = set()
    for seed in range(12):
        player = Player(settings(seed))
        routine, further = player.play(policy, 20), player.play_draw(policy, 80, FURTHER)
        player.close()
        # Just within two standard errors of the routine evaluation: a long one is worth its while.
        threshold = routine.mean + 1.9 * routine.standard_error
        verdict = judge(settings(seed), policy, threshold)
        count = int(verdict.metrics["eval/episodes"])
        if count < 100:
            # The rounds are of 27, 27 and 26 copies; whole ones count, and nothing of the next.
            rounds = (count - 20) // 27
            ended_early.add(rounds)
            copies = [[episode for episode in further.episodes if episode.env == copy] for copy in range(27)]
            counted = [*routine.episodes, *itertools.chain(*(copy[:rounds] for copy in copies))]
            assert len(counted) == count
            assert verdict.mean == np.mean([episode.raw_return for episode in counted])
            assert (verdict.solved, verdict.complete) == (False, True)
    assert ended_early == {1, 2}


def test_a_hopeless_confirmation_ends_early_and_proves_nothing(lengths):
    settings, policy = lengths
    for seed in range(40):
        player = Player(settings(seed))
        long, again = player.play(policy, 100), player.play_draw(policy, 100, Draw("confirm", 1))
        player.close()
        if long.mean - again.mean > 3.0:  # the fresh seeds are not as kind by far
            break
    verdict = judge(settings(seed), policy, long.mean)
    assert verdict.metrics["eval/episodes"] == 100
    assert verdict.metrics["eval/confirm_mean_reward"] < long.mean
    assert not verdict.solved


def test_what_will_be_reached_is_hardly_ever_given_up():
    draw = np.random.default_rng(0)
    given_up = {"reached": 0, "missed": 0}
    asked = dict.fromkeys(given_up, 0)
    for _ in range(4000):
        values = draw.normal(0.0, 1.0, 100)
        outcome = "reached" if values.mean() >= 0.0 else "missed"
        asked[outcome] += 1
        given_up[outcome] += is_out_of_reach(values[:47].tolist(), 100, 0.0, 3.0)
    assert given_up["reached"] <= asked["reached"] * 0.002
    hopeless = sum(is_out_of_reach(draw.normal(-1.0, 1.0, 47).tolist(), 100, 0.0, 3.0) for _ in range(1000))
    assert hopeless == 1000


def test_equal_returns_below_the_threshold_leave_no_doubt():
    assert is_out_of_reach([0.0] * 40, 100, 0.5, 3.0)
    assert not is_out_of_reach([0.5] * 40, 100, 0.5, 3.0)
    assert not is_out_of_reach([0.0], 100, 0.5, 3.0)
    assert not is_out_of_reach([0.0] * 100, 100, 0.5, 3.0)


def scarce(draw, count):
    """Few returns are far above the others: 10 in one of twenty episodes, else 0."""
    return 10.0 * (draw.random(count) < 0.05)


RETURNS = {
    "even": (lambda draw, count: draw.normal(0.0, 1.0, count), 0.0, 0.005),
    "all or nothing": (lambda draw, count: (draw.random(count) < 0.74).astype(float), 0.7, 0.005),
    "mostly nothing": (lambda draw, count: (draw.random(count) < 0.2).astype(float), 0.18, 0.005),
    "scarce": (scarce, 0.4, 0.03),
}


@pytest.mark.parametrize("copies", [5, 25])
@pytest.mark.parametrize("kind", RETURNS)
def test_a_confirmation_that_would_succeed_is_hardly_ever_given_up(kind, copies):
    sample, bar, most = RETURNS[kind]
    draw, would_succeed, given_up = np.random.default_rng(0), 0, 0
    while would_succeed < 300:
        long, again = sample(draw, 100), sample(draw, 100)
        if min(long.mean(), again.mean()) < bar:
            continue
        would_succeed += 1
        looks = [count for count in range(copies, 100, copies) if count >= 20]
        given_up += any(is_out_of_reach(again[:count], 100, bar, 3.0, long) for count in looks)
    assert given_up <= most * would_succeed


@pytest.mark.parametrize("kind", RETURNS)
def test_further_episodes_that_would_succeed_are_hardly_ever_given_up(kind):
    sample, bar, most = RETURNS[kind]
    draw, would_succeed, given_up = np.random.default_rng(0), 0, 0
    while would_succeed < 1000:
        values = sample(draw, 100)
        if values.mean() < bar or values[:20].mean() + 2.0 * values[:20].std() / 20**0.5 < bar:
            continue
        would_succeed += 1
        given_up += any(is_out_of_reach(values[:count], 100, bar, 3.0) for count in (47, 74))
    assert given_up <= most * would_succeed


def test_a_confirmation_of_a_single_copy_is_not_ended_by_its_first_episodes(lengths):
    settings, policy = lengths
    one = {"eval": {"num_envs": 1}}
    for seed in range(40):
        config = TrainConfig.model_validate(settings(seed).model_dump() | one)
        player = Player(config)
        long, again = player.play(policy, 100), player.play_draw(policy, 100, Draw("confirm", 1))
        player.close()
        first = [episode.raw_return for episode in again.episodes[:20]]
        bar = min(long.mean, again.mean)
        if any(is_out_of_reach(first[:count], 100, bar, 3.0) for count in range(2, 10)):
            break  # judged by themselves, the first few of a confirmation that succeeds leave no hope
    else:
        pytest.fail("no seed begins badly")
    assert judge(config, policy, bar).solved


def test_further_episodes_that_a_cap_cuts_leave_the_routine_ones_as_they_were(lengths):
    """Of episodes that were cut the short ones have ended, and would pull the mean down."""
    settings, policy = lengths
    player = Player(settings(0))
    routine = player.play(policy, 20)
    player.close()
    cap = {"eval": {"max_steps": routine.env_steps + 1}}
    capped = TrainConfig.model_validate(settings(0).model_dump() | cap)
    verdict = judge(capped, policy, routine.mean)
    assert (verdict.complete, verdict.solved) == (True, False)
    assert (verdict.mean, verdict.metrics["eval/episodes"]) == (routine.mean, 20)
    assert verdict.metrics["eval/mean_ep_length"] == routine.mean
    assert verdict.played_steps > 2 * routine.env_steps
    assert "cut off by eval.max_steps" in verdict.cut
    assert verdict.cut.endswith("it cannot prove solved, and the 20 episodes before it count")
