"""`train --confirm` asks on a terminal; whoever answers no finds nothing written."""

from pathlib import Path

import pytest

OWN = """
import gymnasium as gym

class Coin(gym.Env):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, float(action), True, False, {}

gym.register("Coin-v0", entry_point=Coin)
"""
SHORT = ("--steps", "128", "--set", "solved_at=100", "--set", "video.enabled=false")
QUESTION = "Start training?"


@pytest.fixture
def files(place: Path, monkeypatch: pytest.MonkeyPatch):
    """Every file and folder below the working directory and the home of the user."""
    (place / "home").mkdir()
    monkeypatch.setenv("HOME", str(place / "home"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPATH", str(place))
    (place / "coin.py").write_text(OWN)
    return lambda: {path for path in place.rglob("*") if "matplotlib" not in path.parts}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("coin:Coin-v0", "--confirm"), id="no recipe"),
        pytest.param(("Bandit-v0", "--confirm", "--seeds", "2"), id="seeds"),
        pytest.param(("Bandit-v0", "--confirm", "--track", "csv", "--profile"), id="trackers"),
        pytest.param(("Bandit-v0", "--confirm", "--runs-dir", "elsewhere"), id="other folder"),
    ],
)
def test_no_writes_nothing(words, terminal, files):
    before = files()
    answer = terminal("train", *words, *SHORT, said=b"n\n")
    assert QUESTION in answer.out
    assert "Not started; nothing was written." in answer.out
    assert answer.code == 1, answer.out
    assert files() == before


def test_the_variable_asks_too_and_no_answer_is_no(terminal, files, monkeypatch):
    monkeypatch.setenv("GYMSOLVE_CONFIRM", "1")
    before = files()
    answer = terminal("train", "Bandit-v0", *SHORT, said=b"\x04")  # Ctrl-D
    assert QUESTION in answer.out
    assert answer.code == 130, answer.out
    assert files() == before


def test_yes_trains(terminal, files):
    before = files()
    answer = terminal("train", "Bandit-v0", "--confirm", *SHORT, said=b"y\n")
    assert QUESTION in answer.out
    assert answer.code == 0, answer.out
    assert any(path.name == "run.json" for path in files() - before)
