"""Sizes as people write them, and hyperparameters that change over a run."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gymsolve.settings.schedules import Progress, Schedule, Steps, parse_amount

TOTAL = 1000


def at(given_as: object, *env_steps: int, total: int = TOTAL) -> list[float]:
    schedule = Schedule.model_validate(given_as)
    return [schedule.at(Progress(step, total)) for step in env_steps]


def steps(value: object, budget: int | None = TOTAL) -> int:
    result: int = TypeAdapter(Steps).validate_python(value, context={"steps": budget})
    return result


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (200_000, 200_000),
        ("200k", 200_000),
        ("200K", 200_000),
        ("1e6", 1_000_000),
        ("1_000", 1000),
        ("1.5M", 1_500_000),
        (" 2 m ", 2_000_000),
        ("1b", 10**9),
        ("10%", 0.1),
        ("-5", -5),
    ],
)
def test_amounts(written: object, meant: float) -> None:
    assert parse_amount(written) == pytest.approx(meant)


@pytest.mark.parametrize("bad", ["", "k", "12x", "1,000", "--5", "10 %%", None, True, [1]])
def test_amounts_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"should be a number|cannot read"):
        parse_amount(bad)


@pytest.mark.parametrize(
    ("written", "meant"), [("5%", 50), (0.05, 50), ("0.01%", 1), ("100%", 1000), (1, 1), (0, 0), ("2k", 2000)]
)
def test_steps_are_counts_or_shares_of_the_budget(written: object, meant: int) -> None:
    assert steps(written) == meant


@pytest.mark.parametrize("bad", [2.5, "2.5", float("inf"), float("nan"), "1e400", True])
def test_steps_refused(bad: object) -> None:
    with pytest.raises(ValidationError):
        steps(bad)


def test_a_share_without_a_budget_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs `steps`"):
        steps("5%", budget=None)


def test_constant() -> None:
    assert at(0.5, 0, 500, 1000, 9999) == [0.5] * 4


def test_linear() -> None:
    assert at("1 -> 0", 0, 250, 500, 1000, 2000) == pytest.approx([1, 0.75, 0.5, 0, 0])


def test_cosine() -> None:
    quarter = 0.5 * (1 + math.cos(math.pi / 4))
    assert at("cosine 1 -> 0", 0, 250, 500, 1000) == pytest.approx([1, quarter, 0.5, 0])


def test_exponential_has_equal_ratios() -> None:
    assert at("exponential 1 -> 1e-4", 0, 250, 500, 750, 1000) == pytest.approx([1, 0.1, 0.01, 1e-3, 1e-4])


def test_step_holds_then_jumps() -> None:
    given_as = {"start": 1, "end": 0.1, "shape": "step", "until": "50%"}
    assert at(given_as, 0, 499, 500, 1000) == [1, 1, 0.1, 0.1]


def test_delayed_start_and_early_end() -> None:
    given_as = {"start": 1, "end": 0, "begin": "20%", "until": "60%"}
    assert at(given_as, 0, 200, 300, 400, 600, 1000) == pytest.approx([1, 1, 0.75, 0.5, 0, 0])


def test_positions_above_one_are_steps() -> None:
    given_as = {"start": 1, "end": 0, "begin": 200, "until": 600}
    assert at(given_as, 200, 400, 600) == pytest.approx([1, 0.5, 0])
    # A longer budget does not move them; shares do move.
    assert at(given_as, 400, total=10_000) == pytest.approx([0.5])
    assert at("1 -> 0", 500, total=10_000) == pytest.approx([0.95])


def test_warm_up_rises_from_zero() -> None:
    assert at({"start": 1, "warmup": "10%"}, 0, 50, 100, 500) == pytest.approx([0, 0.5, 1, 1])
    both = {"start": 1, "end": 0, "warmup": 100}
    assert at(both, 50, 100, 500) == pytest.approx([0.5 * 0.95, 0.9, 0.5])


def test_floor() -> None:
    assert at({"start": 1, "end": 0, "floor": 0.2}, 0, 500, 900, 1000) == pytest.approx([1, 0.5, 0.2, 0.2])
    assert at({"start": 1, "warmup": 100, "floor": 0.2}, 0, 50) == pytest.approx([0.2, 0.5])


def test_points_are_joined_and_held_outside() -> None:
    given_as = {"points": [["10%", 1.0], [0.5, 0.2], [1000, 0.0]]}
    assert at(given_as, 0, 100, 300, 500, 750, 2000) == pytest.approx([1, 1, 0.6, 0.2, 0.1, 0])


def test_points_with_shape_and_floor() -> None:
    given_as = {"points": [[0, 1.0], [1.0, 0.01]], "shape": "exponential", "floor": 0.05}
    assert at(given_as, 0, 500, 1000) == pytest.approx([1, 0.1, 0.05])


def test_two_points_at_one_place_are_a_jump() -> None:
    given_as = {"points": [[0, 1.0], [0.5, 1.0], [0.5, 0.1]]}
    assert at(given_as, 499, 500, 501) == pytest.approx([1, 0.1, 0.1])


def test_resume_continues_where_it_was() -> None:
    """The value is a function of the steps alone, so a second object agrees with the first."""
    text = Schedule.model_validate("cosine 1e-3 -> 1e-5").model_dump_json()
    again = Schedule.model_validate_json(text)
    assert at(again, 0, 123, 777) == at("cosine 1e-3 -> 1e-5", 0, 123, 777)


def test_arrow_strings() -> None:
    assert Schedule.model_validate("1e-3->0") == Schedule(start=1e-3, end=0)
    assert Schedule.model_validate("  cosine  1e-3  ->  1e-5 ") == Schedule(
        start=1e-3, end=1e-5, shape="cosine"
    )
    assert Schedule.model_validate("3e-4") == Schedule.constant(3e-4)


@pytest.mark.parametrize(
    "bad",
    [
        "fast",
        "1 -> ",
        "wavy 1 -> 0",
        True,
        None,
        [1, 2],
        {},
        {"end": 1},
        {"start": 1, "points": [[0, 1]]},
        {"points": []},
        {"points": [[0.5, 1], [0.1, 2]]},
        {"points": [[0, 1]], "end": 3},
        {"points": [[0, 1]], "until": 0.5},
        {"start": 1, "until": 0.5},
        {"start": 1, "end": 0, "begin": 0.6, "until": 0.5},
        {"start": 1, "end": 0, "until": "150%"},
        {"start": 1, "end": 0, "begin": -1},
        {"start": 1, "end": 0, "until": float("inf")},
        {"start": float("nan")},
        {"start": 1, "end": float("inf")},
        {"start": 1, "end": 0, "shape": "exponential"},
        {"start": 1, "finish": 0},
    ],
)
def test_refused(bad: object) -> None:
    with pytest.raises(ValidationError):
        Schedule.model_validate(bad)


def test_a_constant_is_written_as_a_number() -> None:
    assert Schedule.constant(0.5).model_dump() == 0.5
    assert Schedule.model_validate("1 -> 0").model_dump() == {"start": 1.0, "end": 0.0}


values = st.floats(min_value=1e-6, max_value=10)
shares = st.floats(min_value=0, max_value=1)
ramps = st.fixed_dictionaries(
    {"start": values, "end": values},
    optional={
        "shape": st.sampled_from(["linear", "cosine", "exponential", "step"]),
        "begin": st.floats(min_value=0, max_value=0.5),
        "until": st.floats(min_value=0.5, max_value=1),
        "warmup": shares,
        "floor": values,
    },
)
paths = st.builds(
    lambda places, heights: {"points": list(zip(sorted(places), heights, strict=False))},
    st.lists(shares, min_size=1, max_size=5),
    st.lists(values, min_size=5, max_size=5),
)
schedules = st.one_of(values, ramps, paths)


@given(schedules)
def test_round_trip(given_as: object) -> None:
    schedule = Schedule.model_validate(given_as)
    assert Schedule.model_validate_json(schedule.model_dump_json()) == schedule


@given(schedules, st.integers(min_value=0, max_value=3 * TOTAL))
def test_values_stay_in_their_range(given_as: object, env_steps: int) -> None:
    schedule = Schedule.model_validate(given_as)
    value = schedule.at(Progress(env_steps, TOTAL))
    low = 0.0 if schedule.warmup else min(schedule.values())
    assert low * (1 - 1e-9) <= value <= max(schedule.values()) * (1 + 1e-9)


def test_progress_fraction() -> None:
    assert [Progress(s, 100).fraction for s in (0, 50, 100, 300)] == [0, 0.5, 1, 1]
    assert Progress(0, 0).fraction == 1
