"""Policies that see nothing: what they do, when they are played, and what is said of a policy no better."""

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.loaded_policy import evaluate_run
from gymsolve.doctor.rules.blind import worthless_beside
from gymsolve.envs.describe import describe
from gymsolve.runs.run import Run
from gymsolve.service.evaluation import describe_evaluation
from gymsolve.settings.config import EnvConfig
from gymsolve.training.evaluation.blind import idle_action

SMALL = {"video.enabled": False, "eval.episodes": 5, "eval.every": 1000}


@pytest.fixture(scope="module")
def stuck(tmp_path_factory):
    """A run of a task in which nothing is better than doing nothing."""
    settings = SMALL | {"algo.name": "ppo", "algo.num_steps": 50, "env.num_envs": 4, "steps": 1000}
    return gymsolve.train(
        "training_envs:Still-v0:derived", settings, runs_dir=tmp_path_factory.mktemp("runs")
    )


def blind_rows(run: Run):
    return [row for row in run.read_metrics().rows if any(name.startswith("blind/") for name in row)]


@pytest.mark.parametrize(
    ("env", "idle"),
    [
        ({"id": "MountainCar-v0"}, [1]),
        ({"id": "Acrobot-v1"}, [1]),
        ({"id": "Pendulum-v1"}, [0.0]),
        ({"id": "CartPole-v1"}, None),
        ({"id": "FrozenLake-v1"}, None),
    ],
)
def test_an_action_does_nothing_only_where_that_is_known(env, idle):
    config = EnvConfig(**env)
    known = describe(config, "eval")
    action = idle_action(config.id, known.spec.action, known.labels, masked=False)
    assert (None if action is None else known.spec.action.to_env(action)[0].tolist()) == (
        idle if idle is None or known.spec.action.shape else idle[0]
    )
    assert idle_action(config.id, known.spec.action, known.labels, masked=True) is None


def test_it_is_said_that_a_policy_is_no_better_than_doing_nothing(stuck):
    assert "no_better_than_nothing" in [alert["id"] for alert in stuck.to_json()["alerts"]]
    (row,) = blind_rows(stuck.run)
    assert (row["blind/idle_reward"], row["blind/idle_std"]) == (0.0, 0.0)
    assert row["blind/idle_episodes"] == 20.0
    (alert,) = [one for one in stuck.alerts if one.id == "no_better_than_nothing"]
    assert alert.evidence.note == "doing nothing earns 0 over 20 episodes"
    assert "the policy is no better than doing nothing" in (stuck.run.path / "report.md").read_text()


def test_an_evaluation_says_so_too(stuck):
    how = {"seed": None, "deterministic": None, "run_seeds": False}
    evaluation = describe_evaluation(*evaluate_run(stuck.run.path, episodes=5, **how), **how)
    assert evaluation.no_better_than == "doing nothing earns 0 over 20 episodes"
    # Nothing always costs 0, so a single episode that earned more is better.
    assert worthless_beside(blind_rows(stuck.run), -1.0, 0.5) is None
    assert worthless_beside([], -1.0, -1.0) is None


def test_a_resume_sets_it_aside_and_measures_anew(stuck):
    gymsolve.resume(stuck.run.path, {"steps": 1400})
    rows = blind_rows(stuck.run)
    assert [row["env_steps"] >= 1400 for row in rows] == [True]


def test_a_policy_that_has_learned_is_not_called_useless(tmp_path):
    outcome = gymsolve.train("CartPole-v1", SMALL | {"steps": 8000}, runs_dir=tmp_path, seed=1)
    (row,) = blind_rows(outcome.run)
    assert 10.0 < row["blind/random_reward"] < 40.0  # about 22
    assert outcome.mean_reward > 2 * row["blind/random_reward"]
    assert not {alert.id for alert in outcome.alerts} & {"no_better_than_nothing", "no_better_than_random"}


def test_few_steps_are_not_spent_on_it(tmp_path):
    outcome = gymsolve.train("Acrobot-v1", SMALL | {"steps": 2000}, runs_dir=tmp_path)
    assert blind_rows(outcome.run) == []


def test_episodes_of_random_actions_are_the_same_again(tmp_path):
    settings = SMALL | {"steps": 2000, "algo.num_steps": 64}
    runs = [gymsolve.train("CartPole-v1", settings, runs_dir=tmp_path, seed=7).run for _ in range(2)]
    first, second = (blind_rows(run)[0]["blind/random_reward"] for run in runs)
    assert np.isfinite(first)
    assert first == second
