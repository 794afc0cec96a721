"""What a configuration may hold, and that it survives `config.json`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gymsolve.registry import ALGORITHMS
from gymsolve.settings.algorithm_choice import ALGORITHM_MODELS
from gymsolve.settings.config import (
    TrainConfig,
    WrapperConfig,
)


def config(**sections: Any) -> TrainConfig:
    data = {"env": {"id": "CartPole-v1"}, "algo": {"name": "ppo"}} | sections
    return TrainConfig.model_validate(data, context={"steps": 1000})


def test_every_registered_algorithm_has_settings() -> None:
    assert set(ALGORITHM_MODELS) == set(ALGORITHMS)


def test_frozen() -> None:
    with pytest.raises(ValidationError):
        config().seed = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "sections",
    [
        {"sed": 1},
        {"seed": -1},
        {"seed": True},
        {"steps": 0},
        {"steps": "5%", "eval": {}, "max_seconds": 0},
        {"solved_at": float("nan")},
        {"solved_at": float("inf")},
        {"solved_at": True},
        {"env": {"id": "X", "num_envs": 0}},
        {"env": {"id": "X", "num_envs": True}},
        {"env": {"id": "X", "legal_actions": []}},
        {"env": {"id": "X", "wrappers": [{"a": {}, "b": {}}]}},
        {"env": {"id": "X", "wrappers": [{"frame_skip": 4}]}},
        {"env": {"id": "X", "wrappers": [{"frame_skip": {"roles": ["test"]}}]}},
        {"net": {"dropout": 1.0}},
        {"net": {"hidden": [64, 0]}},
        {"net": {"log_std_init": float("inf")}},
        {"eval": {"every": -1}},
        {"eval": {"solved_episodes": 10}},
        {"algo": {"name": "ppo", "gamma": 1.1}},
        {"algo": {"name": "ppo", "gamma": "0.9 -> 1.1"}},
        {"algo": {"name": "ppo", "num_epochs": 0}},
        {"algo": {"name": "ppo", "learning_rate": -1e-3}},
        {"algo": {"name": "a2c", "clip_coef": 0.2}},
        {"algo": {"name": "ppo", "num_steps": 1, "num_minibatches": 9}},
    ],
)
def test_refused(sections: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        config(**sections)


def test_minibatches_may_be_as_many_as_samples() -> None:
    assert config(algo={"name": "ppo", "num_steps": 1, "num_minibatches": 8}).env.num_envs == 8


@pytest.mark.parametrize(
    ("written", "name", "options", "roles"),
    [
        ("crop", "crop", {}, ("train", "eval", "play")),
        ({"crop": None}, "crop", {}, ("train", "eval", "play")),
        ({"crop": {"top": 3}}, "crop", {"top": 3}, ("train", "eval", "play")),
        ({"crop": {"top": 3, "roles": ["train"]}}, "crop", {"top": 3}, ("train",)),
    ],
)
def test_wrappers_as_written(
    written: Any, name: str, options: dict[str, int], roles: tuple[str, ...]
) -> None:
    wrapper = WrapperConfig.model_validate(written)
    assert (wrapper.name, wrapper.options, wrapper.roles) == (name, options, roles)
    assert WrapperConfig.model_validate(wrapper.model_dump()) == wrapper


def test_intervals_left_at_zero_follow_the_budget() -> None:
    left = config(steps=1000)
    assert (left.eval_every, left.checkpoint_every) == (50, 100)
    given_as = config(steps=1000, eval={"every": "10%"}, checkpoint={"every": 7})
    assert (given_as.eval_every, given_as.checkpoint_every) == (100, 7)
    assert config(steps=1).eval_every == 1


configs = st.fixed_dictionaries(
    {
        "env": st.fixed_dictionaries(
            {"id": st.just("X-v0"), "num_envs": st.integers(1, 64)},
            optional={
                "kwargs": st.dictionaries(
                    st.text(max_size=5), st.integers() | st.text(max_size=5) | st.booleans()
                ),
                "wrappers": st.lists(st.sampled_from(["a", {"b": {"x": 1}}, {"c": {"roles": ["train"]}}])),
            },
        ),
        "algo": st.fixed_dictionaries(
            {"name": st.sampled_from(sorted(ALGORITHMS))},
            optional={
                "gamma": st.floats(0, 1),
                "learning_rate": st.sampled_from([1e-3, "1e-3 -> 0", {"points": [[0, 1], ["50%", 0.1]]}]),
            },
        ),
    },
    optional={
        "steps": st.integers(1, 10**9) | st.sampled_from(["200k", "1e6"]),
        "solved_at": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        "eval": st.fixed_dictionaries({"every": st.sampled_from([0, "5%", "1k"])}),
    },
)


@given(configs)
def test_config_json_round_trip(data: dict[str, Any]) -> None:
    made = config(**data)
    assert TrainConfig.model_validate_json(made.model_dump_json()) == made
    assert TrainConfig.model_validate(made.model_dump(mode="json")) == made
