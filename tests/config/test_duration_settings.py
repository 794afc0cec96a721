"""Durations as people write them."""

import pytest

from gymsolve.errors import ConfigError
from gymsolve.recipes import resolve
from gymsolve.settings.durations import parse_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        ("1e3", 1000),
        ("90s", 90),
        ("90 sec", 90),
        ("10min", 600),
        ("10 MIN", 600),
        ("2m", 120),
        ("2h", 7200),
        ("1.5h", 5400),
        ("1h30min", 5400),
        ("1h 30min 5s", 5405),
        ("2d", 172_800),
    ],
)
def test_texts_mean_seconds(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "x", "10x", "10 20", "1h30", "-5", "h", "1:30", "inf", "nan", "9" * 400]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="as a duration: write 90, 90s, 10min, 2h or 1h30min"):
        parse_seconds(text)


@pytest.mark.parametrize("path", ["max_seconds", "eval.max_seconds", "grace_seconds", "env.step_timeout"])
def test_settings_in_seconds_take_durations(path):
    node = resolve("CartPole-v1", {path: "1h30min"}).config
    for name in path.split("."):
        node = getattr(node, name)
    assert node == 5400.0


@pytest.mark.parametrize("value", ["5x", 0, "0s", True, "nan", [1]])
def test_a_time_limit_that_is_none_is_refused(value):
    with pytest.raises(ConfigError, match="max_seconds"):
        resolve("CartPole-v1", {"max_seconds": value})
