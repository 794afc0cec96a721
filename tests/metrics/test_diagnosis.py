"""One root cause first: consequences are suppressed, the environment comes before hyperparameters."""

import pytest
from stories import FLAT, make_context, story

from gymsolve.doctor.diagnosis import diagnose
from gymsolve.doctor.rules import RULES


def test_the_causes_form_no_circle_and_name_known_rules():
    direct = {rule.id: set(rule.explains) for rule in RULES}
    assert {name for effects in direct.values() for name in effects} <= set(direct)

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"circle: {path} → {name}"
        for effect in direct[name]:
            visit(effect, (*path, name))

    for name in direct:
        visit(name, ())


def test_a_rate_too_high_is_one_finding():
    columns = {"train/approx_kl": 0.2, "train/clip_fraction": 0.7, "train/entropy": 0.01, **FLAT}
    found = diagnose(story(columns), make_context())
    assert [alert.id for alert in found.roots] == ["kl_extreme"]
    consequences = {one.alert.id: one.because for one in found.consequences}
    assert consequences.keys() >= {"kl_high", "clip_high", "clip_extreme", "entropy_collapse", "return_flat"}
    assert set(consequences.values()) == {"kl_extreme"}


def test_the_environment_comes_before_hyperparameters():
    columns = {"train/dormant_share": 0.6, "obs/constant_share": 1.0, "train/first_ratio": 1.5}
    found = diagnose(story(columns), make_context())
    assert [alert.id for alert in found.roots] == ["obs_constant", "stale_ratio", "dead_network"]


def test_a_cause_that_came_much_later_explains_nothing():
    late = {"train/approx_kl": lambda i: 0.2 if i > 80 else 0.01, **FLAT}
    found = diagnose(story(late), make_context())
    assert {alert.id for alert in found.roots} == {"kl_extreme", "return_flat"}
    assert [one.alert.id for one in found.consequences] == ["kl_high"]


def test_what_stood_from_the_start_explains_what_showed_before_it():
    late = {"rollout/ep_rew_mean": lambda i: min(20.0 + 1.5 * i, 95.0)}
    found = diagnose(story({"hyper/gamma": 0.7, "train/explained_variance": -0.5, **late}), make_context())
    assert [alert.id for alert in found.roots] == ["short_sight"]
    consequences = {one.alert.id: one.alert.onset for one in found.consequences}
    assert consequences["ev_negative"] < found.roots[0].onset - 10_000


def test_a_policy_that_never_moved_explains_what_showed_before_that_was_told():
    columns = {"train/approx_kl": 1e-6, "train/explained_variance": 0.0, "train/entropy": 1.385}
    rising = {"rollout/ep_rew_mean": lambda i: 20.0 + min(i, 30)}  # by chance, for a third of the time
    found = diagnose(story(columns | rising), make_context())
    assert [alert.id for alert in found.roots] == ["policy_frozen"]
    assert found.roots[0].onset < 5_000
    assert found.roots[0].steps <= 100_000


def test_an_archive_that_finds_nothing_explains_that_nothing_is_learned_from_it():
    lessons = {"explore": {"archive": {"rollouts": False}}}
    columns = {"archive/cells": 16.0, "train/step_rms": 0.0, **FLAT}
    found = diagnose(story(columns), make_context(**lessons))
    assert [alert.id for alert in found.roots] == ["archive_stalled"]
    assert {one.alert.id for one in found.consequences} >= {"step_tiny", "return_flat"}


def test_a_loud_task_is_one_finding():
    quiet = {
        "task_signal/one": 0.001,
        "task_signal/two": 0.999,
        "task_return/one": 3.0,
        "task_return/two": 9e3,
    }
    loud = {"rollout/return_p95abs": 9e3, "train/explained_variance": 0.0}
    found = diagnose(story(quiet | loud | FLAT), make_context(env={"tasks": {"one": {}, "two": {}}}))
    assert [alert.id for alert in found.roots] == ["task_starved"]
    assert "value_scale" in {one.alert.id for one in found.consequences}


def test_what_did_not_fire_and_could_not_be_checked_is_told():
    few = [{name: row[name] for name in ("env_steps", "train/loss") if name in row} for row in story()]
    found = diagnose(few, make_context())
    assert found.roots == ()
    assert found.not_fired == ("eval_lost", "nonfinite", "out_of_bounds")
    reasons = dict(found.not_checked)
    assert reasons["kl_high"] == "needs train/approx_kl"
    assert reasons["value_dominates"] == "does not apply to these settings"
    assert len(found.not_fired) + len(reasons) == len(RULES)


def test_an_error_that_ended_training_is_the_root():
    found = diagnose(
        story(FLAT), make_context(), failure="DivergenceError: a weight became nan at 9000 steps"
    )
    assert found.roots[0].id == "nonfinite"
    assert "became nan" in found.roots[0].evidence.note
    assert found.roots[0].changes


@pytest.mark.parametrize("records", [[], story(count=1)])
def test_too_few_records_are_no_problem(records):
    assert diagnose(records, make_context()).roots == ()


def test_values_that_predict_nothing_lead_to_what_one_observation_does_not_show():
    """Where the settings that usually help are there already, the past is what can still be missing."""
    blind = story({"train/explained_variance": 0.0} | FLAT)
    there = {"net": {"normalize_obs": "running"}, "algo": {"vf_coef": 0.5}}

    def advice(**settings):
        (found,) = [one for one in diagnose(blind, make_context(**settings)).alerts if one.id == "ev_zero"]
        assert not found.changes
        return found.instead

    assert "env.frame_stack=2" in advice(**there)
    remembers = {"net": there["net"] | {"memory": {"cell": "lstm"}}, "algo": there["algo"]}
    assert "memory" not in advice(**remembers), "it has one already"
    assert "frame_stack" not in advice(**there, env={"frame_stack": 4})
