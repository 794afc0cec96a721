"""What may change when a run goes on, what may not, and what is said of it."""

import numpy as np
import pytest
from resuming import BUDGET

import gymsolve
from gymsolve.errors import CheckpointError, UsageError
from gymsolve.kernels import find_kernels
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import load_checkpoint


@pytest.mark.parametrize(("size", "allowed"), [(12, "2"), (48, "1"), (48, "2")])
def test_a_run_keeps_the_threads_it_was_started_with(size, allowed, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", allowed)
    few = {"env.num_envs": 2, "env.kwargs": {"size": size}, "algo.num_steps": 8, "algo.num_minibatches": 2}
    settings = BUDGET | few | {"net.cnn": "small", "net.hidden": [8], "steps": 32, "eval.episodes": 1}
    run = gymsolve.train("training_envs:Dot-v0:ppo", settings).run
    stored = run.config_json()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    gymsolve.resume(run, steps=64)
    first, second = [e["threads"] for e in run.read_events().rows if e["kind"] == "started"]
    assert first == second == (1 if size == 12 or allowed == "1" else stored["config"]["threads"])
    assert stored["provenance"]["threads"].startswith("measured: ") is (size == 48)


def test_hyperparameters_can_change_on_resume_and_the_change_is_recorded():
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 2000}).run
    outcome = gymsolve.resume(run, {"algo.ent_coef": 0.05}, steps=4000)
    assert outcome.env_steps >= 4000
    assert run.config_json()["config"]["algo"]["ent_coef"] == 0.05
    resumed = [e for e in run.read_events().rows if e["kind"] == "resumed"]
    assert resumed[-1]["changes"]["algo.ent_coef"] == [0.0, 0.05]
    rows = [row for row in run.read_metrics().rows if "hyper/ent_coef" in row]
    assert {row["hyper/ent_coef"] for row in rows if row["env_steps"] <= 2000} == {0.0}
    assert rows[-1]["hyper/ent_coef"] == 0.05


def test_a_run_at_its_budget_takes_no_further_gradient_step_on_resume():
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}).run
    before = load_checkpoint(run, "last").policy
    gymsolve.resume(run)
    after = load_checkpoint(run, "last").policy
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_fresh_optimizer_is_explicit_and_changes_the_continuation(tmp_path):
    runs = {}
    for kind in (False, True):
        run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}, runs_dir=tmp_path / str(kind)).run
        gymsolve.resume(run, steps=2000, fresh_optimizer=kind)
        runs[kind] = load_checkpoint(run, "last").policy
    assert any(not np.array_equal(runs[False][name], runs[True][name]) for name in runs[True])


def test_another_network_cannot_be_resumed_but_can_be_started_from():
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}).run
    with pytest.raises(UsageError, match="--from"):
        gymsolve.resume(run, {"net.hidden": [32]}, steps=2000)
    child = gymsolve.train("CartPole-v1", BUDGET | {"net.hidden": [64, 32]}, start_from=run.id).run
    assert child.info()["parent"]["run"] == run.id
    notes = [e["text"] for e in child.read_events().rows if e["kind"] == "note"]
    assert [note for note in notes if "not taken over" in note and "value_head.weight" in note]


def test_a_run_started_from_another_begins_at_its_performance():
    first = gymsolve.train("CartPole-v1", {"steps": 5000, "eval.every": 2500}).run
    reached = max(row["eval/mean_reward"] for row in first.read_metrics().rows if "eval/mean_reward" in row)
    second = gymsolve.train("CartPole-v1", {"steps": 500}, start_from=f"{first.id}@best").run
    start = second.read_metrics().rows[0]
    assert start["env_steps"] == 0
    assert start["eval/mean_reward"] == pytest.approx(reached, rel=0.1)


def test_a_target_network_starts_from_the_weights_of_the_other_run_too():
    settings = {"steps": 1500, "eval.every": 1000, "eval.episodes": 1, "net.normalize_obs": "running"}
    first = gymsolve.train("CartPole-v1:dqn", settings).run
    second = gymsolve.train("CartPole-v1:dqn", settings | {"steps": 32}, start_from=first.id).run
    begun = load_checkpoint(second, "0")
    learned = set(begun.policy) - {"epsilon"}  # set before every rollout
    assert {name for name in learned if "obs_mean" in name or "q_head" in name}
    for name in learned:
        np.testing.assert_array_equal(begun.trainer[f"target/{name}"], begun.policy[name], err_msg=name)


@pytest.mark.parametrize(("copies", "waits"), [(8, False), (3, True)])
def test_a_replay_buffer_of_other_copies_is_filled_before_it_is_learned_from(copies, waits):
    settings = {"steps": 1600, "eval.every": 10_000, "eval.episodes": 1, "algo.learning_starts": 600}
    run = gymsolve.train("CartPole-v1:dqn", settings).run
    gymsolve.resume(run, {"env.num_envs": copies}, steps=2600)
    notes = [e["text"] for e in run.read_events().rows if e["kind"] == "note"]
    assert any("the replay buffer starts empty" in note for note in notes) is waits
    stepped = [
        row["train/gradient_steps"]
        for row in run.read_metrics().rows
        if 1700 < row["env_steps"] <= 2150 and "train/gradient_steps" in row
    ]
    assert len(stepped) > 5
    assert any(stepped) is not waits
    assert any(row.get("train/gradient_steps") for row in run.read_metrics().rows if row["env_steps"] > 2300)


def test_a_running_run_cannot_be_resumed_by_somebody_else():
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}).run
    run.claim(command=["test"])
    with pytest.raises(UsageError, match="is being trained by"):
        gymsolve.resume(run, steps=2000)


@pytest.mark.parametrize(
    "change", [{"net.hidden": [8]}, {"algo.name": "a2c"}, {"seed": 7}, {"env.id": "Acrobot-v1"}]
)
def test_a_refused_resume_leaves_the_run_as_it_was(change):
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}).run
    before = (run.info(), run.config_json(), run.read_metrics().rows)
    with pytest.raises(UsageError):
        gymsolve.resume(run, change, steps=2000)
    assert (run.info(), run.config_json(), run.read_metrics().rows) == before


def test_another_optimizer_needs_fresh_moments():
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}).run
    with pytest.raises(CheckpointError, match="--fresh-optimizer"):
        gymsolve.resume(run, {"algo.optimizer.name": "rmsprop"}, steps=2000)
    assert run.status == "finished"
    outcome = gymsolve.resume(run, {"algo.optimizer.name": "rmsprop"}, steps=2000, fresh_optimizer=True)
    assert outcome.env_steps >= 2000


def test_resuming_from_an_older_checkpoint_abandons_what_came_after():
    settings = {"steps": 4096, "checkpoint.every": 512, "checkpoint.keep": None, "solved_at": 1e9}
    run = gymsolve.train("Bandit-v0:ppo", settings).run
    old = {name: load_checkpoint(run, name).policy for name in list_checkpoints(run)}
    first = min(old, key=int)
    outcome = gymsolve.resume(f"{run.path}@{first}", {"algo.learning_rate": 0.0})
    assert outcome.env_steps >= 4096
    # With a learning rate of 0 nothing moves: every later checkpoint holds the weights of the first.
    for name in list_checkpoints(run):
        if int(name) > int(first):
            new = load_checkpoint(run, name).policy
            assert np.array_equal(new["value_head.weight"], old[first]["value_head.weight"])
    assert load_checkpoint(run, "last").meta["env_steps"] == outcome.env_steps
    assert load_checkpoint(run, "best").name in list_checkpoints(run)
    aside = [path.name.partition("-")[0] for path in (run.path / "checkpoints" / "discarded").iterdir()]
    assert sorted(aside, key=int) == sorted((name for name in old if int(name) > int(first)), key=int)


def test_a_solved_run_stays_solved_when_something_unrelated_changes():
    outcome = gymsolve.train("Bandit-v0:ppo")
    before = load_checkpoint(outcome.run, "last").policy
    again = gymsolve.resume(outcome.run, {"checkpoint.keep": 3})
    assert again.status == "solved"
    assert again.env_steps == outcome.env_steps
    after = load_checkpoint(outcome.run, "last").policy
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_higher_bar_has_to_be_proved_again():
    outcome = gymsolve.train("Bandit-v0:ppo")
    again = gymsolve.resume(outcome.run, {"solved_at": 1e9}, steps=outcome.env_steps + 1024)
    assert again.status == "finished"
    assert not again.solved
    assert again.env_steps > outcome.env_steps


def test_episodes_that_cannot_be_captured_start_anew_and_it_is_said():
    settings = BUDGET | {"steps": 600, "env.num_envs": 2, "algo.num_steps": 32}
    outcome = gymsolve.train("training_envs:Secret-v0:ppo", settings)
    notes = [e["text"] for e in outcome.run.read_events().rows if e["kind"] == "note"]
    assert [note for note in notes if "cannot be captured" in note]
    assert load_checkpoint(outcome.run, "last").trainer_state["parts"]["collector"]["envs"] is None
    gymsolve.resume(outcome.run, steps=1200)
    notes = [e["text"] for e in outcome.run.read_events().rows if e["kind"] == "note"]
    assert [note for note in notes if "start anew" in note]


def test_envpool_says_that_a_resume_begins_new_episodes():
    settings = BUDGET | {"steps": 600, "env.num_envs": 2, "algo.num_steps": 32, "env.backend": "envpool"}
    outcome = gymsolve.train("CartPole-v1:ppo", settings)
    notes = [e["text"] for e in outcome.run.read_events().rows if e["kind"] == "note"]
    assert [note for note in notes if "cannot be captured" in note]
    assert [note for note in notes if "evaluation the stock one" in note]
    gymsolve.resume(outcome.run, steps=1200)
    notes = [e["text"] for e in outcome.run.read_events().rows if e["kind"] == "note"]
    assert [note for note in notes if "start anew" in note]


@pytest.mark.parametrize(("first", "second"), [("numpy", "torch"), ("torch", "numpy")])
def test_a_run_can_go_on_with_the_other_engine(first, second):
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000, "engine": first}).run
    before = gymsolve.evaluate(f"{run.path}@last", episodes=4).mean
    outcome = gymsolve.resume(run, {"engine": second}, steps=2000)
    assert outcome.env_steps >= 2000
    start = [row for row in run.read_metrics().rows if row["env_steps"] <= 1300 and "eval/mean_reward" in row]
    assert start
    assert before > 0


def test_a_harmless_change_on_resume_keeps_the_best_checkpoint():
    settings = {"steps": 4000, "eval.every": 1000, "eval.episodes": 5, "solved_at": 1e9, "checkpoint.keep": 1}
    run = gymsolve.train("CartPole-v1", settings).run
    before = load_checkpoint(run, "best")
    # With a learning rate of 0 nothing better can come; the old best must survive the pruning.
    changes = {"eval.every": 500, "eval.stop_when_solved": False, "algo.learning_rate": 0.0}
    gymsolve.resume(run, changes, steps=6000)
    assert (
        load_checkpoint(run, "best").meta["eval"]["eval/mean_reward"]
        >= before.meta["eval"]["eval/mean_reward"]
    )


def test_other_kernels_on_resume_are_told(monkeypatch):
    if find_kernels().obstacle is not None:
        pytest.skip("the kernels are not built")
    monkeypatch.setenv("GYMSOLVE_KERNELS", "c")
    run = gymsolve.train("CartPole-v1", BUDGET | {"steps": 1000}).run
    gymsolve.resume(run, steps=1500)
    monkeypatch.setenv("GYMSOLVE_KERNELS", "numpy")
    gymsolve.resume(run, steps=2000)
    events = run.read_events().rows
    started = [(event["engine"], event["kernels"]) for event in events if event["kind"] == "started"]
    assert started == [("numpy", "c"), ("numpy", "c"), ("torch", None)]
    told = [event["text"] for event in events if event["kind"] == "note" and "bit for bit" in event["text"]]
    (note,) = told
    assert note.startswith("computed with compiled kernels so far and with torch from here")
