"""EnvPool beside the stock environments: the table decides what the backend serves, and finds differences."""

import json

import numpy as np
import pytest

from benchmarks.agreement import compare as comparing
from benchmarks.agreement.__main__ import RESULTS, served
from benchmarks.agreement.compare import compare
from benchmarks.agreement.states import PLACERS
from gymsolve.envs.backends.envpool import envpool_obstacle
from gymsolve.settings.config import EnvConfig

pytest.importorskip("envpool")


def test_the_backend_serves_exactly_what_the_table_calls_equivalent():
    kept = json.loads((RESULTS / "envpool.json").read_text())["comparisons"]
    assert {name for name, found in kept.items() if found["obstacle"] is None} == set(served())
    for name, found in kept.items():
        assert (envpool_obstacle(EnvConfig(id=name)) is None) == (found["obstacle"] is None)


@pytest.mark.parametrize(
    ("one", "other", "chance"),
    [
        # Two halves that do not overlap: the largest distance there is.
        (np.arange(50.0), np.arange(100.0, 150.0), 0.0),
        (np.arange(50.0), np.arange(50.0), 1.0),
        # Ten above and ten below in the middle of fifty: D = 0.2, for which tables have p = 0.2408.
        (np.arange(50.0), np.arange(50.0) + 10.0, 0.24),
    ],
)
def test_the_chance_is_that_of_kolmogorov_and_smirnov(one, other, chance):
    assert comparing._chance(one, other) == pytest.approx(chance, abs=0.01)


def test_a_version_that_moves_alike_passes():
    found = compare("InvertedPendulum-v5", 48)
    assert found.obstacle is None
    assert found.drift is not None
    assert found.drift < 1e-6
    assert found.ends_differ == 0
    assert found.info == "no reward_survive"


def test_a_version_that_moves_otherwise_is_found(monkeypatch):
    def elsewhere(robot, seen, shown):
        PLACERS["InvertedPendulum-v5"](robot, seen + 1e-3, shown)

    monkeypatch.setattr(comparing, "PLACERS", {"InvertedPendulum-v5": elsewhere})
    monkeypatch.setattr(comparing, "_compare_games", lambda found, config, episodes: None)
    found = compare("InvertedPendulum-v5", 0)
    assert found.obstacle is not None
    assert "apart after 2 steps" in found.obstacle


def test_other_starts_and_returns_are_found():
    found = comparing.Comparison("CartPole-v1", starts=1e-9)
    assert "begin differently" in str(comparing._judge(found))
    found = comparing.Comparison("CartPole-v1", starts=0.5, returns={"random": 1e-6, "steady": 0.5})
    assert "returns differ with random actions" in str(comparing._judge(found))


@pytest.mark.parametrize(
    ("env_id", "words"), [("Taxi-v4", "none of that name"), ("Blackjack-v1", "other spaces")]
)
def test_what_cannot_be_compared_says_why(env_id, words):
    assert words in str(compare(env_id, 8).obstacle)
