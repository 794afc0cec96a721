"""What trials of a remedy say: known numbers in, a verdict no surer than they are out."""

from pathlib import Path

import pytest

from gymsolve.runs.run import Run
from gymsolve.service.fix import FixPlan
from gymsolve.service.trials import Promise, Trial, compare_trials, read_promise


def compare(original, changed, *, error=0.0, effect="", comparable=True):
    """Rewards of both sides by seed; None is a crash."""
    alert = {"id": "kl_high", "title": "t", "onset": 7, "changes": [], "effect": effect}
    plan = FixPlan(Run(Path("nowhere")), alert, seeds=tuple(range(len(original))), comparable=comparable)
    trials = [
        Trial(side, seed, "r", "finished" if value is not None else "crashed", value, error, value, False)
        for side, values in (("original", original), ("changed", changed))
        for seed, value in enumerate(values)
    ]
    return compare_trials(plan, trials)


@pytest.mark.parametrize(
    ("original", "changed", "verdict"),
    [
        ([10, 11], [100, 101], "helped"),
        ([100, 101], [10, 11], "hurt"),
        ([10, 100], [90, 101], "unclear"),  # the sides overlap
        ([10, 11], [11, 12], "unclear"),
        ([10, 10], [10, 10], "unclear"),
        ([10, 20], [21, 31], "unclear"),  # apart, but by less than the seeds scatter
        ([10], [1000], "unclear"),  # one seed cannot tell
        ([None, None], [-5, 0], "helped"),  # a crash is worse than anything
        ([10, 11], [None, None], "hurt"),
        ([10, None], [None, 10], "unclear"),
    ],
)
def test_verdicts(original, changed, verdict):
    assert compare(original, changed)["verdict"] == verdict


def test_the_noise_of_evaluations_counts():
    assert compare([10, 11], [20, 21], error=1.0)["verdict"] == "helped"
    assert compare([10, 11], [20, 21], error=5.0)["verdict"] == "unclear"


def test_chance_is_that_of_drawing_the_sides_from_one_urn():
    assert compare([1, 2], [100, 101])["chance"] == pytest.approx(1 / 3)
    assert compare([1, 2, 3], [100, 101, 102])["chance"] == pytest.approx(1 / 10)
    assert compare([1, 2], [1, 2])["chance"] is None


def test_returns_under_another_bar_do_not_compare():
    assert compare([1, 2], [100, 101], comparable=False)["verdict"] == "unclear"


def test_means_and_spread():
    told = compare([10, 14], [None, None])
    assert told["original"] == {"mean_reward": 12, "spread": pytest.approx(8**0.5), "crashed": 0, "fired": 0}
    assert told["changed"] == {"mean_reward": None, "spread": None, "crashed": 2, "fired": 0}


@pytest.mark.parametrize(
    ("effect", "promise"),
    [
        ("train/approx_kl falls below 0.02", Promise("train/approx_kl", -1, 0.02)),
        ("train/step_rms rises above 1e-6", Promise("train/step_rms", 1, 1e-6)),
        ("policy/log_std_mean stays above -2", Promise("policy/log_std_mean", 1, -2.0)),
        ("time/env_share falls below 0.6 and time/fps rises", Promise("time/env_share", -1, 0.6)),
        ("train/grad_norm falls", Promise("train/grad_norm", -1, None)),
        ("train/entropy falls more slowly", Promise("train/entropy", 0, None)),
        (
            "train/grad_norm_value falls below 100 times train/grad_norm_policy",
            Promise("train/grad_norm_value", 0, None),
        ),
        ("the spread of train/explained_variance falls", Promise("train/explained_variance", 0, None)),
        ("train/loss stays finite", Promise("train/loss", 0, None)),
        ("the metric returns to its bounds", None),
        ("", None),
    ],
)
def test_promises_are_read_as_far_as_a_number_can_tell(effect, promise):
    assert read_promise(effect) == promise


def test_a_promise_is_kept_seed_by_seed():
    told = compare([1, 2], [4, 9], effect="train/loss falls below 5")["promise"]
    assert told == {"metric": "train/loss", "original": 1.5, "changed": 6.5, "kept": 1, "of": 2}
    assert compare([1, 9], [4, 4], effect="train/loss falls")["promise"]["kept"] == 1
    assert compare([None, None], [4, 4], effect="train/loss falls below 5")["promise"]["kept"] == 2
    assert compare([1, 9], [4, 4], effect="train/loss stays finite")["promise"]["kept"] is None
