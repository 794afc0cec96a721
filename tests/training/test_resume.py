"""A resumed run is the run that was never interrupted: same weights, same metrics, bit for bit."""

import signal

import numpy as np
import pytest
from killing import KillAt, in_child

import gymsolve
from gymsolve.errors import CheckpointError, UsageError
from gymsolve.kernels import find_kernels
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import load_checkpoint

SMALL = {"env.num_envs": 4, "algo.num_steps": 64, "algo.num_minibatches": 2, "algo.num_epochs": 2}
SHORT = {"steps": 1500, "checkpoint.every": 300, "eval.every": 500}
CASES = {
    "ppo": ("CartPole-v1:ppo", {"net.normalize_obs": "running", "algo.learning_rate": "1e-3 -> 0"}),
    "a2c": ("CartPole-v1:a2c", {"algo.num_steps": 16, "net.normalize_values": "popart"}),
    "reinforce": ("CartPole-v1:reinforce", {"algo.num_steps": 64, "algo.baseline": "mean"}),
    "reinforce-value": ("CartPole-v1:reinforce", {"algo.num_steps": 64}),
    "torch-ppo": ("CartPole-v1:ppo", SHORT | {"engine": "torch", "net.normalize_obs": "running"}),
    "torch-a2c": ("CartPole-v1:a2c", {"engine": "torch", "algo.num_steps": 16}),
    "torch-reinforce": ("CartPole-v1:reinforce", {"engine": "torch", "algo.num_steps": 64}),
    "pqn": ("CartPole-v1:pqn", {"net.normalize_obs": "running"}),
    # Checkpoints before the buffer is full, and after its oldest steps were overwritten.
    "dqn": (
        "CartPole-v1:dqn",
        SHORT | {"net.normalize_obs": "running", "algo.buffer_size": 700, "algo.learning_starts": 100},
    ),
    "dqn-soft": (
        "CartPole-v1:dqn",
        SHORT
        | {
            "env.backend": "async",
            "env.num_envs": 2,
            "eval.num_envs": 1,
            "net.duelling": True,
            "algo.tau": 0.01,
            "algo.target_every": 1,
            "algo.gradient_steps": 0.3,
            "algo.learning_starts": 100,
        },
    ),
    "dqn-masked": (
        "CartPole-v1:dqn",
        SHORT | {"env.legal_actions": [0, 1], "algo.buffer_size": 400, "algo.learning_starts": 100},
    ),
    "dqn-images": (
        "training_envs:Dot-v0:dqn",
        SHORT
        | {
            "env.num_envs": 4,
            "env.frame_stack": 2,
            "net.cnn": "small",
            "net.hidden": [16],
            "algo.buffer_size": 600,
            "algo.batch_size": 16,
            "algo.learning_starts": 100,
        },
    ),
    "sync": ("CartPole-v1:ppo", {"env.backend": "sync", "algo.normalize_rewards": True}),
    "async": ("CartPole-v1:ppo", {"env.backend": "async", "env.num_envs": 2, "eval.num_envs": 1} | SHORT),
    "box2d": ("LunarLander-v3:ppo", SMALL),
    "continuous": ("Pendulum-v1:ppo", SMALL | {"net.squash": True}),
    "masked": ("Taxi-v4:ppo", SMALL | SHORT),
    "archive": (
        "CartPole-v1:ppo",
        SMALL | SHORT | {"explore": "go_explore", "explore.archive.leave_after": 20, "engine": "torch"},
    ),
    "archive-tasks": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {"pole": {}, "acro": {"id": "Acrobot-v1", "max_episode_steps": 60}},
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
            "algo.normalize_rewards": True,
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
        },
    ),
    "archive-curriculum": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {"short": {"max_episode_steps": 15}, "long": {}},
            "curriculum": {"stages": ["short", "long"], "promote_at": 12.0, "episodes": 10},
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
            "explore.archive.learn_from": "rapid",
        },
    ),
    "archive-memory": (
        "CartPole-v1:positions",
        SHORT
        | {
            "env.num_envs": 4,
            "algo.num_epochs": 2,
            "algo.num_minibatches": 2,
            "net.memory.size": 8,
            "net.memory.inputs": ["action", "reward"],
            "explore": "go_explore",
            "explore.archive.leave_after": 20,
        },
    ),
    "mujoco": ("Hopper-v5:ppo", SMALL | SHORT),
    "atari_objects": (
        "ALE/Breakout-v5:objects",
        {
            "env.num_envs": 2,
            "env.max_episode_steps": 40,
            "algo.num_steps": 16,
            "algo.num_epochs": 1,
            "net.hidden": [16],
            "steps": 384,
            "checkpoint.every": 96,
            "eval.every": 192,
            "eval.episodes": 2,
        },
    ),
    "atari": (
        "ALE/Breakout-v5:ppo",
        {
            "env.num_envs": 2,
            "env.wrappers": [{"atari": {"size": 42}}, {"clip_reward": {"sign": True}}],
            "env.max_episode_steps": 200,
            "algo.num_steps": 16,
            "algo.num_epochs": 1,
            "net.cnn": "small",
            "net.hidden": [16],
            "steps": 384,
            "checkpoint.every": 96,
            "eval.every": 192,
            "eval.episodes": 2,
        },
    ),
    "images": (
        "training_envs:Dot-v0:ppo",
        SMALL | {"env.frame_stack": 2, "net.cnn": "small", "net.hidden": [16], "algo.num_steps": 32} | SHORT,
    ),
    "memory": (
        "CartPole-v1:positions",
        SHORT
        | {
            "env.num_envs": 4,
            "algo.num_epochs": 2,
            "algo.num_minibatches": 2,
            "net.memory.size": 8,
            "net.memory.sequence": 8,
            "net.memory.inputs": ["action", "reward"],
        },
    ),
    "memory-a2c": (
        "CartPole-v1:a2c",
        SHORT | {"env.num_envs": 4, "net.memory.cell": "gru", "net.memory.size": 8, "net.shared": True},
    ),
    "components": (
        "training_envs:Parts-v0:ppo",
        SMALL
        | SHORT
        | {
            "env.wrappers": [
                {"frame_skip": {"skip": [1, 2]}},
                {"reward_components": {"components": {"effort": -0.5, "luck": {"key": "fortune"}}}},
            ]
        },
    ),
    "curious": (
        "CartPole-v1:ppo",
        SMALL | SHORT | {"explore": "noveld", "explore.hidden": [16], "explore.repeat": 0.5},
    ),
    "curriculum": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {"short": {"max_episode_steps": 15}, "long": {}},
            "curriculum": {"stages": ["short", "long"], "promote_at": 12.0, "episodes": 20},
            "algo.normalize_rewards": True,
        },
    ),
    "tasks": (
        "CartPole-v1:ppo",
        SMALL
        | SHORT
        | {
            "env.tasks": {
                "pole": {},
                "acro": {"id": "Acrobot-v1", "backend": "sync", "max_episode_steps": 60},
                "car": {"id": "MountainCar-v0", "backend": "async", "max_episode_steps": 60},
            },
            "env.workers": 1,
            "eval.num_envs": 1,
            "algo.normalize_rewards": True,
            "algo.normalize_advantages": "task",
            "net.normalize_values": "popart",
            "net.tasks.heads": "each",
        },
    ),
    "wrapped": (
        "CartPole-v1:ppo",
        SHORT
        | {
            "env.wrappers": [{"frame_skip": {"skip": [1, 3]}}, {"sticky_actions": {"probability": 0.2}}],
            "env.frame_stack": 3,
            "net.dropout": 0.1,
        },
    ),
}
BUDGET = {
    "steps": 4000,
    "checkpoint.every": 900,
    "eval.every": 1300,
    "eval.episodes": 4,
    "solved_at": 1e9,
    # Filming takes Taxi minutes on a busy machine, up to the limit of a test, and is not what is compared.
    "video.enabled": False,
}


def metrics(run):
    """The stream of metrics, times aside."""
    rows, problems = run.read_metrics()
    assert not problems
    timed = ("time/", "eval/seconds")
    return [{k: v for k, v in row.items() if not k.startswith(timed)} for row in rows]


def assert_same(one, other):
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_equal(left[name], right[name], err_msg=f"{name} at {left['env_steps']}")


def assert_same_weights(one, other):
    mine, theirs = (load_checkpoint(run, "last") for run in (one, other))
    assert mine.meta["env_steps"] == theirs.meta["env_steps"]
    for kind in ("policy", "trainer"):
        left, right = getattr(mine, kind), getattr(theirs, kind)
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    for file in ("policy.safetensors", "trainer.safetensors"):  # equal contents are equal files
        assert (mine.path / file).read_bytes() == (theirs.path / file).read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_killed_and_resumed_equals_uninterrupted(case, tmp_path):
    name, overrides = CASES[case]
    settings = {**BUDGET, **overrides}
    straight = gymsolve.train(name, settings, runs_dir=tmp_path / "straight").run

    def die():
        gymsolve.train(name, settings, runs_dir=tmp_path / "killed", observer=KillAt(records=8))

    assert in_child(die) == signal.SIGKILL
    killed = gymsolve.open_run("@last", runs_dir=tmp_path / "killed")
    assert killed.status == "crashed"
    assert 0 < len(metrics(killed)) < len(metrics(straight))
    gymsolve.resume(killed)

    assert_same_weights(straight, killed)
    assert_same(metrics(straight), metrics(killed))
    notes = [e["text"] for e in killed.read_events().rows if e["kind"] == "note"]
    assert not [note for note in notes if "start anew" in note]


def test_killed_before_the_first_checkpoint_starts_again_from_the_seed(tmp_path):
    straight = gymsolve.train("CartPole-v1", BUDGET, runs_dir=tmp_path / "straight").run

    def die():
        gymsolve.train("CartPole-v1", BUDGET, runs_dir=tmp_path / "killed", observer=KillAt(steps=5))

    assert in_child(die) == signal.SIGKILL
    killed = gymsolve.open_run("@last", runs_dir=tmp_path / "killed")
    gymsolve.resume(killed)
    assert_same(metrics(straight), metrics(killed))


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
