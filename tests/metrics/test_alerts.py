"""Alerts: when they fire and clear, what they count, and that live and replayed ones are the same."""

import json
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from stories import BUDGET, make_context, story

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.rules.rule import Rule, above
from gymsolve.runs.files import to_json

RULE = Rule(
    id="high",
    signal=0,
    severity="warn",
    title="x is high",
    needs=("train/loss",),
    check=above("train/loss", 1.0, 0.5),
    cause="",
    persistence=3,
    patience=3,
)


def follow(values: list[float], rule: Rule = RULE) -> tuple[AlertTracker, list[str]]:
    """A value per record, from 10 % of the budget on; what changed at which record."""
    tracker = AlertTracker(make_context(), rules=(rule,))
    changes = []
    for i, value in enumerate(values):
        row = {"env_steps": 10_000 + 1000 * i, "time/elapsed": 5.0 * i, "train/loss": value}
        changes += [f"{i} {change.kind}" for change in tracker.update(row)]
    return tracker, changes


def test_it_takes_some_cases_in_a_row():
    assert follow([2, 2, 0, 2, 2, 0])[1] == []
    assert follow([2, 2, 2])[1] == ["2 alert"]


def test_an_active_alert_holds_until_the_value_is_well_below_its_limit():
    values = [2, 2, 2, 0.9, 0.9, 0.9, 0.9, 0.4, 0.4, 0.6, 0.4, 0.4, 0.4, 0.9, 0.9]
    assert follow(values)[1] == ["2 alert", "12 alert_cleared"]


def test_a_value_that_swings_around_the_limit_does_not_make_it_flap():
    assert follow([2, 2, 2] + [1.1, 0.9] * 20)[1] == ["2 alert"]


def test_onset_count_share_and_cost():
    tracker, _ = follow([0, 2, 2, 2, 2, 0, 0, 0, 0, 0, 2, 2, 2, 2])
    (alert,) = tracker.alerts()
    assert alert.onset == 11_000
    assert alert.count == 2
    assert alert.active
    assert alert.steps == (17_000 - 11_000) + (23_000 - 20_000)
    assert alert.share == alert.steps / 23_000
    assert alert.seconds == 45.0
    assert (alert.evidence.value, alert.evidence.threshold, alert.step) == (2, 1.0, 23_000)


def test_nothing_fires_before_the_warm_up_unless_it_is_allowed_to():
    early = [{"env_steps": 100 * i, "train/approx_kl": 0.2, "train/first_ratio": 2.0} for i in range(40)]
    assert [alert.id for alert in AlertTracker(make_context(), early).alerts()] == ["stale_ratio"]


def test_alerts_are_sorted_by_id():
    tracker = AlertTracker(make_context(), story({"train/clip_fraction": 0.7, "train/approx_kl": 0.2}))
    names = [alert.id for alert in tracker.alerts()]
    assert names == sorted(names)
    assert len(names) >= 4


def test_every_rule_is_fired_quiet_or_unchecked():
    tracker = AlertTracker(make_context(), story({"train/approx_kl": 0.2}))
    told = [alert.id for alert in tracker.alerts()]
    told += [rule.id for rule in tracker.quiet_rules()]
    told += [rule.id for rule, _ in tracker.unchecked_rules()]
    from gymsolve.doctor.rules import RULES

    assert sorted(told) == sorted(rule.id for rule in RULES)


NUMBERS = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 0.05, 1e-6, math.nan, math.inf, -math.inf, 500.0])
)
HEALTHY = story()
NAMES = st.sampled_from(sorted({name for row in HEALTHY for name in row} - {"env_steps"}))


@st.composite
def spoiled_runs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Stretches of a healthy run with some metrics replaced, or missing."""
    rows = [dict(row) for row in HEALTHY]
    for _ in range(draw(st.integers(1, 6))):
        name, value = draw(NAMES), draw(NUMBERS)
        begin = draw(st.integers(0, len(rows) - 1))
        for row in rows[begin : begin + draw(st.integers(1, len(rows)))]:
            if name in row:
                row[name] = value
    return rows


@settings(max_examples=40)
@given(spoiled_runs(), st.integers(0, 119))
def test_live_resumed_and_replayed_alerts_are_the_same(rows, stopped):
    live = AlertTracker(make_context())
    for row in rows:
        live.update(row)
    stored = [json.loads(to_json(row)) for row in rows]  # NaN and infinity become null
    resumed = AlertTracker(make_context(), stored[:stopped])
    for row in rows[stopped:]:
        resumed.update(row)
    replayed = AlertTracker(make_context(), stored)
    told = [to_json(alert.to_json()) for alert in live.alerts()]
    assert [to_json(alert.to_json()) for alert in replayed.alerts()] == told
    assert [to_json(alert.to_json()) for alert in resumed.alerts()] == told


def test_an_evaluation_under_an_earlier_step_costs_nothing():
    tracker, _ = follow([2, 2, 2, 2])
    before = tracker.alerts()[0].steps
    tracker.update({"env_steps": BUDGET // 20, "train/loss": 2.0})
    assert tracker.alerts()[0].steps == before
