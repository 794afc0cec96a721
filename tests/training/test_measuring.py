"""What a run records of its data, its network and its time."""

import math
from itertools import pairwise

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import gymsolve
from engines import either_engine, needs_kernels
from gymsolve.doctor.history import History
from gymsolve.metrics.time_accounting import spent_in_all
from gymsolve.metrics.trackers.tracker import gradient_histograms
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import load_checkpoint
from gymsolve.training.build import build_trainer
from gymsolve.training.health.measure import gradient_sizes
from gymsolve.training.health.probe import Probe, churn, dormant_share, feature_rank
from gymsolve.training.loop import collect, learn
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.records import Clock

SMALL = {
    "env.backend": "sync",
    "env.num_envs": 4,
    "algo.num_steps": 32,
    "net.hidden": [16, 8],
    "eval.episodes": 2,
}
PARTS = ("env", "act", "update", "eval", "checkpoint", "record", "diagnose")
SHARES = tuple(f"time/{part}_share" for part in PARTS)


def trained(name, settings, steps=600):
    return gymsolve.train(name, SMALL | settings, steps=steps).run.read_metrics().rows


def measured(rows):
    return [row for row in rows if "train/churn" in row]


@pytest.fixture
def trainer(request):
    trainer = build_trainer(plan_run("CartPole-v1:ppo", SMALL).config)
    yield trainer
    trainer.envs.close()


def test_an_update_is_measured_from_before_to_after(trainer):
    rollout = collect(trainer, Silent())
    weights = trainer.policy.arrays()
    assert not trainer.probe.obs
    first = {key: array.reshape(-1, *array.shape[2:]).copy() for key, array in rollout.obs.items()}
    greedy = trainer.policy.greedy(first, None)
    found = learn(trainer, rollout)
    np.testing.assert_array_equal(trainer.probe.obs["obs"], first["obs"])  # all 128: there are no more
    changes = np.concatenate([(a - weights[n]).ravel() for n, a in trainer.policy.arrays().items()])
    changes = changes.astype(np.float64)
    assert found["train/step_rms"] == pytest.approx(math.sqrt(np.mean(changes**2)), rel=1e-5)
    assert found["train/step_max"] == pytest.approx(np.abs(changes).max())
    assert found["train/churn"] == churn(greedy, trainer.policy.greedy(first, None), box=False)
    hidden = trainer.policy.hidden(first)
    assert found["train/dormant_share"] == dormant_share(hidden)
    assert found["train/feature_rank"] == feature_rank(hidden["actor.3"])
    assert found["obs/abs_max"] == np.abs(first["obs"]).max()
    assert found["obs/std"] == pytest.approx(first["obs"].std(dtype=np.float64))
    assert found["policy/entropy_relative"] == pytest.approx(found["train/entropy"] / math.log(2))
    for loss, weight in (("value_loss", "vf_coef"), ("entropy", "ent_coef")):
        assert found[f"train/scaled_{loss}"] == found[f"train/{loss}"] * found[f"hyper/{weight}"]


def test_numbers_are_seen_as_the_normaliser_scaled_them_for_collecting():
    config = plan_run("CartPole-v1:ppo", SMALL | {"net.normalize_obs": "running"}).config
    trainer = build_trainer(config)
    learn(trainer, collect(trainer, Silent()))
    trainer.counters.next_measure = 0
    rollout = collect(trainer, Silent())
    flat = {key: array.reshape(-1, *array.shape[2:]) for key, array in rollout.obs.items()}
    seen = trainer.policy.seen(flat)["obs"]
    found = learn(trainer, rollout)
    trainer.envs.close()
    assert found["obs/abs_max"] == np.abs(seen).max()
    assert found["obs/mean"] == pytest.approx(seen.mean(dtype=np.float64), abs=1e-6)
    assert not np.array_equal(seen, trainer.policy.seen(flat)["obs"])  # the update moved the statistics


def test_costly_measures_wait_for_a_record_that_is_written(trainer):
    trainer.counters.next_measure = 10**6
    found = learn(trainer, collect(trainer, Silent()))
    assert "train/churn" not in found
    assert "train/scaled_entropy" in found
    trainer.counters.next_measure = 0
    trainer.counters.next_record = 10**6
    assert "train/churn" not in learn(trainer, collect(trainer, Silent()))


def test_records_and_measures_are_dense_at_first():
    settings = {"env.num_envs": 1, "algo.num_steps": 4, "eval.stop_when_solved": False}
    rows = trained("Bandit-v0", settings, steps=4000)
    updates = [row["env_steps"] for row in rows if "time/fps" in row]
    assert updates[:32] == list(range(4, 132, 4))  # every update at first
    gaps = [(now, after - now) for now, after in pairwise(updates)]
    assert all(gap <= now // 32 + 4 for now, gap in gaps)  # then by 1/32 of the way
    assert max(gap for _, gap in gaps) == 16 * 4  # and 16 updates at most
    assert len(updates) == 147  # the last one at the end
    # At the first update, then at the first record at or after every multiple of a hundredth of the budget,
    # and after its first fifth of 1/32.
    due = (1, *range(40, 801, 40), *range(875, 4000, 125))
    assert [row["env_steps"] for row in measured(rows)] == [
        next(at for at in updates if at >= step) for step in due
    ]
    assert len(measured(rows)) == 46


def test_measuring_does_not_change_what_is_learned(trainer):
    other = build_trainer(trainer.config)
    other.counters.next_measure = 10**6
    for one in (trainer, other):
        for _ in range(3):
            learn(one, collect(one, Silent()))
    other.envs.close()
    for name, array in trainer.policy.arrays().items():
        np.testing.assert_array_equal(array, other.policy.arrays()[name], err_msg=name)


ALIKE = ["CartPole-v1:a2c", "CartPole-v1:reinforce", "Pendulum-v1:ppo", "Taxi-v4:ppo"]


@needs_kernels
@pytest.mark.parametrize("name", ALIKE)
def test_both_engines_record_the_same(name):
    settings = {"algo.learning_rate": 1e-4, "env.num_envs": 8}
    rows = [measured(trained(name, settings | {"engine": engine}))[0] for engine in ("numpy", "torch")]
    assert rows[0].keys() == rows[1].keys()
    for metric, value in rows[0].items():
        if not metric.startswith("time/"):
            assert rows[1][metric] == pytest.approx(value, rel=2e-3, abs=1e-5), metric


def test_time_is_split_into_shares_of_the_whole():
    rows = trained("CartPole-v1", {"eval.every": 200, "checkpoint.every": 200})
    for row in (row for row in rows if "time/env_share" in row):
        assert all(0.0 <= row[name] <= 1.0 for name in SHARES)
        assert sum(row[name] for name in SHARES) <= 1.0
        assert row["time/updates_per_second"] > 0.0
        assert row["time/memory"] > 1.0
    for name in SHARES:
        assert any(row.get(name, 0.0) > 0.0 for row in rows), name


def test_a_clock_counts_parts_and_starts_again():
    seconds = iter((0.0, 0.0, 4.0, 8.0, 8.0, 10.0, 10.0))  # start, an update from 0 to 4, two looks at it
    clock = Clock(lambda: next(seconds))
    clock.add("env", 1.0)
    with clock.timing("update"):
        pass
    clock.updates = 2
    found = clock.take()
    assert [found[f"time/{part}_share"] for part in ("env", "update", "eval")] == [0.125, 0.5, 0.0]
    assert found["time/updates_per_second"] == 0.25
    assert clock.take()["time/update_share"] == 0.0


def test_a_clock_tells_how_long_a_checkpoint_took():
    moments = iter((0.0, 1.0, 4.0, 5.0, 7.0, 8.0, 8.0, 9.0, 9.0))  # two checkpoints: 1 to 4 and 5 to 7
    clock = Clock(lambda: next(moments))
    for _ in range(2):
        with clock.timing("checkpoint"):
            pass
    assert clock.take()["time/checkpoint_seconds"] == 3.0
    assert "time/checkpoint_seconds" not in clock.take()


def test_the_record_after_a_checkpoint_tells_how_long_it_took(tmp_path):
    rare = {"env.num_envs": 2, "algo.num_steps": 16, "checkpoint.every": 128, "checkpoint.keep": None}
    quiet = {"eval.every": 512, "eval.episodes": 1, "solved_at": 1e9, "video.enabled": False}
    run = gymsolve.train("CartPole-v1", rare | quiet, steps=512, runs_dir=tmp_path).run
    rows = [row for row in run.read_metrics().rows if "time/env_share" in row]
    told = [row["env_steps"] for row in rows if row.get("time/checkpoint_seconds", 0.0) > 0.0]
    saved = [int(name) for name in list_checkpoints(run)]
    following = [
        next((row["env_steps"] for row in rows if row["env_steps"] > steps), None) for steps in saved
    ]
    assert len(saved) == 4
    assert told == [steps for steps in following if steps is not None]
    assert len(told) < len(rows)
    (spent,) = (event for event in run.read_events().rows if event["kind"] == "spent")
    assert spent["seconds"]["checkpoint"] > 0.0  # of the last one, which no record follows


def test_a_clock_names_what_no_record_tells():
    moments = iter((0.0, 1.0, 4.0, 10.0, 10.0, 20.0, 20.0, 21.0, 26.0, 30.0))
    clock = Clock(lambda: next(moments))  # made at 0
    with clock.timing("track"):  # 1 to 4
        pass
    clock.add("eval", 2.0)
    clock.begin()  # at 10
    clock.add("env", 8.0)
    assert clock.take()["time/env_share"] == 0.8  # at 20
    with clock.timing("video"):  # 21 to 26
        pass
    clock.add("checkpoint", 1.0)
    clock.add("eval", 1.0)
    assert clock.unrecorded() == {  # at 30; evaluations tell their seconds themselves
        "track": 3.0,
        "start": 5.0,
        "video": 5.0,
        "checkpoint": 1.0,
        "other": 3.0,
    }


def test_the_account_of_a_run_holds_all_of_it_also_after_a_resume(tmp_path):
    settings = SMALL | {"track": ["csv"], "eval.every": 200, "eval.episodes": 1}
    run = gymsolve.train("CartPole-v1", settings, steps=600).run
    gymsolve.resume(run, steps=1200)
    rows, events = run.read_metrics().rows, run.read_events().rows
    spending = History(rows).spending
    spent = spent_in_all(spending, events)
    assert [event["kind"] for event in events].count("spent") == 2
    assert spent["eval"] == pytest.approx(sum(row.get("eval/seconds", 0.0) for row in rows))
    assert spending.trained == pytest.approx(run.info()["result"]["seconds"], abs=1e-3)
    assert {"start", "track", "checkpoint", "env", "update"} <= set(spent)
    assert sum(spent.values()) >= spending.trained


def test_the_probe_is_kept_in_checkpoints():
    run = gymsolve.train("CartPole-v1", SMALL, steps=600).run
    saved = load_checkpoint(run, "last")
    arrays = saved.trainer
    assert arrays["probe/obs/obs"].shape == (128, 4)
    kept = Probe(build_spec())
    kept.load({}, {})  # a checkpoint from before there were any
    assert not kept.obs
    kept.load({"obs/obs": arrays["probe/obs/obs"]}, {})
    np.testing.assert_array_equal(kept.obs["obs"], arrays["probe/obs/obs"])


def build_spec():
    trainer = build_trainer(plan_run("CartPole-v1:ppo", SMALL).config)
    trainer.envs.close()
    return trainer.policy.spec


def test_sizes_of_gradients_are_counted_by_decade():
    pieces = [
        np.array([0.0, 2e-12, -5e-4, 3e-4], np.float32),
        np.array([[0.02, -40.0], [0.0, 1.0]], np.float32),
    ]
    shares = gradient_sizes("policy", pieces)
    assert {name: share for name, share in shares.items() if share} == {
        "gradient/policy_zero": 2 / 8,
        "gradient/policy_1e-9": 1 / 8,
        "gradient/policy_1e-4": 2 / 8,
        "gradient/policy_1e-2": 1 / 8,
        "gradient/policy_1e0": 2 / 8,
    }
    assert sum(shares.values()) == 1.0
    (histogram,) = gradient_histograms(shares).items()
    assert histogram[0] == "gradient/policy"
    assert histogram[1][0] == [1 / 8, 0, 0, 0, 0, 2 / 8, 0, 1 / 8, 0, 2 / 8]
    assert histogram[1][1] == [float(power) for power in range(-9, 2)]


@either_engine
def test_histograms_of_gradients_are_in_some_records_and_in_the_report(engine, tmp_path):
    changes = {"engine": engine, "steps": 3000, "eval.episodes": 2, "solved_at": 1e9}
    run = gymsolve.train("CartPole-v1:ppo", changes, runs_dir=tmp_path, track=["tensorboard"]).run
    rows = run.read_metrics().rows
    measured = [row for row in rows if "gradient/policy_zero" in row]
    assert 0 < len(measured) <= len(rows)
    for row in measured:
        for part in ("policy", "value"):
            shares = [value for name, value in row.items() if name.startswith(f"gradient/{part}_")]
            assert sum(shares) == pytest.approx(1.0)
    assert "Gradient of the value function" in (run.path / "report.html").read_text()
    log = EventAccumulator(str(run.path / "tensorboard"), size_guidance={"histograms": 0}).Reload()
    bars = log.Histograms("gradient/policy_histogram")
    assert [one.step for one in bars] == [row["env_steps"] for row in measured]


REPLAYED = {"env.num_envs": 4, "algo.num_steps": 4, "algo.buffer_size": 5000, "algo.learning_starts": 1200}


def test_a_learner_from_a_replay_buffer_is_measured_on_steps_from_all_of_its_episodes():
    trainer = build_trainer(plan_run("CartPole-v1:dqn", SMALL | REPLAYED).config)
    try:
        while not trainer.probe.obs:
            rollout = collect(trainer, Silent())
            metrics = learn(trainer, rollout)
            trainer.counters.env_steps += rollout.env_steps
            assert metrics.get("train/dormant_share") is None or trainer.probe.obs
        assert trainer.probe.obs["obs"].shape == (128, 4)
        assert len(trainer.learner.replay) >= 1024
        tilted = np.abs(trainer.probe.obs["obs"][:, 2])
        assert (tilted > 0.1).mean() > 0.2  # the first rollout has poles that stand upright, below 0.1
    finally:
        trainer.envs.close()


def test_a_buffer_smaller_than_the_probe_wants_serves_once_it_is_full():
    settings = SMALL | REPLAYED | {"algo.buffer_size": 64, "algo.learning_starts": 0}
    rows = gymsolve.train("CartPole-v1:dqn", settings, steps=600).run.read_metrics().rows
    assert measured(rows)[0]["env_steps"] < 200


def test_an_update_without_a_gradient_step_reports_no_change_of_the_network():
    rows = trained("CartPole-v1:dqn", REPLAYED, steps=3000)
    waiting = [row for row in rows if row.get("train/gradient_steps") == 0.0]
    learned = [row for row in rows if row.get("train/gradient_steps", 0.0) > 0.0]
    assert len(waiting) > 5
    assert measured(learned)
    for row in waiting:
        changes = [name for name in row if name.startswith(("gradient/", "train/step_", "train/grad"))]
        assert changes == ["train/gradient_steps"]
        assert "train/churn" not in row
