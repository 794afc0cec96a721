"""How often the policy is evaluated, and that whoever waits hears of it."""

import io
import signal

import pytest
from killing import KillAt, in_child

import gymsolve
from gymsolve.cli.live.console import PlainScreen, Watcher
from gymsolve.settings.config import TrainConfig
from gymsolve.training.records import next_record

# Episodes of 100 steps, so that a routine evaluation plays 2,000, more than training in a cadence.
LONG = "training_envs:Every-v0:ppo"
SETTINGS = {
    "env.kwargs.length": 100,
    "env.num_envs": 4,
    "algo.num_steps": 32,
    "algo.num_epochs": 1,
    "algo.num_minibatches": 1,
    "net.hidden": [8],
    "steps": 24_000,
    "video.enabled": False,
    "solved_at": 1e9,
}


def judged(run):
    return [row for row in run.read_metrics().rows if "eval/mean_reward" in row]


def notes(run):
    return [event["text"] for event in run.read_events().rows if event["kind"] == "note"]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run with the default cadence."""
    return gymsolve.train(LONG, SETTINGS, runs_dir=tmp_path_factory.mktemp("straight")).run


def test_by_default_training_takes_three_steps_for_each_of_evaluation(straight):
    *before, last = judged(straight)
    assert before, "it must be evaluated before its end too"
    assert last["env_steps"] >= SETTINGS["steps"]  # the final policy gets its verdict in any case
    played = 0.0
    for row in before:
        played += row["eval/env_steps"]
        assert played <= row["env_steps"] / 3
    # It could not have been evaluated one more time.
    assert played + last["eval/env_steps"] > (SETTINGS["steps"] - 6_000) / 3


def test_where_evaluation_costs_less_it_happens_more_often(straight):
    run = gymsolve.train(LONG, SETTINGS | {"eval.cost": 0.5}).run
    *before, _ = judged(run)
    assert len(before) > len(judged(straight)) - 1
    for number, row in enumerate(before, 1):
        assert 3 * 0.5 * number * row["eval/env_steps"] <= row["env_steps"]


def test_a_cadence_that_was_asked_for_is_kept():
    steps = 4_000
    run = gymsolve.train(LONG, SETTINGS | {"steps": steps, "eval.every": 500}).run
    rollout = SETTINGS["env.num_envs"] * SETTINGS["algo.num_steps"]
    expected = [(at + rollout - 1) // rollout * rollout for at in range(500, steps + 1, 500)]
    assert [row["env_steps"] for row in judged(run)] == expected


def test_the_cadence_survives_a_kill(straight, tmp_path):
    settings = SETTINGS | {"checkpoint.every": 2_000}

    def die():
        gymsolve.train(LONG, settings, runs_dir=tmp_path, observer=KillAt(records=70))

    assert in_child(die) == signal.SIGKILL
    killed = gymsolve.open_run("@last", runs_dir=tmp_path)
    assert 0 < len(judged(killed)) < len(judged(straight))
    gymsolve.resume(killed)
    assert [row["env_steps"] for row in judged(killed)] == [row["env_steps"] for row in judged(straight)]


def test_episodes_without_end_are_evaluated_once_and_the_cap_is_told():
    stream = io.StringIO()
    changes = SETTINGS | {"steps": 2_000, "eval.max_steps": 400}
    changes.pop("env.kwargs.length")
    outcome = gymsolve.train("training_envs:Endless-v0:ppo", changes, observer=Watcher(PlainScreen(stream)))
    (row,) = judged(outcome.run)
    assert row["env_steps"] >= 2_000
    (told,) = [note for note in notes(outcome.run) if "eval.max_steps=400" in note]
    assert "cut off" in told
    assert "0 episodes had ended" in told
    assert told in stream.getvalue()


def test_training_earns_the_proofs_of_solved_too():
    # Every evaluation reaches the threshold, so each is followed by twice a hundred episodes.
    changes = SETTINGS | {"env.kwargs.length": 40, "env.kwargs.k": 40, "solved_at": 1.0, "eval.episodes": 2}
    changes["steps"] = 6 * SETTINGS["steps"]
    run = gymsolve.train(LONG, changes | {"eval.stop_when_solved": False}).run
    *before, _ = rows = judged(run)
    assert len(before) > 2
    for number, following in enumerate(rows[1:-1], 1):
        assert rows[number - 1]["eval/confirm_episodes"] == 100
        assert following["env_steps"] >= 3 * 200 * 40 * number


def test_what_was_not_evaluated_early_may_be_evaluated_later():
    # 12,000 steps earn 4,000 of evaluation: two of 2,000 each, 1,000 steps apart. The third waits for 18,000.
    changes = SETTINGS | {"eval.warmup": 12_000, "eval.every": 1_000, "eval.share": 0.25}
    rows = judged(gymsolve.train(LONG, changes).run)
    assert [row["env_steps"] for row in rows] == [12_032, 13_056, 18_048, 24_064]


def test_a_slow_evaluation_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr("gymsolve.cli.live.console._LINE_SECONDS", (0.0, 0.0))
    stream = io.StringIO()
    changes = SETTINGS | {"steps": 256, "eval.episodes": 8}
    gymsolve.train(LONG, changes, observer=Watcher(PlainScreen(stream)))
    lines = [line for line in stream.getvalue().splitlines() if "evaluating: " in line]
    assert "0 of 8 episodes, 1 step in each copy" in lines[0]
    assert "0 of 8 episodes, 99 steps in each copy" in lines[98]


@pytest.mark.parametrize(("algo", "steps"), [("a2c", 50_000_000), ("a2c", 500_000), ("ppo", 10**9)])
def test_a_run_of_any_length_writes_some_thousand_records(algo, steps):
    config = TrainConfig.model_validate({"env": {"id": "X"}, "algo": {"name": algo}, "steps": steps})
    update = config.algo.num_steps * config.env.num_envs
    records, at = 0, 0
    while at < steps:
        due = next_record(at, config)
        at = -(-due // update) * update
        records += 1
    assert 500 < records < 2500
