"""Alerts of a real training with a fault: in its events, in its outcome, and again when replayed.

Where time goes depends on what else the machine does, so hints about it may come at any moment: they count
where live and replayed alerts are compared, and not where their order or number is.
"""

import math
from typing import Any

import pytest

import gymsolve
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.rules.blind import BLIND
from gymsolve.doctor.rules.speed import SPEED
from gymsolve.errors import UndeclaredMetricError
from gymsolve.training.build import build_trainer
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.publish import publish
from gymsolve.training.session import start_run

TIMED = {rule.id for rule in SPEED}
ENDS = {rule.id for rule in BLIND}
"""Judged at each end of a run, of the policy that it has then."""
FAULT: dict[str, Any] = {"algo.learning_rate": 0.3, "eval.episodes": 5}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """CartPole with a learning rate three hundred times too high."""
    plan = plan_run("CartPole-v1:ppo", FAULT | {"steps": 8000})
    return start_run(plan, runs_dir=tmp_path_factory.mktemp("runs"))


def test_the_fault_is_in_events_and_outcome(faulty):
    events = [event for event in faulty.run.read_events().rows if event["kind"] == "alert"]
    first = next(event for event in events if event["id"] not in TIMED)
    assert first["id"] == "kl_shock"
    assert first["because"] is None
    assert first["changes"][0]["path"] == "algo.learning_rate"
    assert {event["id"] for event in events} == {alert.id for alert in faulty.alerts}
    causes = [alert.id not in faulty.because for alert in faulty.alerts]
    assert causes == sorted(causes, reverse=True), "causes come before what follows from them"
    assert faulty.alerts[0].id == "kl_shock"


def test_a_replay_finds_the_same(faulty):
    told = diagnose_path(str(faulty.run.path)).to_json()
    fired = {one["id"]: one for one in [*told["roots"], *told["consequences"]]}
    assert set(fired) == {alert.id for alert in faulty.alerts}
    assert told["roots"][0]["id"] == "kl_shock"
    for alert in faulty.alerts:
        assert (fired[alert.id]["onset"], fired[alert.id]["steps"]) == (alert.onset, alert.steps)


def test_a_resumed_run_does_not_tell_the_same_alert_again(faulty):
    before = [event["id"] for event in faulty.run.read_events().rows if event["kind"] == "alert"]
    gymsolve.resume(str(faulty.run.path), steps=9000, runs_dir=faulty.run.path.parent)
    after = [event["id"] for event in faulty.run.read_events().rows if event["kind"] == "alert"]
    assert after[: len(before)] == before
    lasting = [name for name in after if name not in TIMED | ENDS]
    assert len(lasting) == len(set(lasting)), "an alert that was active is not told twice"
    told = diagnose_path(str(faulty.run.path)).to_json()
    assert {one["id"] for one in [*told["roots"], *told["consequences"]]} == set(after)


def test_doubtful_settings_are_noted_at_the_start(faulty):
    notes = [event["text"] for event in faulty.run.read_events().rows if event["kind"] == "note"]
    assert any(note.startswith("algo.learning_rate: 0.3 is far above") for note in notes)


def test_an_undeclared_metric_is_refused_and_not_written(faulty):
    trainer = build_trainer(plan_run("CartPole-v1:ppo", {}).config)
    before = faulty.run.read_metrics().rows
    with pytest.raises(UndeclaredMetricError, match="'train/mystery'"):
        publish(trainer, faulty.run, Silent(), {"env_steps": 1, "train/mystery": math.pi})
    trainer.envs.close()
    assert faulty.run.read_metrics().rows == before
