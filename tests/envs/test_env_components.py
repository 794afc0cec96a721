"""Rewards made of named parts: what the agent is paid, what is told of it, and what is refused."""

from typing import Any

import numpy as np
import pytest
import sample_envs
from pydantic import ValidationError

from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.envs.preflight import preflight
from gymsolve.errors import ConfigError, EnvFaultError, GymsolveError
from gymsolve.settings.config import EnvConfig

assert sample_envs.Paid
PAID = "sample_envs:Sample/Paid-v0"


def make(*wrappers: Any, num_envs: int = 1, backend: str = "sync", **kwargs: Any) -> Envs:
    settings = {"id": PAID, "wrappers": wrappers, "num_envs": num_envs, "backend": backend, "kwargs": kwargs}
    return make_envs(EnvConfig.model_validate(settings), "train")


def parts_of(components: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"reward_components": {"components": components, **more}}


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_the_reward_is_the_weighted_sum_and_the_raw_return_is_not(backend: str) -> None:
    envs = make(
        parts_of({"reward_cost": 0.1, "pace": {"key": "speed", "weight": 4}}, base=0.5),
        num_envs=2,
        backend=backend,
        length=2,
    )
    assert envs.spec.components == ("base", "reward_cost", "pace")
    envs.reset([1, 2])
    for _ in range(2):  # episodes follow one another
        first, last = envs.step(np.array([3, 0])), envs.step(np.array([1, 2]))
        assert first.components is not None
        assert last.components is not None
        np.testing.assert_allclose(first.components, [[1.5, -0.1, 2.0], [0.0, -0.1, 2.0]])
        np.testing.assert_allclose(last.components, [[0.5, -0.2, 2.0], [1.0, -0.2, 2.0]])
        np.testing.assert_allclose(first.rewards, [3.4, 1.9], rtol=1e-6)
        assert [(one.raw_return, round(one.shaped_return, 6)) for one in last.episodes] == [
            (4, 5.7),
            (2, 4.7),
        ]
    envs.close()


def test_a_base_without_weight_is_no_part() -> None:
    envs = make(parts_of({"reward_goal": 1, "reward_cost": 1}, base=0))
    envs.reset([1])
    step = envs.step(np.array([2]))
    assert envs.spec.components == ("reward_goal", "reward_cost")
    assert step.rewards.tolist() == [1.0]


def test_skipped_frames_count_if_they_are_skipped_above() -> None:
    costs = parts_of({"reward_cost": 1})
    skip = {"frame_skip": {"skip": 3}}
    for wrappers, cost in (((costs, skip), -6.0), ((skip, costs), -3.0)):
        envs = make(*wrappers)
        envs.reset([1])
        step = envs.step(np.array([1]))
        assert step.components is not None
        assert step.components.tolist() == [[3.0, cost]]
        assert step.rewards.tolist() == [3.0 + cost]


def test_a_wrapper_of_ones_own_names_parts_through_info() -> None:
    envs = make("sample_envs:Curiosity", parts_of({"curiosity": 2}))
    envs.reset([1])
    assert envs.step(np.array([3])).rewards.tolist() == [3.0 + 2 * 7.0]


@pytest.mark.parametrize(
    ("wrappers", "told"),
    [
        (
            [parts_of({"sped": 1})],
            r'components\.sped: info\["sped"\] is not there .* Did you mean \'speed\'\?',
        ),
        ([parts_of({"zzz": 1})], r"Its numbers are: is_success, reward_goal, reward_cost, speed\."),
        ([parts_of({"x": {"key": "note"}})], r'components\.x: info\["note"\] is \'hello\', not a number'),
        ([parts_of({})], r"env\.wrappers\[0\]\.reward_components: components should name at least one"),
        ([parts_of({"base": 1})], "'base' cannot name a component"),
        ([parts_of({"a/b": 1})], "'a/b' cannot name a component"),
        ([parts_of({"speed": {"wieght": 1}})], r"components\.speed: a component has no 'wieght', only"),
        (
            [parts_of({"speed": {"weight": "much"}})],
            r"components\.speed\.weight: Input should be a valid num",
        ),
        ([parts_of({"speed": True})], r"components\.speed: a component is a weight, or"),
        ([parts_of({"speed": 1}), parts_of({"speed": 1})], r"env\.wrappers\[1\].*there can be one of it"),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "async"])
def test_mistakes_are_told_before_anything_is_trained(wrappers: Any, told: str, backend: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make(*wrappers, backend=backend)


def test_a_weight_is_a_finite_number() -> None:
    with pytest.raises(ValidationError, match="should hold finite numbers, not nan"):
        make(parts_of({"speed": float("nan")}))


@pytest.mark.parametrize(
    ("oddity", "kind", "told"),
    [
        ("nan", EnvFaultError, r'components\.speed: info\["speed"\] was nan in step 3 of an episode\.'),
        ("text", ConfigError, r'info\["speed"\] is \'fast\', not a number in step 3'),
        ("none", ConfigError, r'info\["speed"\] is None, not a number in step 3'),
        ("gone", ConfigError, r'info\["speed"\] is not there in step 3'),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_number_that_goes_bad_on_the_way_is_told(
    oddity: str, kind: type[GymsolveError], told: str, backend: str
) -> None:
    envs = make(parts_of({"speed": 1}), backend=backend, oddity=oddity)
    envs.reset([1])
    envs.step(np.array([1]))
    envs.step(np.array([1]))
    with pytest.raises(kind, match=told):
        envs.step(np.array([1]))
    envs.close()


@pytest.mark.parametrize(("env_id", "backend"), [("CartPole-v1", "compiled"), ("CartPole-v1", "envpool")])
def test_backends_without_info_refuse_it(env_id: str, backend: str) -> None:
    settings = {"id": env_id, "wrappers": [parts_of({"speed": 1})], "backend": backend}
    with pytest.raises(ConfigError, match=rf"env\.backend: the {backend} backend .* takes no wrappers"):
        make_envs(EnvConfig.model_validate(settings), "train")


def test_a_check_lists_what_is_offered() -> None:
    report = preflight(EnvConfig(id=PAID, num_envs=2))
    assert report.offers == ("reward_cost", "reward_goal", "speed")
    assert preflight(EnvConfig(id="CartPole-v1", num_envs=2)).offers == ()


def test_the_parts_of_a_mujoco_reward_add_up_to_it() -> None:
    pytest.importorskip("mujoco")
    parts = parts_of({"reward_forward": 1, "reward_ctrl": 1, "alive": {"key": "reward_survive"}}, base=0)
    settings = {"id": "Hopper-v5", "num_envs": 2, "wrappers": [parts], "backend": "sync"}
    envs = make_envs(EnvConfig.model_validate(settings), "train")
    envs.reset([1, 2])
    episodes = [one for _ in range(200) for one in envs.step(np.ones((2, 3), np.float32)).episodes]
    assert episodes
    for one in episodes:
        assert one.shaped_return == pytest.approx(one.raw_return)
