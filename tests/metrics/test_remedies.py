"""Remedies: none is idle, none contradicts another of the same report, none leaves what is usual."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from stories import BUDGET, FLAT, Column, make_context, story
from test_rules import CASES, STAGED, TWO

from gymsolve.doctor.alerts import Alert, AlertTracker
from gymsolve.doctor.diagnosis import explain
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.remedy_limits import USUAL, peak, prescribe, settle
from gymsolve.doctor.rules.rule import Change, Context, ProposedChange, Rule
from gymsolve.metrics.wording import remedy_text
from gymsolve.recipes import apply_overrides, flatten

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "schedules": {
        "algo": {
            "learning_rate": "1e-3 -> 0",
            "ent_coef": {"start": 0.05, "end": 0, "until": 0.5},
            "clip_coef": "0.2 -> 0.05",
            "gamma": "0.9 -> 0.99",
            "num_epochs": "10 -> 1",
        }
    },
    "points": {
        "algo": {
            "learning_rate": {"points": [[0, 1e-3], [0.02, 0.0]]},
            "vf_coef": {"start": 0.0, "end": 1.0},
        }
    },
    "as high as is usual": {
        "algo": {"learning_rate": 1e-2, "ent_coef": 0.1, "vf_coef": 2.0, "num_epochs": 20, "num_steps": 4096}
    },
    "as low as is usual": {
        "algo": {
            "learning_rate": 1e-6,
            "num_epochs": 1,
            "vf_coef": 0.01,
            "max_grad_norm": 0.1,
            "target_kl": 0.005,
        }
    },
    "beyond all measure": {
        "algo": {
            "learning_rate": 1.0,
            "ent_coef": 10.0,
            "vf_coef": 1e4,
            "max_grad_norm": 1e-8,
            "gamma": 0.1,
            "clip_coef": 0.0,
        }
    },
    "nothing": {"algo": {"learning_rate": 0.0, "ent_coef": 0.0, "vf_coef": 0.0, "max_grad_norm": 0.0}},
    "remedies taken": {
        "algo": {"target_kl": 0.01, "normalize_rewards": True},
        "net": {
            "normalize_obs": "running",
            "normalize_values": "running",
            "layer_norm": True,
            "squash": True,
            "shared": False,
        },
        "eval": {"deterministic": False, "asynchronous": True},
        "env": {"num_envs": 8, "backend": "sync"},
    },
    "pictures": {"spec": {"obs": "image"}, "net": {"shared": True}},
    "a box": {"kind": "box"},
    "a2c": {"algo": {"name": "a2c", "optimizer": {"name": "sgd"}, "learning_rate": 0.5}},
    "no critic": {"algo": {"name": "reinforce", "baseline": "none"}},
    "tasks that are hidden": {**TWO, "net": {"tasks": {"input": False}}},
    "stages that nobody rehearses": {**STAGED, "curriculum": {**STAGED["curriculum"], "rehearsal": 0.0}},
}
BAD: dict[str, dict[str, Column]] = {
    "KL too high, then none": {"train/approx_kl": lambda i: 0.2 if i < 50 else 1e-6, **FLAT},
    "annealed": {"hyper/learning_rate": lambda i: 1e-3 * (1 - i / 100), "train/approx_kl": 1e-6, **FLAT},
    "entropy gone and back": {"train/entropy": lambda i: 0.02 if i < 50 else 1.385, **FLAT},
    "no end, all overhead": {"rollout/episodes": 0.0, "time/eval_share": 0.9, "eval/seconds": 9.0, **FLAT},
    "all gradient troubles": {
        "train/grad_norm": lambda i: 0.0 if i < 30 else 100.0,
        "train/step_rms": lambda i: 0.0 if i < 30 else 1.0,
        "train/churn": lambda i: 0.0 if i < 30 else 0.9,
        **FLAT,
    },
}


@cache
def alerts_by_rule() -> list[tuple[Rule, Alert]]:
    """Every rule, with the alert that it gives in its own history."""
    return [
        (rule, alert)
        for name, case in CASES.items()
        for alert in AlertTracker(make_context(**case.context), story(case.fires)).alerts()
        for rule in RULES
        if rule.id == alert.id == name
    ]


def alerts_in(context: Context) -> list[Alert]:
    """All alerts at once, as they would be in a run with these settings."""
    remedies = [(alert, rule.remedy(context, alert.evidence)) for rule, alert in alerts_by_rule()]
    return [replace(alert, changes=prescribe(context, wishes).changes) for alert, wishes in remedies]


@pytest.mark.parametrize("name", SETTINGS)
def test_every_remedy_changes_something_and_stays_within_what_is_usual(name):
    context = make_context(**SETTINGS[name])
    assert context.config is not None
    before, proposed = flatten(context.config), set()
    for alert in alerts_in(context):
        for change in alert.changes:
            where = f"{alert.id}: {change}"
            after, changed = apply_overrides(context.config, {change.path: change.new})
            assert set(changed) == {change.path}, where
            assert flatten(after)[change.path] != before[change.path], f"{where} changes nothing"
            assert_usual(change, where, context)
            proposed.add(change.path)
    assert len(proposed) >= 5, "so that this says something"


@pytest.mark.parametrize("name", SETTINGS)
def test_no_remedy_of_a_report_contradicts_another(name):
    alerts = alerts_in(make_context(**SETTINGS[name]))
    for first in range(len(alerts)):  # whichever comes first
        ordered = [*alerts[first:], *alerts[:first]]
        settled = settle(ordered)
        assert settled[0].changes == ordered[0].changes, "the first cause decides"
        decided: dict[str, Any] = {}
        for alert in settled:
            assert all(
                one.path in {own.path for own in ordered[settled.index(alert)].changes}
                for one in alert.changes
            )
            for change in alert.changes:
                assert decided.setdefault(change.path, change.new) == change.new, f"{alert.id}: {change}"


def assert_usual(change: Change, where: str, context: Context) -> None:
    low, high = USUAL.get(change.path, (-math.inf, math.inf))
    if change.path == "algo.learning_rate" and context.setting("algo.optimizer.name") == "sgd":
        high = 1.0
    top, was = peak(change.new), peak(change.old)
    if top is None or low <= top <= high:
        return
    assert was is not None, where
    assert min(abs(top - low), abs(top - high)) < min(abs(was - low), abs(was - high)), (
        f"{where} goes too far"
    )


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("settings", ["defaults", "schedules"])
def test_histories_that_contradict_themselves_get_one_value_per_setting(name, settings):
    found = explain(AlertTracker(make_context(**SETTINGS[settings]), story(BAD[name])))
    decided: dict[str, Any] = {}
    for change in (one for alert in found.alerts for one in alert.changes):
        assert decided.setdefault(change.path, change.new) == change.new


def test_advice_on_logs_of_others_agrees_too():
    decided: dict[str, str] = {}
    for change in (
        one for alert in settle(alerts_in(Context(config=None, budget=BUDGET))) for one in alert.changes
    ):
        assert change.advice
        assert "factor of 1 " not in f"{change.advice} "
        assert decided.setdefault(change.path, change.advice) == change.advice


def only(name: str, columns: dict[str, Column], **context: Any) -> Alert:
    (found,) = [
        one for one in AlertTracker(make_context(**context), story(columns)).alerts() if one.id == name
    ]
    return found


def fired(columns: dict[str, Column], **context: Any) -> set[str]:
    return {alert.id for alert in AlertTracker(make_context(**context), story(columns)).alerts()}


def falling(i: int) -> float:
    return 1e-3 * (1 - i / 100)


def test_a_policy_that_an_annealed_rate_brings_to_rest_is_not_frozen():
    rest = {"hyper/learning_rate": falling, "train/approx_kl": lambda i: 0.01 * (1 - i / 100) ** 2, **FLAT}
    assert not {"policy_frozen", "clip_unused"} & fired(rest | {"train/clip_fraction": 0.0})
    still = {"hyper/learning_rate": falling, "train/approx_kl": lambda i: 1e-5 * (1 - i / 100) ** 2, **FLAT}
    found = only("policy_frozen", still, algo={"learning_rate": "1e-3 -> 0"})
    (change,) = found.changes
    assert change.new == {"start": 0.01, "end": 0.0}, "within what is usual, and by the KL of a full rate"
    assert "while the learning rate was above half of its peak" in found.evidence.meaning


def test_the_first_cause_decides_which_way_a_setting_goes():
    columns = {"train/approx_kl": 1e-6, "train/step_rms": 0.0, **FLAT}
    found = explain(AlertTracker(make_context(), story(columns)))
    assert found.roots[0].changes[0].move == "up"
    (flat,) = [alert for alert in found.alerts if alert.id == "return_flat"]
    assert "algo.learning_rate" not in {one.path for one in flat.changes}
    (only_rate,) = [one for one in found.alerts if one.id == "policy_frozen"]
    assert only_rate.changes[0].new == found.roots[0].changes[0].new, "one value for one setting"


def test_whoever_waits_says_for_whom():
    columns = {"train/approx_kl": lambda i: 0.2 if i < 30 else 1e-6, **FLAT}
    found = explain(AlertTracker(make_context(), story(columns)))
    texts = {alert.id: remedy_text(alert.to_json()) for alert in found.alerts}
    moves = {one.move for alert in found.alerts for one in alert.changes if one.path == "algo.learning_rate"}
    assert len(moves) == 1
    assert any(text.startswith("wait: ") for text in texts.values()), texts


@pytest.mark.parametrize(
    ("wish", "settings", "new"),
    [
        (ProposedChange("algo.ent_coef", "up", 10.0, 0.01), {}, 0.01),
        (ProposedChange("algo.ent_coef", "up", 10.0, 0.01), {"algo": {"ent_coef": 0.05}}, 0.1),
        (ProposedChange("algo.ent_coef", "down", 0.1), {}, None),
        (ProposedChange("algo.target_kl", "down", value=0.02), {}, 0.02),
        (ProposedChange("algo.target_kl", "down", value=0.02), {"algo": {"target_kl": 0.01}}, None),
        (ProposedChange("algo.max_grad_norm", "down", value=0.5), {"algo": {"max_grad_norm": 0.0}}, 0.5),
        (ProposedChange("algo.max_grad_norm", "down", value=0.5), {"algo": {"max_grad_norm": 0.2}}, None),
        (
            ProposedChange("algo.gamma", "up", value=0.99),
            {"algo": {"gamma": "0.9 -> 0.999"}},
            {"start": 0.99, "end": 0.999},
        ),
        (ProposedChange("algo.learning_rate", "up", 3.0), {"algo": {"learning_rate": 0.3}}, None),
        (ProposedChange("algo.learning_rate", "down", 0.3), {"algo": {"learning_rate": 0.3}}, 0.01),
        (ProposedChange("algo.num_epochs", "down", 0.5), {"algo": {"num_epochs": 1}}, None),
        (ProposedChange("algo.clip_coef", "up", value=0.2), {"algo": {"name": "a2c"}}, None),
        (ProposedChange("net.normalize_obs", "set", value="running"), {"spec": {"obs": "image"}}, None),
        (ProposedChange("net.squash", "set", value=True), {}, None),
    ],
)
def test_a_wish_becomes_a_change_or_nothing(wish, settings, new):
    changes = prescribe(make_context(**settings), [wish]).changes
    assert [one.new for one in changes] == ([] if new is None else [new])


def test_a_learned_temperature_is_not_replaced_by_a_raised_one():
    raised = ProposedChange("algo.ent_coef", factor=3.0, value=0.01, move="up")
    learns, fixed = ({"name": "sac"}, {"name": "sac", "ent_coef": 0.01})
    contexts = [make_context(kind="box", algo=algo) for algo in (learns, fixed)]
    news = [[change.new for change in prescribe(context, [raised]).changes] for context in contexts]
    assert news == [[], [0.03]]


def test_without_a_change_left_the_remedy_says_why():
    found = only("obs_huge", {"obs/abs_max": 101.0}, net={"normalize_obs": "running"})
    assert remedy_text(found.to_json()) == (
        "the settings that usually help are there already (net.normalize_obs=running)"
    )


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        (TWO, {"net.tasks.heads": "each", "algo.normalize_advantages": "task"}),
        (
            {**TWO, "net": {"tasks": {"input": False}}},
            {"net.tasks.input": True, "algo.normalize_advantages": "task"},
        ),
        (
            {**STAGED, "curriculum": {**STAGED["curriculum"], "rehearsal": 0.0}},
            {"curriculum.rehearsal": 0.25, "net.tasks.heads": "each", "algo.normalize_advantages": "task"},
        ),
        (STAGED, {"net.tasks.heads": "each", "algo.normalize_advantages": "task"}),
    ],
    ids=["at once", "hidden", "not rehearsed", "rehearsed"],
)
def test_a_forgotten_task_is_played_again_told_apart_and_given_a_head(settings, changed):
    """In this order, and only what can be done: a task that is hidden cannot have a head of its own."""
    found = only("task_forgotten", CASES["task_forgotten"].fires, **settings)
    assert [(one.path, one.new) for one in found.changes] == list(changed.items())


def test_rarer_evaluations_take_a_fifth_of_the_time_as_promised():
    """A record is 2 seconds and 1,000 steps, and after five of them an evaluation takes 10 seconds."""
    columns = {
        "time/elapsed": lambda i: 2.0 * (i + 1) + 10.0 * (i // 5),
        "time/eval_share": lambda i: 10 / 12 if i and i % 5 == 0 else 0.0,
        "eval/seconds": 10.0,
    }
    found = only("overhead", columns, steps=1_000_000)
    (change,) = found.changes
    tracker = AlertTracker(make_context(steps=1_000_000), story(columns))
    spending = tracker.history.spending
    step = (spending.whole - spending.seconds["eval"]) / tracker.history.env_steps
    assert change.path == "eval.every"
    assert 10.0 / (10.0 + step * change.new) == pytest.approx(0.2, abs=0.02)
    beside = only("overhead", columns, steps=45_000)
    assert [one.path for one in beside.changes] == ["eval.asynchronous"], "next to none would be left"
    rare = only("overhead", {"time/record_share": 0.9, "time/eval_share": 0.0})
    assert rare.changes == ()
    assert rare.evidence.metric == "time/record_share"
