"""Choosing the fastest settings: the arithmetic with known costs, and `auto` with real ones."""

import pytest

from gymsolve.errors import ConfigError, EnvFaultError
from gymsolve.recipes import resolve
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.planning.tuning import Compute, Costs, Layout, choose, layouts, predict
from gymsolve.training.planning.tuning_costs import tune
from gymsolve.training.session import resume_run, start_run

ONE, TWO = Compute("numpy", "cpu", 1), Compute("numpy", "cpu", 2)
OWN = Layout(8, 64)
SHAPES = [OWN, Layout(16, 32)]


def costs(**changes: dict[object, float]) -> Costs:
    """8 environments cost 80 µs a step and 16 cost 96 µs; acting 40 µs; an update 51.2 ms or twice that."""
    found = Costs(
        env={("sync", 8): 80e-6, ("sync", 16): 96e-6},
        acting={(ONE, 8): 40e-6, (ONE, 16): 40e-6, (TWO, 8): 40e-6, (TWO, 16): 40e-6},
        update={ONE: 51.2e-3, TWO: 102.4e-3},
    )
    for name, more in changes.items():
        getattr(found, name).update(more)
    return found


def test_time_per_step_is_the_sum_of_its_parts():
    best, *_, worst = predict(costs(), SHAPES)
    assert (best.layout, best.backend, best.compute) == (Layout(16, 32), "sync", ONE)
    assert (best.env_us, best.acting_us, best.update_us) == pytest.approx((6.0, 2.5, 100.0))
    assert best.steps_per_second == pytest.approx(1e6 / 108.5)
    assert (worst.layout, worst.compute) == (OWN, TWO)
    assert worst.steps_per_second == pytest.approx(1e6 / (10 + 5 + 200))


def test_the_fastest_is_chosen_with_the_settings_that_change_and_why():
    choice = choose(costs(env={("sync", 16): 32e-6}, update={ONE: 5.12e-3}), SHAPES, (OWN, "sync", TWO))
    assert choice.changes == {"env.num_envs": 16, "algo.num_steps": 32, "threads": 1}
    assert choice.gain == pytest.approx((10 + 5 + 200) / (2 + 2.5 + 10))
    told = " ".join(choice.reasons)
    assert "16 environments instead of 8" in told
    assert "a rollout keeps its 512 steps" in told
    assert "2 threads would be 16.2 times slower than 1" in told
    same = choose(costs(update={TWO: 51.3e-3}), SHAPES, (OWN, "sync", ONE))
    assert "2 threads would be as fast as 1 for this network." in same.reasons


def test_what_is_hardly_faster_is_not_changed():
    choice = choose(costs(), SHAPES, (OWN, "sync", ONE))  # 108.5 against 115 µs: six in a hundred
    assert choice.changes == {"env.num_envs": 16, "algo.num_steps": 32}
    close = choose(costs(env={("sync", 16): 130e-6}), SHAPES, (OWN, "sync", ONE))
    assert close.candidates[0].layout == Layout(16, 32)
    assert close.changes == {}
    assert close.best == close.current


def test_a_change_that_brings_nothing_is_taken_back_though_another_is_made():
    compiled = {("compiled", 8): 8e-6, ("compiled", 16): 8e-6}
    choice = choose(costs(env=compiled, update={ONE: 5.12e-3}), SHAPES, (OWN, "sync", ONE))
    assert choice.changes["env.backend"] == "compiled"
    same = choose(costs(env={("compiled", 8): 80e-6, ("compiled", 16): 95e-6}), SHAPES, (OWN, "sync", ONE))
    assert "env.backend" not in same.changes


def test_another_implementation_of_the_environment_is_measured_but_not_chosen():
    found = costs(env={("envpool", 8): 1e-6, ("envpool", 16): 1e-6}, update={ONE: 1e-3})
    choice = choose(found, SHAPES, (OWN, "sync", ONE))
    assert choice.candidates[0].backend == "envpool"
    assert choice.best.backend == "sync"
    assert any("another implementation" in reason for reason in choice.reasons)
    assert choose(found, SHAPES, (OWN, "envpool", ONE)).best.backend == "envpool"


def test_the_same_costs_give_the_same_choice():
    first, second = (choose(costs(), SHAPES, (OWN, "sync", ONE)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"env.num_envs": 8, "algo.num_steps": 128}, [(8, 128), (16, 64), (32, 32), (64, 16)]),
        ({"env.num_envs": 32, "algo.num_steps": 64}, [(8, 256), (16, 128), (32, 64), (64, 32), (128, 16)]),
        ({"env.num_envs": 2, "algo.num_steps": 16}, [(2, 16)]),
        ({"env.num_envs": 12, "algo.num_steps": 20}, [(12, 20)]),
        ({"env.num_envs": 12, "algo.num_steps": 40}, [(12, 40), (24, 20)]),
    ],
)
def test_rollouts_keep_their_size(overrides, expected):
    assert layouts(resolve("CartPole-v1:ppo", overrides).config) == [Layout(*pair) for pair in expected]


def test_short_rollouts_do_not_become_shorter_and_episodes_stay_whole():
    assert layouts(resolve("CartPole-v1:a2c", {"algo.num_steps": 5}).config)[-1].num_steps == 5
    assert layouts(resolve("CartPole-v1:reinforce").config) == [Layout(8, 1024)]


def test_measuring_covers_every_part():
    config = plan_run("Bandit-v0", {"env.num_envs": 8, "algo.num_steps": 32}).config
    choice = tune(config, 0.2, wide=False)
    assert {one.layout for one in choice.candidates} == {Layout(8, 32), Layout(16, 16)}
    assert {one.compute.threads for one in choice.candidates} >= {1}
    assert choice.current.layout == Layout(8, 32)
    for one in choice.candidates:
        assert min(one.env_us, one.acting_us, one.update_us) > 0


def test_waiting_for_a_worker_that_is_lost_is_not_how_long_a_step_takes(monkeypatch):
    monkeypatch.setattr("gymsolve.envs.processes.can_fork", lambda: True)
    dying = {"env.backend": "async", "env.workers": 1, "env.wrappers": [{"training_envs:Dies": {"at": 2}}]}
    config = plan_run("training_envs:Falls-v0:ppo", dying).config
    with pytest.raises(EnvFaultError, match=r"was killed \(SIGKILL\), so its speed cannot be told"):
        tune(config, 10.0, compute=False)


# -------------------------------------------------------------------------------------- auto


AUTO = {"env.num_envs": "auto", "threads": "auto"}


def test_auto_becomes_numbers_before_a_run_exists(tmp_path):
    plan = plan_run("Bandit-v0", {**AUTO, "steps": 512})
    recipe = resolve("Bandit-v0").config
    chosen = plan.config
    assert chosen.env.num_envs * chosen.algo.num_steps == recipe.env.num_envs * recipe.algo.num_steps
    assert chosen.threads >= 1
    for path in AUTO:
        assert plan.resolved.provenance[path].startswith("auto: measured")
    assert plan.resolved.automatic == ()
    assert list(tmp_path.iterdir()) == []

    outcome = start_run(plan, runs_dir=tmp_path)
    stored = outcome.run.config_json()
    assert stored["config"]["env"]["num_envs"] == chosen.env.num_envs
    assert stored["config"]["threads"] == chosen.threads
    assert stored["provenance"]["threads"].startswith("auto: measured")
    notes = [event["text"] for event in outcome.run.read_events().rows if event["kind"] == "note"]
    assert any(note.startswith("auto: ") for note in notes)

    with pytest.raises(ConfigError, match=r"env.num_envs: is measured when a run starts"):
        resume_run(outcome.run.id, overrides={"env.num_envs": "auto"}, runs_dir=tmp_path)
    again = resume_run(outcome.run.id, overrides={"steps": 1024}, runs_dir=tmp_path)
    assert again.run.config_json()["config"]["env"]["num_envs"] == chosen.env.num_envs


def test_only_what_is_auto_is_measured():
    plan = plan_run("Bandit-v0", {"threads": "auto"})
    assert plan.config.env == resolve("Bandit-v0").config.env
    assert plan.resolved.provenance["algo.num_steps"] != plan.resolved.provenance["threads"]


def test_until_it_is_measured_auto_is_told_as_such():
    shown = resolve("CartPole-v1", {"env.num_envs": "auto", "algo.gamma": 0.9})
    assert shown.automatic == ("env.num_envs",)
    assert shown.provenance["env.num_envs"] == "auto"
    assert shown.provenance["algo.gamma"] == "--set"
    assert shown.config.env.num_envs == resolve("CartPole-v1").config.env.num_envs


@pytest.mark.parametrize("path", ["algo.num_minibatches", "env.frame_stack", "seed"])
def test_other_settings_are_not_automatic(path):
    with pytest.raises(ConfigError, match="should be a whole number"):
        resolve("CartPole-v1", {path: "auto"})
