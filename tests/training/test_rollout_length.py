"""`algo.num_steps: auto`: from how often an environment pays to the length of rollouts."""

from dataclasses import replace

import pytest
import training_envs

from gymsolve.envs.make import make_envs
from gymsolve.envs.random_policy import PAY_COPIES, Pay, measure_pay
from gymsolve.recipes import resolve
from gymsolve.settings.config import EnvConfig, TrainConfig
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.planning.rollout_length import choose_num_steps
from gymsolve.training.planning.tuning import Layout, layouts
from gymsolve.training.session import resume_run, start_run

assert training_envs.Every
EVERY = "training_envs:Every-v0:ppo"


def measured(config):
    envs = make_envs(config.model_copy(update={"backend": "sync"}), "train", num_envs=PAY_COPIES)
    try:
        return measure_pay(envs)
    finally:
        envs.close()


def pay_of(**kwargs):
    return measured(EnvConfig(id="training_envs:Every-v0", kwargs=kwargs))


def make_config(algo="ppo", num_envs=8, steps=1_000_000, **more):
    return TrainConfig.model_validate(
        {"env": {"id": "X", "num_envs": num_envs}, "algo": {"name": algo, **more}, "steps": steps}
    )


def make_pay(**more):
    usual = {"env_steps": 8000, "usual": 0.0, "other": 0, "episodes": 0, "terminated": 0}
    return Pay(**(usual | {"mean_length": None, "limit": None} | more))


# ------------------------------------------------------------------------------ measuring


@pytest.mark.parametrize("k", [2, 16, 128, 1024])
def test_steps_between_rewards_are_counted(k):
    assert pay_of(k=k, length=4096).between == k


def test_a_reward_for_every_step_tells_nothing_but_its_end_does():
    found = pay_of(k=10**9, length=64, usual=-1.0)
    assert (found.usual, found.other, found.mean_length) == (-1.0, 0, 64.0)
    assert found.between == 64.0


def test_the_end_tells_nothing_where_nothing_is_paid():
    found = pay_of(k=10**9, length=64)
    assert found.between is None
    assert found.longest == 64.0


def test_a_time_limit_is_no_news():
    found = measured(EnvConfig(id="MountainCar-v0"))
    assert found.between is None
    assert found.longest == 200.0


def test_the_same_answer_twice():
    assert measured(EnvConfig(id="CartPole-v1")) == measured(EnvConfig(id="CartPole-v1"))


def test_slow_environments_get_as_many_steps_as_quick_ones():
    quick, slow = (pay_of(k=16, length=64, sleep=sleep) for sleep in (0.0, 2e-4))
    assert slow == quick


def test_an_environment_that_is_too_slow_is_looked_at_for_a_while_and_that_is_told(monkeypatch):
    monkeypatch.setattr("gymsolve.envs.random_policy._MOST_SECONDS", 0.0)
    heard = []
    plan = plan_run("training_envs:Every-v0", (), lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2000)]
    assert any("its steps are slow" in reason and "only 4 random steps" in reason for reason in plan.reasons)
    pay = pay_of()
    assert (pay.cut, pay.env_steps) == (True, PAY_COPIES)
    assert "too slow for a longer look" in choose_num_steps(make_config(), pay).reason


# ------------------------------------------------------------------------------- choosing


@pytest.mark.parametrize(
    ("pay", "chosen"),
    [
        (make_pay(other=8000), 128),
        (make_pay(other=125), 128),
        (make_pay(other=80), 256),
        (make_pay(other=62), 512),
        (make_pay(other=8), 2048),
        (make_pay(other=1), 2048),
        (make_pay(other=8, mean_length=100.0), 256),
        (make_pay(other=8, mean_length=20.0), 128),
        (make_pay(mean_length=200.0), 256),
        (make_pay(limit=1000), 1024),
        (make_pay(), 2048),
        (make_pay(usual=-1.0, terminated=80), 256),
    ],
)
def test_a_rollout_holds_two_rewards_or_whole_episodes(pay, chosen):
    assert choose_num_steps(make_config(), pay).num_steps == chosen


def test_what_is_longer_already_stays():
    found = choose_num_steps(make_config(num_steps=300), make_pay(other=80))
    assert found.num_steps == 300
    assert "stays 300, which is long enough" in found.reason
    assert "every 100 steps" in found.reason


def test_a_small_budget_limits_it_and_says_so():
    found = choose_num_steps(make_config(steps=50_000), make_pay(other=8))
    assert found.num_steps == 256
    assert found.reason.startswith("algo.num_steps 256 instead of 128: under random actions a reward")
    assert "a budget of 50,000 steps should give 20 updates" in found.reason


def test_reinforce_gets_whole_episodes():
    pay = make_pay(other=8000, mean_length=700.0)
    assert choose_num_steps(make_config("reinforce"), pay).num_steps == 2048
    assert choose_num_steps(make_config("a2c"), pay).num_steps == 5


def test_speed_is_not_bought_with_rollouts_that_see_nothing():
    config = make_config(num_steps=256)
    assert min(shape.num_steps for shape in layouts(config)) < 256
    assert min(shape.num_steps for shape in layouts(config, 256)) == 256
    assert Layout(8, 256) in layouts(config, 256)


# ----------------------------------------------------------------------------------- auto


def test_auto_is_measured_told_and_kept(tmp_path):
    settings = {"algo.num_steps": "auto", "env.kwargs": {"k": 256}, "env.num_envs": 4, "steps": 41_000}
    plan = plan_run(EVERY, settings | {"eval.episodes": 1, "env.max_episode_steps": 512})
    assert plan.config.algo.num_steps == 512
    assert plan.resolved.provenance["algo.num_steps"] == "auto: measured, steps between rewards"
    assert plan.resolved.automatic == ()
    (reason,) = plan.measured
    assert reason.startswith("algo.num_steps 512 instead of 128: ")
    assert "a reward that tells something comes every 256 steps" in reason

    brief = replace(plan.resolved, config=plan.config.model_copy(update={"steps": 2048}))
    outcome = start_run(replace(plan, resolved=brief), runs_dir=tmp_path)
    assert outcome.run.config_json()["config"]["algo"]["num_steps"] == 512
    notes = [event["text"] for event in outcome.run.read_events().rows if event["kind"] == "note"]
    assert f"auto: {reason}" in notes
    again = resume_run(outcome.run.id, overrides={"steps": 4096}, runs_dir=tmp_path)
    assert again.run.config_json()["config"]["algo"]["num_steps"] == 512


def test_dense_rewards_keep_the_recipes_number():
    plan = plan_run("Pendulum-v1", {"algo.num_steps": "auto"})
    recipe = resolve("Pendulum-v1").config
    assert plan.config.algo.num_steps == recipe.algo.num_steps
    assert "long enough" in plan.measured[0]


def test_a_recipe_may_say_so_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "Mine-v0.yaml").write_text(
        "env: {id: Mine-v0}\nalgos: {ppo: {num_steps: auto}}\nvariants: {ppo: {}}\n"
    )
    shown = resolve("Mine-v0")
    assert shown.automatic == ("algo.num_steps",)
    assert shown.config.algo.num_steps == 128
