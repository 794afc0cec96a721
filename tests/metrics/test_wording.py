"""How evidence is put into words: a number never stands behind the name of another one."""

import math

import pytest
from stories import FLAT, make_context, story
from test_rules import CASES

from gymsolve.doctor.alerts import Alert, AlertTracker
from gymsolve.doctor.failure import failure_alert
from gymsolve.errors import BadNumber
from gymsolve.metrics.trackers.tracker import alert_text
from gymsolve.metrics.wording import evidence_text, lasting

KL = {"metric": "train/approx_kl", "value": 3.0, "sign": ">", "threshold": 2.0, "note": "", "meaning": ""}


def alert_of(name: str, columns, **context) -> Alert:
    tracker = AlertTracker(make_context(**context), story(columns))
    (found,) = [alert for alert in tracker.alerts() if alert.id == name]
    return found


def told(alert: Alert) -> str:
    return evidence_text(alert.to_json()["evidence"])


@pytest.mark.parametrize("name", CASES)
def test_a_value_without_a_meaning_of_its_own_is_the_metric_s(name):
    case = CASES[name]
    records = list(story(case.fires))
    for alert in AlertTracker(make_context(**case.context), records).alerts():
        evidence = alert.evidence
        if not evidence.meaning and math.isfinite(evidence.value):
            values = [one.get(evidence.metric) for one in records if one["env_steps"] == alert.step]
            assert evidence.value in values, alert.id


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ev_negative", "median of the last 20 train/explained_variance -0.06 < 0"),
        ("advantage_biased", "size of rollout/advantage_mean over rollout/advantage_std 2 > 1.5, always"),
        ("value_dominates", "train/grad_norm_value over train/grad_norm_policy 102 > 100, in a shared trunk"),
        ("entropy_collapse", "train/entropy as a share of a uniform policy's 0.04 < 0.05, return is flat"),
        ("mask_closed", "largest train/entropy since the start 0 < 0.001"),
        (
            "reward_misleads",
            "correlation of the paid return with the task's own return -1 < -0.5, -99 ",
        ),
        (
            "overhead",
            "share of all time so far for evaluating, saving, writing records and measuring 0.41 > 0.4",
        ),
    ],
)
def test_ratios_and_correlations_are_called_what_they_are(name, text):
    assert told(alert_of(name, CASES[name].fires, **CASES[name].context)).startswith(text)


def test_an_entropy_that_is_measured_as_a_share_keeps_its_name():
    found = told(alert_of("entropy_collapse", {"policy/entropy_relative": 0.04, **FLAT}))
    assert found == "policy/entropy_relative 0.04 < 0.05, where 1 is uniform, return is flat"


def test_returns_that_never_move_have_no_correlation():
    still = {"rollout/ep_rew_mean": -5.0, "rollout/ep_shaped_rew_mean": 5.0}
    found = told(alert_of("reward_misleads", still, **CASES["reward_misleads"].context))
    assert (
        found == "sign of the paid return against that of the task's own return -1 < -0.5, 5 is paid for -5"
    )


def test_observations_that_are_all_0_are_said_to_be():
    zero = {"obs/constant_share": 1.0, "obs/abs_max": 0.0}
    plain, scaled = ({"net": {"normalize_obs": how}} for how in ("none", "running"))
    assert told(alert_of("obs_constant", zero, **plain)).endswith(", every observation is 0")
    assert told(alert_of("obs_constant", zero, **scaled)).endswith(", every observation is 0 once normalised")
    some = {"obs/constant_share": 1.0, "obs/abs_max": 0.5}
    assert told(alert_of("obs_constant", some)) == "obs/constant_share 1 > 0.9"


def test_wrappers_are_ruled_out_where_both_have_the_same():
    found = told(alert_of("eval_sight", CASES["eval_sight"].fires))
    assert "3 times the 0.8 that training sees" in found
    assert found.endswith(", no wrapper is in one of them only")


def test_a_number_on_its_way_back_is_not_said_to_be_over_the_line():
    assert evidence_text(KL) == "train/approx_kl 3 > 2"
    assert evidence_text(KL | {"value": 1.5}) == "train/approx_kl 1.5, was > 2"


def test_what_ended_a_run_is_not_called_by_a_measure_of_it():
    bad = BadNumber("reward", float("nan"), env=3)
    found = failure_alert(AlertTracker(make_context()), "", bad)
    assert found.evidence.metric == "rollout/reward_mean"
    assert told(found).startswith("reward not finite, ")


def test_when_an_alert_was():
    once = {"onset": 512, "step": 512, "active": False}
    assert lasting(once, [{"active": True}]) == "at step 512; its consequences remain"
    assert lasting(once, [{"active": False}]) == "at step 512, over by now"
    assert lasting(once | {"step": 2048}, []) == "steps 512 to 2,048, over by now"
    assert lasting(once | {"active": True}, []) == "since step 512"


def test_trackers_get_the_same_words():
    event = KL | {"remark": "", "meaning": "the largest of them", "cause": "A rate too high.", "changes": []}
    assert alert_text(event) == "the largest of them 3 > 2. A rate too high."
