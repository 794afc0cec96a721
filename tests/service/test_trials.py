"""What trials of a remedy say: known numbers in, a verdict no surer than they are out."""

from pathlib import Path

import pytest

from gymsolve.doctor.alerts import Alert
from gymsolve.doctor.fix import FixPlan
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.rule import Effect, Evidence
from gymsolve.jobs.trials import KeptPromise, SideResult, Trial, compare_trials
from gymsolve.runs.run import Run

EFFECTS = {str(rule.effect): rule.id for rule in RULES if rule.effect is not None}
"""A rule for every text of an effect."""


def alert(effect):
    """One whose remedy has this effect; without one, of a rule that cannot promise anything."""
    return Alert(
        id=EFFECTS[effect] if effect else "kl_high",
        signal=7,
        severity="warn",
        title="t",
        evidence=Evidence("train/approx_kl", 1.0, 0.1, ">"),
        step=7,
        onset=7,
        active=True,
        count=1,
        share=1.0,
        steps=1,
        seconds=None,
        cause="c",
        changes=(),
        effect=effect,
    )


def compare(original, changed, *, error=0.0, effect="", comparable=True):
    """Rewards of both sides by seed; None is a crash."""
    seeds = tuple(range(len(original)))
    plan = FixPlan(Run(Path("nowhere")), alert(effect), seeds=seeds, comparable=comparable)
    trials = [
        Trial(side, seed, "r", "finished" if value is not None else "crashed", value, error, value, False)
        for side, values in (("original", original), ("changed", changed))
        for seed, value in enumerate(values)
    ]
    return compare_trials(plan, trials)


@pytest.mark.parametrize(
    ("original", "changed", "verdict"),
    [
        ([10, 11, 12, 13], [100, 101, 102, 103], "helped"),
        ([100, 101, 102, 103], [10, 11, 12, 13], "hurt"),
        ([10, 11, 12], [100, 101, 102], "unclear"),  # chance parts three and three 1 time in 10
        ([10, 11], [100, 101], "unclear"),
        ([10], [1000], "unclear"),
        ([10, 11, 12, 100], [90, 101, 102, 103], "unclear"),  # the sides overlap
        ([10] * 4, [10] * 4, "unclear"),
        ([None] * 4, [-5, 0, 1, 2], "helped"),  # a crash is worse than anything
        ([10, 11, 12, 13], [None] * 4, "hurt"),
        ([10, None, 11, 12], [None, 10, 13, 14], "unclear"),
    ],
)
def test_verdicts(original, changed, verdict):
    assert compare(original, changed).verdict == verdict


def test_chance_is_that_of_drawing_the_sides_from_one_urn():
    assert compare([1, 2], [100, 101]).chance == pytest.approx(1 / 3)
    assert compare([1, 2, 3], [100, 101, 102]).chance == pytest.approx(1 / 10)
    assert compare([1, 2], [1, 2]).chance == 1.0


def test_it_says_how_sure_it_is_and_how_many_seeds_would_tell():
    few = compare([1, 2], [100, 101])
    assert (few.seeds_needed, few.low) == (4, None)
    assert few.certainty == "2 seeds cannot tell, however far apart: at least 4 are needed"
    clear = compare([10, 11, 12, 13], [100, 101, 102, 103])
    assert (clear.difference, clear.low, clear.high) == (90, 87, 93)
    assert clear.certainty == "with 4 seeds, chance alone gives a gap this clear 1 time in 35"
    open_ = compare([10, 20, 30, 40], [15, 25, 35, 45])
    assert "trials with the remedy are better in 62% of the pairs" in open_.certainty
    assert "chance does that 69% of the time" in open_.certainty
    assert f"some {open_.seeds_needed} seeds would show it" in open_.certainty


def test_returns_under_another_bar_do_not_compare():
    other = compare([1, 2, 3, 4], [100, 101, 102, 103], comparable=False)
    assert (other.verdict, other.chance, other.seeds_needed) == ("unclear", None, None)
    assert other.certainty == "the returns of both sides do not compare"


def test_means_and_spread():
    told = compare([10, 14], [None, None])
    assert told.original == SideResult(12, pytest.approx(8**0.5), 0, 0)
    assert told.changed == SideResult(None, None, 2, 0)


@pytest.mark.parametrize(
    ("effect", "text", "sign", "bar"),
    [
        (Effect("train/approx_kl", "falls", below=0.02), "train/approx_kl falls below 0.02", -1, 0.02),
        (Effect("train/step_rms", "rises", above=1e-6), "train/step_rms rises above 1e-6", 1, 1e-6),
        (Effect("policy/log_std_mean", "stays", above=-2), "policy/log_std_mean stays above -2", 1, -2),
        (Effect("train/grad_norm", "falls"), "train/grad_norm falls", -1, None),
        (Effect("rollout/episodes", "grows", more="a lot"), "rollout/episodes grows a lot", 1, None),
        (Effect("train/entropy", "falls more slowly"), "train/entropy falls more slowly", 0, None),
        (Effect("train/loss", "falls", of="the spread of"), "the spread of train/loss falls", 0, None),
        (Effect("train/loss", "stays finite"), "train/loss stays finite", 0, None),
        (Effect(None, "the metric returns to its bounds"), "the metric returns to its bounds", 0, None),
    ],
)
def test_an_effect_is_told_in_words_and_checked_as_far_as_a_number_can_tell(effect, text, sign, bar):
    assert (str(effect), effect.sign, effect.bar) == (text, sign, bar)


def test_a_promise_is_kept_seed_by_seed():
    below = "train/approx_kl falls below 0.02"
    told = compare([0.001, 0.01], [0.01, 0.05], effect=below).promise
    assert told == KeptPromise("train/approx_kl", pytest.approx(0.0055), pytest.approx(0.03), kept=1, of=2)
    assert compare([1, 9], [4, 10], effect="rollout/ep_rew_mean rises").promise.kept == 2
    assert compare([1, 9], [4, 4], effect="rollout/ep_rew_mean rises").promise.kept == 1
    assert compare([None, None], [0.01, 0.01], effect=below).promise.kept == 2
    assert compare([1, 9], [4, 4], effect="train/loss stays finite").promise.kept is None
    assert compare([1, 9], [4, 4], effect="the metric returns to its bounds").promise is None
    assert compare([1, 9], [4, 4]).promise is None


def test_every_rule_with_a_remedy_says_what_to_expect_of_it():
    from gymsolve.doctor.rules.rule import nothing
    from gymsolve.metrics.catalog import find_metric

    for rule in RULES:
        assert rule.effect is not None or rule.remedy is nothing, rule.id
        if rule.effect is not None and rule.effect.metric is not None:
            assert find_metric(rule.effect.metric) is not None, rule.id
