"""Every rule: a history that fires it, a border case that does not, and a healthy run that must not."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from stories import FLAT, Column, make_context, story

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.rules import RULES
from gymsolve.doctor.rules.rule import Context
from gymsolve.metrics.catalog import undeclared

H = math.log(4)
NAN = math.nan


class Case(NamedTuple):
    fires: dict[str, Column]
    border: dict[str, Column]
    """Just not a case, or not for long enough."""
    context: Mapping[str, Any] = MappingProxyType({})


def jump(before: float, after: float, at: int = 60) -> Column:
    return lambda i: before if i < at else after


def burst(before: float, peak: float, length: int, at: int = 60) -> Column:
    return lambda i: peak if at <= i < at + length else before


def reward_of(value: float) -> dict[str, Column]:
    return {f"rollout/ep_rew_{part}": value for part in ("mean", "min", "max")}


def blind_of(name: str) -> dict[str, Column]:
    return {f"blind/{name}_std": 1.0, f"blind/{name}_episodes": 20.0}


REMEMBERING = {"net": {"memory": {"cell": "lstm"}}}
SHARED = {"net": {"shared": True}}
SHAPED = {"env": {"wrappers": [{"scale_reward": {"factor": -1.0}}]}}
MASKED = {"spec": {"masked": True}}
CURIOUS = {"explore": {"bonus": "rnd"}}
ARCHIVING = {"explore": "go_explore"}
TWO = {"env": {"tasks": {"one": {}, "two": {}}}}
STAGED = {**TWO, "curriculum": {"stages": ["one", "two"], "promote_at": 5.0}}
OFF_POLICY = {"algo": {"name": "sac"}, "kind": "box"}
CASES = {
    "stage_stuck": Case(
        {"curriculum/stage": 1.0, "curriculum/achieved": lambda i: 3.0 * min(1.0, i / 20)},
        {"curriculum/stage": 1.0, "curriculum/achieved": lambda i: 3.0 * min(1.0, i / 95)},
        STAGED,
    ),
    "task_starved": Case(
        {"task_signal/one": 0.02, "task_signal/two": 0.98, "task_return/one": 3.0, "task_return/two": 9.0},
        {"task_signal/one": 0.03, "task_signal/two": 0.97, "task_return/one": 3.0, "task_return/two": 9.0},
        TWO,
    ),
    "task_forgotten": Case(
        {
            "eval/episodes": 40.0,
            "task_eval/one": lambda i: 100.0 * min(1.0, i / 40) if i < 60 else 10.0,
            "task_eval/two": lambda i: float(i),
        },
        {
            "eval/episodes": 40.0,
            "task_eval/one": lambda i: 100.0 * min(1.0, i / 40) if i < 60 else 60.0,
            "task_eval/two": lambda i: float(i),
        },
        TWO,
    ),
    "worker_lost": Case(
        {"rollout/faults": 5.0, "rollout/cut_episodes": lambda i: 6.0 * (i + 1)},
        {"rollout/faults": 5.0, "rollout/cut_episodes": lambda i: 5.0 * (i + 1)},
    ),
    "eval_lost": Case({"eval/faults": 3.0}, {"eval/faults": 2.0}),
    "nonfinite": Case({"train/loss": burst(0.3, math.inf, 1)}, {"train/explained_variance": NAN}),
    "out_of_bounds": Case({"train/entropy": burst(1.0, 1.01 * H, 1)}, {"train/entropy": H}),
    "obs_huge": Case({"obs/abs_max": 101.0}, {"obs/abs_max": 100.0}),
    "obs_constant": Case({"obs/constant_share": 1.0}, {"obs/constant_share": 0.9}),
    "no_reward": Case(reward_of(0.0), {**reward_of(0.0), "rollout/ep_rew_max": burst(0.0, 1.0, 1, at=3)}),
    "same_return": Case(
        reward_of(-200.0), {**reward_of(-200.0), "rollout/ep_rew_max": burst(-200, -199, 1, 8)}
    ),
    "bootstrap_missing": Case(
        {"rollout/bootstrapped_share": 0.0},
        {"rollout/bootstrapped_share": 0.0, "rollout/truncated_share": 0.0},
    ),
    "stale_ratio": Case({"train/first_ratio": 1.001}, {"train/first_ratio": 1.00009}),
    "limit_as_end": Case(
        {"rollout/ep_len_mean": 500.0, "rollout/truncated_share": 0.0},
        {"rollout/ep_len_mean": 480.0, "rollout/truncated_share": 0.0},
    ),
    "reward_misleads": Case(
        {"rollout/ep_shaped_rew_mean": lambda i: -1.0 * i},
        {"rollout/ep_shaped_rew_mean": lambda i: 7.0 * i},
        SHAPED,
    ),
    "short_sight": Case({"hyper/gamma": 0.7, **FLAT}, {"hyper/gamma": 0.7}),
    "clip_closed": Case({"hyper/clip_coef": 0.0}, {"hyper/clip_coef": jump(0.2, 0.0, at=88)}),
    "mask_closed": Case({"train/entropy": 0.0}, {"train/entropy": burst(0.0, 0.01, 1, at=0)}, MASKED),
    "no_episode_end": Case({"rollout/episodes": 0.0}, {"rollout/episodes": jump(0.0, 1.0, at=13)}),
    "one_step_episodes": Case({"rollout/ep_len_mean": jump(20.0, 1.0)}, {"rollout/ep_len_mean": 1.0}),
    "equal_lengths": Case(
        {"rollout/ep_len_std": 0.0, "rollout/ep_len_mean": 50.0},
        {"rollout/ep_len_std": 0.0, "rollout/ep_len_mean": 500.0},
    ),
    "reset_synchrony": Case({"rollout/reset_synchrony": 1.0}, {"rollout/reset_synchrony": 0.9}),
    "one_component": Case(
        {"reward_share/survival": 0.95, "reward_share/base": 0.05, **FLAT},
        {"reward_share/survival": 0.05, "reward_share/base": 0.95, **FLAT},
    ),
    "kl_shock": Case(
        {"train/approx_kl": burst(0.01, 3.0, 1, at=0)}, {"train/approx_kl": burst(0.01, 2.0, 1)}
    ),
    "kl_extreme": Case({"train/approx_kl": 0.11}, {"train/approx_kl": burst(0.01, 0.11, 4)}),
    "kl_high": Case({"train/approx_kl": 0.051}, {"train/approx_kl": 0.05}),
    "clip_extreme": Case({"train/clip_fraction": 0.61}, {"train/clip_fraction": 0.6}),
    "clip_high": Case({"train/clip_fraction": 0.41}, {"train/clip_fraction": burst(0.1, 0.5, 4)}),
    "policy_frozen": Case({"train/approx_kl": 1e-5, **FLAT}, {"train/approx_kl": 1e-5}),
    "clip_unused": Case(
        {"train/clip_fraction": 0.0, "train/approx_kl": 1e-4, **FLAT},
        {"train/clip_fraction": 0.0, "train/approx_kl": 0.002, **FLAT},
    ),
    "bonus_drowns": Case({"bonus/share": 0.92, **FLAT}, {"bonus/share": 0.9, **FLAT}, CURIOUS),
    "bonus_vanished": Case(
        {"bonus/mean": lambda i: 1.0 if i < 3 else 0.049, **FLAT},
        {"bonus/mean": lambda i: 1.0 if i < 3 else 0.051, **FLAT},
        CURIOUS,
    ),
    "archive_stalled": Case(
        {"archive/cells": lambda i: min(50.0 + i, 100.0), **FLAT},
        {"archive/cells": lambda i: 1000.0 * 1.001**i, **FLAT},
        ARCHIVING,
    ),
    "entropy_collapse": Case({"train/entropy": 0.04 * H, **FLAT}, {"train/entropy": 0.04 * H}),
    "entropy_falling": Case(
        {"train/entropy": lambda i: max(0.06, 0.9 - 0.02 * i) * H, **FLAT},
        {"train/entropy": lambda i: max(0.06, 0.9 - 0.01 * i) * H, **FLAT},
    ),
    "entropy_stuck": Case({"train/entropy": 0.999 * H, **FLAT}, {"train/entropy": 0.98 * H, **FLAT}),
    "initial_policy": Case({"train/entropy": 0.5 * H}, {"train/entropy": jump(0.7 * H, 0.5 * H, at=1)}),
    "log_std_low": Case(
        {"policy/log_std_mean": -3.1, **FLAT}, {"policy/log_std_mean": -3.1}, {"kind": "box"}
    ),
    "log_std_high": Case(
        {"policy/log_std_mean": lambda i: 0.02 * i},
        {"policy/log_std_mean": lambda i: 2.0 - 0.005 * i},
        {"kind": "box"},
    ),
    "action_saturated": Case(
        {"action/saturated_share": 0.51, **FLAT}, {"action/saturated_share": 0.51}, {"kind": "box"}
    ),
    "action_stuck": Case({"action/largest_share": 0.96, **FLAT}, {"action/largest_share": 0.95, **FLAT}),
    "values_untrained": Case({"hyper/vf_coef": 0.0}, {"hyper/vf_coef": burst(0.5, 0.0, 4)}),
    "ev_negative": Case({"train/explained_variance": -0.06}, {"train/explained_variance": -0.05}),
    "ev_zero": Case({"train/explained_variance": 0.04, **FLAT}, {"train/explained_variance": 0.04}),
    "ev_oscillates": Case(
        {"train/explained_variance": lambda i: 0.9 if i % 2 else 0.0, **FLAT},
        {"train/explained_variance": lambda i: 0.79 if i % 2 else 0.0, **FLAT},
    ),
    "value_scale": Case(
        {"rollout/return_p95abs": 101.0, "train/explained_variance": 0.1},
        {"rollout/return_p95abs": 101.0},
    ),
    "advantage_dead": Case({"rollout/advantage_std": 0.0}, {"rollout/advantage_std": 1e-6}),
    "advantage_biased": Case(
        {"rollout/advantage_mean": 2.0}, {"rollout/advantage_mean": lambda i: 8.0 if i % 8 else -1e-9}
    ),
    "value_dominates": Case({"train/grad_norm_value": 51.0}, {"train/grad_norm_value": 50.0}, SHARED),
    "terminal_uncorrelated": Case(
        {"train/terminal_correlation": 0.0, **FLAT}, {"train/terminal_correlation": 0.05, **FLAT}
    ),
    "grad_vanished": Case({"train/grad_norm": 0.0}, {"train/grad_norm": 1e-6}),
    "grad_jump": Case({"train/grad_norm": jump(1.0, 11.0)}, {"train/grad_norm": jump(1.0, 10.0)}),
    "grad_clipped": Case({"train/grad_norm": 51.0, **FLAT}, {"train/grad_norm": 50.0, **FLAT}),
    "rate_zero": Case(
        {"hyper/learning_rate": jump(3e-4, 0.0)}, {"hyper/learning_rate": jump(3e-4, 0.0, at=88)}
    ),
    "step_tiny": Case({"train/step_rms": 0.0}, {"train/step_rms": 1e-7}),
    "step_jump": Case({"train/step_rms": jump(1e-4, 1.1e-3)}, {"train/step_rms": jump(1e-4, 1e-3)}),
    "memory_unused": Case({"train/memory_effect": 0.009}, {"train/memory_effect": 0.01}, REMEMBERING),
    "dormant": Case({"train/dormant_share": jump(0.0, 0.26)}, {"train/dormant_share": jump(0.0, 0.25)}),
    "dead_network": Case({"train/dormant_share": 0.51}, {"train/dormant_share": 0.5}),
    "rank_collapse": Case(
        {"train/feature_rank": jump(30.0, 14.0), **FLAT}, {"train/feature_rank": jump(30, 14)}
    ),
    "churn_jump": Case({"train/churn": jump(0.1, 0.31)}, {"train/churn": jump(0.1, 0.3)}),
    "churn_dead": Case({"train/churn": 0.0, **FLAT}, {"train/churn": 0.0}),
    "return_fell": Case(
        {"rollout/ep_rew_mean": jump(20.0, 30.0, at=1), "rollout/ep_rew_max": 31.0}
        | {"rollout/ep_rew_mean": lambda i: 20.0 + 2 * i if i < 50 else 60.0},
        {"rollout/ep_rew_mean": lambda i: 20.0 + 2 * i if i < 50 else 90.0},
    ),
    "return_flat": Case(FLAT, {"rollout/ep_rew_mean": lambda i: min(20.0 + 4 * i, 185.0)}),
    "eval_gap": Case({"eval/mean_reward": 20.0}, {"eval/mean_reward": lambda i: 20.0 + 0.51 * 1.5 * i}),
    "no_better_than_nothing": Case(
        {"blind/idle_reward": 36.0, **blind_of("idle")}, {"blind/idle_reward": 35.9, **blind_of("idle")}
    ),
    "no_better_than_random": Case(
        {"blind/random_reward": 36.0, **blind_of("random")},
        {"blind/random_reward": 35.9, **blind_of("random")},
    ),
    "eval_sight": Case({"eval/first_obs_size": 2.5}, {"eval/first_obs_size": 2.4}),
    "overestimation": Case(
        {"train/overestimation": 2.1, "train/q_bias": 40.0, "train/td_error": 13.0},
        {"train/overestimation": 2.1, "train/q_bias": 40.0, "train/td_error": 13.5},
        OFF_POLICY,
    ),
    "temperature_dead": Case({"hyper/ent_coef": 0.9e-4, **FLAT}, {"hyper/ent_coef": 0.9e-4}, OFF_POLICY),
    "env_bound": Case({"time/env_share": 0.61}, {"time/env_share": 0.6}),
    "overhead": Case({"time/eval_share": 0.41}, {"time/eval_share": 0.4}),
    "memory_growth": Case({"time/memory": lambda i: 300 + 20 * i}, {"time/memory": lambda i: 300 + 6 * i}),
}


def fired(columns: dict[str, Column], context: Context) -> set[str]:
    return {alert.id for alert in AlertTracker(context, story(columns)).alerts()}


def test_every_rule_has_a_case():
    assert set(CASES) == {rule.id for rule in RULES}
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_fires(name):
    case = CASES[name]
    assert name in fired(case.fires, make_context(**case.context))


@pytest.mark.parametrize("name", CASES)
def test_a_rule_keeps_quiet_at_its_border(name):
    case = CASES[name]
    assert name not in fired(case.border, make_context(**case.context))


@pytest.mark.parametrize("context", [{}, {"kind": "box"}, SHARED, {"algo": {"name": "a2c"}}], ids=str)
def test_nothing_fires_in_a_healthy_run(context):
    tracker = AlertTracker(make_context(**context), story())
    assert [alert.id for alert in tracker.alerts()] == []
    missing = [reason for _, reason in tracker.unchecked_rules() if reason.startswith("needs")]
    assert missing == [], "the healthy run measures everything, so that every rule is looked at"


def test_a_temperature_that_somebody_has_set_is_not_dead():
    columns = {"hyper/ent_coef": 0.0, **FLAT}
    set_to_zero = {"algo": {"name": "sac", "ent_coef": 0.0}, "kind": "box"}
    assert "temperature_dead" not in fired(columns, make_context(**set_to_zero))
    assert "temperature_dead" not in fired(columns, make_context(algo={"name": "td3"}, kind="box"))


def test_values_of_a_young_critic_are_no_over_estimation():
    """Values begin at 0: where all returns are costs, they are too high by as much as these, and not more."""
    young = {"train/overestimation": 0.98, "train/q_bias": 500.0, "train/td_error": 0.3}
    assert "overestimation" not in fired(young, make_context(**OFF_POLICY))


REPLAYED, PARALLEL = {"algo": {"name": "dqn"}}, {"algo": {"name": "pqn"}}


@pytest.mark.parametrize("settings", [REPLAYED, PARALLEL], ids=str)
def test_features_of_action_values_may_be_alike(settings):
    """They share the value of the state: a solved Acrobot had a rank of 1.0 from its tenth thousand on."""
    alike = {"train/feature_rank": jump(30.0, 1.0), **FLAT}
    assert "rank_collapse" in fired(alike, make_context())
    assert "rank_collapse" not in fired(alike, make_context(**settings))


@pytest.mark.parametrize("churn", [0.0, jump(0.02, 1.0)])
def test_a_few_gradient_steps_from_a_replay_buffer_may_change_all_choices_or_none(churn):
    """In the same Acrobot, single updates changed 0 or 100 % of them."""
    columns = {"train/churn": churn, **FLAT}
    assert {"churn_dead", "churn_jump"} & fired(columns, make_context(**PARALLEL))
    assert not {"churn_dead", "churn_jump"} & fired(columns, make_context(**REPLAYED))


@pytest.mark.parametrize("settings", [REPLAYED, PARALLEL], ids=str)
def test_a_gap_between_random_and_best_actions_is_not_closed_by_evaluating_random_ones(settings):
    tracker = AlertTracker(make_context(**settings), story({"eval/mean_reward": 20.0}))
    (gap,) = [alert for alert in tracker.alerts() if alert.id == "eval_gap"]
    assert gap.changes == ()
    assert "algo.epsilon" in gap.instead


def test_an_archive_that_grows_or_leads_somewhere_is_no_finding():
    stuck = {"archive/cells": 100.0}
    assert "archive_stalled" not in fired(stuck, make_context(**ARCHIVING))  # while the return rises
    assert "archive_stalled" not in fired({**stuck, **FLAT}, make_context(**CURIOUS))


@pytest.mark.parametrize(
    "columns",
    [
        {"bonus/share": 0.99, "bonus/mean": lambda i: 1.0 if i < 3 else 0.001},  # while the return rises
        {"bonus/share": 0.99, "bonus/mean": 1.0, "rollout/ep_rew_std": 0.0, "rollout/ep_rew_mean": 0.0},
        {"bonus/share": 0.5, "bonus/mean": lambda i: 1.0 if i < 40 else 0.001, **FLAT},  # not at once
    ],
)
def test_a_bonus_that_does_its_work_is_no_finding(columns):
    assert not {"bonus_drowns", "bonus_vanished"} & fired(columns, make_context(**CURIOUS))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"rollout/success_rate": 0.0}, False),
        ({"rollout/success_rate": lambda i: 0.01 if i == 50 else 0.0}, True),
        # Moves cost something, and the goal was never seen, whether episodes end early or not.
        ({**reward_of(-0.05), "rollout/ep_rew_std": 0.02, "rollout/ep_len_std": 0.0}, False),
        ({**reward_of(-0.05), "rollout/ep_rew_std": 0.02, "rollout/ep_len_std": 3.0}, False),
        # Every step costs 1, so an early end is what is looked for.
        (
            {**reward_of(-90.0), "rollout/ep_rew_std": 9.0, "rollout/ep_len_mean": 90.0}
            | {"rollout/ep_len_std": 9.0},
            True,
        ),
    ],
)
def test_a_bonus_does_not_drown_a_goal_that_was_never_found(more, told):
    columns = {"bonus/share": 0.95, **FLAT, **more}
    assert ("bonus_drowns" in fired(columns, make_context(**CURIOUS))) == told


@pytest.mark.parametrize(
    ("grows", "told"), [(1.0, set()), (0.0, {"archive_stalled", "no_reward", "step_tiny"})]
)
def test_while_an_archive_grows_nothing_needs_to_be_earned_or_learned(grows, told):
    """With lessons alone, the weights stand still until something was found."""
    lessons = make_context(explore={"archive": {"rollouts": False}})
    columns = {**reward_of(0.0), "archive/cells": lambda i: 50.0 + grows * i, "train/step_rms": 0.0}
    found = fired(columns | {"train/churn": 0.0}, lessons)
    assert told <= found
    assert bool(told) == bool(
        found & {"no_reward", "same_return", "step_tiny", "churn_dead", "archive_stalled", "return_flat"}
    )


@pytest.mark.parametrize(
    ("columns", "curriculum"),
    [
        ({"curriculum/stage": 2.0, "curriculum/achieved": 3.0}, {}),  # the last one is the task itself
        ({"curriculum/stage": jump(1.0, 2.0, at=25), "curriculum/achieved": 3.0}, {}),
        ({"curriculum/stage": 1.0, "curriculum/achieved": 5.1}, {}),  # the bound follows
        (
            {"curriculum/stage": 1.0, "curriculum/achieved": 3.0},
            {"stages": [{"name": "one", "steps": 9}, "two"]},
        ),
        (
            {"curriculum/stage": 1.0, "curriculum/achieved": 3.0, "task_threshold/one": 2.0},
            {"promote_at": None},
        ),
    ],
)
def test_a_stage_that_moves_or_will_move_is_not_stuck(columns, curriculum):
    context = make_context(**TWO, curriculum=STAGED["curriculum"] | curriculum)
    assert "stage_stuck" not in fired(columns, context)


def test_a_task_that_was_hardly_learned_is_not_forgotten():
    """Evaluations of a policy that is learning go up and down."""
    forgotten = CASES["task_forgotten"].fires
    assert "task_forgotten" in fired(forgotten | {"task_threshold/one": 190.0}, make_context(**TWO))
    assert "task_forgotten" not in fired(forgotten | {"task_threshold/one": 210.0}, make_context(**TWO))


def test_tasks_that_are_judged_by_successes_are_starved_and_forgotten_by_successes():
    """Thresholds are shares then, and returns of any size say nothing about them."""
    context = make_context(**TWO, solved_by="success_rate", solved_at=0.9)
    starved = CASES["task_starved"].fires | {"task_threshold/one": 0.9, "task_return/one": 95.0}
    assert "task_starved" in fired(starved | {"task_success/one": 0.0}, context)
    assert "task_starved" not in fired(starved | {"task_success/one": 0.95}, context)
    returns = CASES["task_forgotten"].fires
    shares = {
        "eval/episodes": 40.0,
        "task_threshold/one": 0.9,
        **{name.replace("eval/", "eval_success/"): one for name, one in _shares(returns).items()},
        **{name: 50.0 for name in returns if name.startswith("task_")},
    }
    assert "task_forgotten" in fired(shares, context)
    kept = returns | {"task_eval_success/one": 0.8, "task_eval_success/two": lambda i: i / 100}
    assert "task_forgotten" not in fired(kept | {"task_threshold/one": 0.9}, context)


def _shares(columns):
    """Returns of up to 100 as shares."""
    tasks = {name: one for name, one in columns.items() if name.startswith("task_")}
    return {name: lambda i, one=one: one(i) / 100 for name, one in tasks.items()}


def test_a_bonus_that_went_early_is_found_when_episodes_show_that_nothing_came_of_it():
    late = {"rollout/ep_rew_mean": lambda i: None if i < 30 else 20.0}  # the first long episodes end here
    early = {"bonus/mean": lambda i: 1.0 if i < 10 else 0.001}
    assert "bonus_vanished" in fired(early | late, make_context(**CURIOUS))
    lucky = {"rollout/ep_rew_mean": lambda i: 0.001 * i, "rollout/ep_rew_min": 0.0}
    assert "bonus_vanished" in fired(early | lucky | {"rollout/ep_rew_max": 1.0}, make_context(**CURIOUS))
    assert "bonus_vanished" not in fired(early | lucky | {"rollout/ep_rew_max": 0.1}, make_context(**CURIOUS))
    risen = {"rollout/ep_rew_mean": lambda i: -200.0 + 9 * min(i, 10) + 0.01 * i}  # it led somewhere
    wide = {"rollout/ep_rew_min": -200.0, "rollout/ep_rew_max": -100.0}
    assert "bonus_vanished" not in fired(early | risen | wide, make_context(**CURIOUS))
    slow = {"bonus/mean": lambda i: 1.0 if i < 28 else 0.001}
    assert "bonus_vanished" not in fired(slow | late, make_context(**CURIOUS))


def test_a_gain_within_the_noise_of_episodes_does_not_excuse_values_that_predict_nothing():
    noise = {"rollout/ep_rew_min": -1700.0, "rollout/ep_rew_max": -800.0}
    creeping = {"rollout/ep_rew_mean": lambda i: -1250.0 + i, "train/explained_variance": 0.0, **noise}
    assert "ev_zero" in fired(creeping, make_context())
    assert "ev_zero" not in fired(
        creeping | {"rollout/ep_rew_min": -1300.0, "rollout/ep_rew_max": -1100.0}, make_context()
    )


def test_who_has_hardly_left_the_start_has_nothing_to_lose():
    fallen = {"rollout/ep_rew_mean": lambda i: 20.0 + min(i, 8) if i < 50 else 21.0}
    fallen |= {"rollout/ep_rew_min": 18.0, "rollout/ep_rew_max": 31.0, "eval/mean_reward": 21.0}
    assert "return_fell" not in fired(fallen, make_context()), "8 of the 180 to the threshold"
    assert "return_fell" in fired(fallen, make_context(solved_at=100.0))


def judged_at(*rewards: float, after: int = 60, **facts: float) -> dict[str, Column]:
    """Evaluations as good as training, but for some in a row from record `after` on."""
    at = {after + 4 + 5 * k: reward for k, reward in enumerate(rewards)}
    told = {f"eval/{name}": value for name, value in facts.items()}
    return {"eval/mean_reward": lambda i: at.get(i, 30.0 + 1.5 * i), **told}


def test_two_bad_evaluations_are_a_gap_once_training_is_far_and_four_before():
    assert "eval_gap" in fired(judged_at(20.0, 20.0), make_context())
    assert "eval_gap" not in fired(judged_at(20.0), make_context()), "one bad update is no gap"
    early = {"after": 10}  # 20 + 1.5 * 24 is not yet a third of the way to 200
    assert "eval_gap" not in fired(judged_at(9.0, 9.0, 9.0, **early), make_context())
    assert "eval_gap" in fired(judged_at(9.0, 9.0, 9.0, 9.0, **early), make_context())


def test_a_policy_whose_likeliest_action_is_not_yet_good_catches_up():
    early = {"after": 10}
    assert "eval_gap" in fired(judged_at(0.0, 1.0, 3.0, 5.0, **early), make_context())
    assert "eval_gap" not in fired(judged_at(0.0, 5.0, 10.0, 15.0, **early), make_context())
    assert "eval_gap" in fired(judged_at(20.0, 45.0), make_context()), (
        "far from the start, that excuses nothing"
    )


def test_a_gap_within_the_errors_of_both_means_is_none():
    # Training has 116 and 123.5, evaluation lacks some 60: more than half of what was gained, if it is true.
    few = {"episodes": 5.0, "std_reward": 30.0}
    assert "eval_gap" in fired(judged_at(55.0, 60.0, **few), make_context())
    wide = {"episodes": 5.0, "std_reward": 60.0}
    assert "eval_gap" not in fired(judged_at(55.0, 60.0, **wide), make_context())
    noisy = {"rollout/ep_rew_std": 250.0}  # of a hundred episodes: 25, which is no gain either
    assert "eval_gap" not in fired(judged_at(55.0, 60.0, **few) | noisy, make_context())


def test_training_at_the_threshold_does_not_excuse_an_evaluation_far_below():
    solved = {"rollout/ep_rew_mean": lambda i: 20.0 + 3.0 * i, "eval/mean_reward": 20.0}
    assert "eval_gap" in fired(solved, make_context())


def test_a_wrapper_that_only_evaluation_has_is_named():
    wrappers = {
        "env": {"wrappers": [{"clip_reward": {"roles": ["train"]}}, {"other:Wrapper": {"roles": ["eval"]}}]}
    }
    tracker = AlertTracker(make_context(**wrappers), story({"eval/mean_reward": 20.0}))
    (gap,) = [alert for alert in tracker.alerts() if alert.id == "eval_gap"]
    assert "only training has the wrapper clip_reward" in gap.evidence.note
    assert "only evaluation has the wrapper other:Wrapper" in gap.evidence.note


def test_values_of_a_few_rollouts_without_ends_are_not_worse_than_a_guess():
    """Where returns are all alike, the share is of next to nothing: -20 in every third rollout."""
    assert "ev_negative" not in fired(
        {"train/explained_variance": lambda i: 0.2 if i % 3 else -20.0}, make_context()
    )
    assert "ev_negative" in fired(
        {"train/explained_variance": lambda i: -0.2 if i % 3 else 0.9}, make_context()
    )


def test_values_that_lag_a_little_are_no_bias_however_alike_the_steps_are():
    lag = {"rollout/advantage_mean": 2.0}
    assert "advantage_biased" not in fired(lag | {"rollout/return_p95abs": 20.1}, make_context())
    assert "advantage_biased" in fired(lag | {"rollout/return_p95abs": 19.9}, make_context())


def test_an_episode_that_may_still_be_under_way_is_no_finding():
    waiting = {"rollout/episodes": jump(0.0, 1.0, at=40)}
    assert "no_episode_end" in fired(waiting, make_context())
    assert "no_episode_end" not in fired(waiting, make_context(spec={"limit": 6000}))


def test_the_length_of_an_episode_is_that_of_one_copy():
    """Sixteen games of up to 27,000 steps have taken 12,288 together when the first record comes."""
    pong = {
        "rollout/episodes": 0.0,
        "vec_steps": lambda i: 768 * (i + 1),
        "env_steps": lambda i: 12_288 * (i + 1),
    }
    many = {"env": {"num_envs": 16}, "steps": 10_000_000}
    assert "no_episode_end" not in fired(pong, make_context(spec={"limit": 80_000}, **many))
    assert "no_episode_end" not in fired(pong, make_context(spec={"limit": None}, **many)), (
        "nobody knows how long"
    )
    assert "no_episode_end" in fired(pong, make_context(spec={"limit": 27_000}, **many))
    (late,) = [
        alert
        for alert in AlertTracker(make_context(spec={"limit": None}, steps=1_000_000), story(pong)).alerts()
        if alert.id == "no_episode_end"
    ]
    assert late.onset >= 500_000
    assert late.changes == (), "a limit that nobody asked for would cut games"
    assert "each copy has taken" in late.evidence.note


def test_episodes_that_faults_cut_say_nothing_about_ends_or_speed():
    """Four copies of an episode of 200 steps whose one worker dies every 150 steps."""
    dying = {
        "rollout/episodes": 0.0,
        "vec_steps": lambda i: 64 * (i + 1),
        "env_steps": lambda i: 256 * (i + 1),
        "rollout/faults": lambda i: 64 * (i + 1) // 150,
        "rollout/cut_episodes": lambda i: 4 * (64 * (i + 1) // 150),
        "time/env_share": 0.9,
        "time/elapsed": lambda i: 10.0 * (i + 1),
    }
    context = make_context(spec={"limit": 200}, env={"num_envs": 4}, steps=25_600)
    found = fired(dying, context)
    assert "worker_lost" in found
    assert not {"no_episode_end", "env_bound"} & found
    alive = dying | {"rollout/faults": 0.0, "rollout/cut_episodes": 0.0}
    assert {"no_episode_end", "env_bound"} <= fired(alive, context)
    rarely = dying | {"rollout/faults": 4.0, "rollout/cut_episodes": 4.0}
    assert "no_episode_end" in fired(rarely, context), "some copy has played 800 steps without an end"


LATCHED = {
    "no_episode_end": ({"rollout/episodes": jump(0.0, 1.0, at=99)}, {}),
    "no_reward": ({**reward_of(0.0), "rollout/ep_rew_max": jump(0.0, 1.0, at=99)}, {}),
    "same_return": ({**reward_of(-200.0), "rollout/ep_rew_max": jump(-200.0, -100.0, at=99)}, {}),
    "mask_closed": ({"train/entropy": jump(0.0, 1.0, at=99)}, MASKED),
}


@pytest.mark.parametrize("name", LATCHED)
def test_what_can_never_come_back_is_over_with_the_record_that_ends_it(name):
    columns, context = LATCHED[name]
    (found,) = [
        one for one in AlertTracker(make_context(**context), story(columns)).alerts() if one.id == name
    ]
    assert not found.active


def test_a_run_that_is_solved_ends_the_alerts_that_success_explains():
    rows = story({**FLAT, "train/approx_kl": 0.2})
    solved = rows[-1] | {"eval/mean_reward": 210.0, "solved": 1.0}
    tracker = AlertTracker(make_context(), rows)
    before = {one.id for one in tracker.alerts() if one.active}
    cleared = {change.alert.id for change in tracker.update(solved) if change.kind == "alert_cleared"}
    assert "return_flat" in before & cleared
    assert "kl_extreme" in before - cleared, "its number is as bad as before"


def test_returns_are_not_flat_while_no_episode_has_ended():
    """All copies play 1,000 steps and end together: between two ends there is nothing to see."""
    waiting = {"rollout/ep_rew_mean": 20.0, "rollout/episodes": lambda i: 8.0 * (i // 70)}
    waiting["rollout/ep_rew_mean"] = lambda i: 20.0 if i < 70 else 19.0
    rows = story(waiting)[:80]
    assert "return_flat" not in {one.id for one in AlertTracker(make_context(), rows).alerts()}
    assert "return_flat" in fired(waiting, make_context())


def by_task(one: Column, two: Column, **more: Column) -> dict[str, Column]:
    return {"task_return/one": one, "task_return/two": two, "rollout/ep_rew_mean": 20.0, **more}


def test_several_tasks_are_flat_only_if_none_of_them_rises():
    """A mean over tasks is ruled by the largest returns: here it stands still while a small one rises."""
    context = make_context(**TWO)
    assert "return_flat" in fired(by_task(900.0, 0.1), context)
    assert "return_flat" not in fired(by_task(900.0, lambda i: 0.01 * i), context)
    there = {"task_threshold/one": 890.0}  # it need not rise any more, and the other one does not
    assert "return_flat" in fired(by_task(lambda i: 800.0 + i, 0.1, **there), context)
    assert "return_flat" not in fired(by_task(lambda i: 700.0 + i, 0.1, **there), context)


def test_several_tasks_are_there_when_all_of_them_are():
    """One that is far beyond its threshold does not make up for another."""
    context = make_context(**TWO, spec={"tasks": ("one", "two"), "task_thresholds": (200.0, 200.0)})
    assert context.threshold == 200.0
    better = {"eval/mean_reward": 5000.0}
    assert "return_flat" in fired(by_task(9000.0, 0.1) | better | {"eval/tasks_reached": 1.0}, context)
    assert "return_flat" not in fired(by_task(9000.0, 0.1) | better | {"eval/tasks_reached": 2.0}, context)


def test_a_last_stage_that_nobody_plays_is_not_flat():
    """After a demotion other stages are played: no new return of the last one is no news of it."""
    stages = {**TWO, "curriculum": {"stages": ["one", "two"], "promote_at": 5.0}}
    assert "return_flat" in fired(FLAT, make_context(**stages))
    assert "return_flat" not in fired({**FLAT, "task_episodes/two": 7.0}, make_context(**stages))
    playing = {**FLAT, "task_episodes/two": lambda i: 7.0 * i}
    assert "return_flat" in fired(playing, make_context(**stages))


def test_the_first_policy_of_a_box_is_looked_at_too():
    centred = {"action/mean": 0.02, "action/std": 0.7}  # a standard normal, clipped
    assert "initial_policy" not in fired(centred, make_context("box"))
    assert "initial_policy" in fired(centred | {"action/mean": jump(0.6, 0.0, at=1)}, make_context("box"))
    assert "initial_policy" not in fired(centred | {"action/mean": jump(0.0, 0.9, at=1)}, make_context("box"))
    narrow = centred | {"action/std": jump(0.05, 0.7, at=1)}
    (found,) = AlertTracker(make_context("box", net={"log_std_init": -3.0}), story(narrow)).alerts()
    assert found.id == "initial_policy"
    assert [(one.path, one.new) for one in found.changes] == [("net.log_std_init", 0.0)]


def test_a_policy_that_ever_did_better_than_nothing_is_better():
    """Evaluations of 20 episodes with a spread of 5, beside episodes in which nothing is done."""

    def is_told(newest: float, best: float, largest: float, std: float, episodes: float = 20.0) -> bool:
        rows = [
            {"env_steps": 100, "eval/mean_reward": best},
            {"env_steps": 200, "eval/mean_reward": newest},
        ]
        spread = {"eval/std_reward": 5.0, "eval/episodes": 20.0, "eval/max_reward": largest}
        idle = {"blind/idle_reward": 10.0, "blind/idle_std": std, "blind/idle_episodes": episodes}
        records = [*({**row, **spread} for row in rows), {"env_steps": 200, **idle}]
        return "no_better_than_nothing" in {one.id for one in AlertTracker(make_context(), records).alerts()}

    assert is_told(newest=9.0, best=14.9, largest=30.0, std=6.0)  # 2.8 standard errors of 1.8 are 5.0
    assert not is_told(newest=9.0, best=15.1, largest=30.0, std=6.0)
    assert not is_told(newest=9.0, best=9.0, largest=30.0, std=6.0, episodes=19.0)  # too few to compare with
    assert is_told(newest=9.0, best=9.0, largest=10.0, std=0.0, episodes=5.0)  # but all alike
    assert not is_told(newest=10.1, best=10.1, largest=30.0, std=6.0)
    assert is_told(newest=9.0, best=9.0, largest=10.0, std=0.0)
    assert not is_told(newest=9.0, best=9.0, largest=11.0, std=0.0)  # doing nothing never earned that


def test_little_spread_is_no_finding_while_the_return_rises():
    context = make_context("box")
    assert "log_std_low" not in fired({"policy/log_std_mean": -4.0}, context)


def test_episodes_that_are_cut_short_are_no_success_however_good_their_return():
    """Where each step costs, an episode that a counter ends after 8 steps is better than any solution."""
    cut = {**reward_of(250.0), "rollout/ep_len_mean": 8.0, "rollout/ep_len_std": 0.0}
    assert {"same_return", "equal_lengths"} <= fired(cut | {"eval/mean_reward": 20.0}, make_context())
    assert not {"same_return", "equal_lengths"} & fired(cut | {"eval/mean_reward": 200.0}, make_context())


def test_an_evaluation_in_which_no_episode_ended_is_not_a_broken_number():
    capped = {"eval/mean_reward": NAN, "eval/episodes": 0.0}
    assert not {"nonfinite", "out_of_bounds"} & fired(capped, make_context())
    assert "nonfinite" in fired(capped | {"eval/episodes": 10.0}, make_context())


def test_rectifiers_that_pictures_never_opened_are_not_dead():
    """Shares as measured while Pong was learned, and a network of which nearly all the rest dies."""
    learning = {"train/dormant_share": lambda i: 0.68 + 0.11 * min(1.0, i / 20) - 0.005 * max(0, i - 40)}
    dying = {"train/dormant_share": lambda i: 0.68 if i < 30 else 0.97}
    pictures = make_context(spec={"obs": "image"})
    assert not {"dormant", "dead_network"} & fired(learning, pictures)
    assert {"dormant", "dead_network"} <= fired(dying, pictures)
    assert {"dormant", "dead_network"} <= fired(learning, make_context())


def test_units_that_slept_from_the_start_were_not_put_to_sleep():
    """Shares as measured while PQN solved MountainCar, whose observations are two numbers."""
    learning = {"train/dormant_share": lambda i: 0.35 + 0.09 * i / 100}
    assert "dormant" not in fired(learning, make_context())
    assert "dormant" in fired({"train/dormant_share": jump(0.35, 0.52)}, make_context())
    assert "dormant" in fired({"train/dormant_share": 0.56}, make_context())  # the first update killed them


def test_a_limit_that_no_gradient_can_meet_is_what_is_to_change():
    def remedy(norm: float, limit: float) -> list[str]:
        columns = {"train/grad_norm": norm, "hyper/max_grad_norm": limit, **FLAT}
        found = AlertTracker(make_context(algo={"max_grad_norm": limit}), story(columns)).alerts()
        return [change.path for alert in found if alert.id == "grad_clipped" for change in alert.changes]

    assert remedy(0.7, 1e-8) == ["algo.max_grad_norm"]
    assert remedy(70.0, 0.5) == ["algo.normalize_rewards", "algo.vf_coef"]


def test_silence_counts_also_where_episodes_are_long():
    few = {**reward_of(0.0), "rollout/episodes": lambda i: 0.4 * i}
    assert "no_reward" in fired(few, make_context())
    assert "no_reward" not in fired({**few, "rollout/episodes": lambda i: 0.1 * i}, make_context())


def test_silence_is_that_of_the_reward_the_agent_sees():
    assert "no_reward" in fired({"rollout/ep_shaped_rew_mean": 0.0}, make_context(**SHAPED))
    seen = {**reward_of(0.0), "rollout/ep_shaped_rew_mean": 1.0}
    assert "no_reward" not in fired(seen, make_context(**SHAPED))


def test_enough_signals_are_covered_and_all_that_matter_most():
    signals = {rule.signal for rule in RULES} - {0}
    assert len(signals | {33}) >= 25  # 33 is the lint
    assert signals >= {1, 2, 3, 9, 24, 30}


def test_rules_ask_for_declared_metrics_only():
    assert undeclared({name for rule in RULES for name in rule.needs}) == []
    assert undeclared({name for row in story() for name in row}) == []


def test_what_looks_like_a_symptom_is_none_once_the_threshold_is_reached():
    decided = {"train/entropy": 0.001, "rollout/ep_rew_mean": 250.0, "train/approx_kl": 0.0}
    assert fired(decided, make_context()) <= {"initial_policy"}


@pytest.mark.parametrize(
    ("name", "path", "new"),
    [
        ("kl_high", "algo.learning_rate", 9e-5),
        ("policy_frozen", "algo.learning_rate", 9e-3),
        ("entropy_collapse", "algo.ent_coef", 0.01),
        ("obs_huge", "net.normalize_obs", "running"),
        ("value_scale", "algo.normalize_rewards", True),
    ],
)
def test_remedies_are_changes_of_the_settings_in_force(name, path, new):
    context = make_context(**CASES[name].context)
    tracker = AlertTracker(context, story(CASES[name].fires))
    changes = {one.path: one for alert in tracker.alerts() if alert.id == name for one in alert.changes}
    assert changes[path].new == new
    assert changes[path].old != new


def test_every_remedy_gives_settings_that_are_valid():
    from gymsolve.recipes import apply_overrides

    for name, case in CASES.items():
        context = make_context(**case.context)
        assert context.config is not None
        for alert in AlertTracker(context, story(case.fires)).alerts():
            if alert.id == name:
                apply_overrides(context.config, {one.path: one.new for one in alert.changes})


def test_a_schedule_is_scaled_as_a_whole():
    context = make_context(algo={"learning_rate": "1e-3 -> 0"})
    alerts = AlertTracker(context, story({"train/approx_kl": 0.06})).alerts()
    change = next(one for one in alerts[0].changes if one.path == "algo.learning_rate")
    assert change.new == {"start": 3e-4, "end": 0.0}


def test_without_settings_a_remedy_is_advice():
    context = Context(config=None, budget=100_000, max_entropy=H)
    (alert,) = AlertTracker(context, story({"train/approx_kl": 0.06})).alerts()
    assert [one.advice for one in alert.changes][:2] == [
        "lower it by a factor of 3.3",
        "lower it by a factor of 2",
    ]
