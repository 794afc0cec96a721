"""What a person is told about a wrong setting: the exact path, what is wrong, and the likely cure."""

from typing import Any

import pytest

from gymsolve.errors import ConfigError
from gymsolve.recipes import resolve, validate


def told(*items: str, name: str = "CartPole-v1") -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(name, items)
    return str(caught.value)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("algo.gama=0.9", "algo.gama: unknown key (from --set). Did you mean 'algo.gamma'?"),
        ("algo.lr=1", "algo.lr: unknown key (from --set). Did you mean 'algo.learning_rate'?"),
        ("learning_rate=1", "learning_rate: unknown key (from --set). Did you mean 'algo.learning_rate'?"),
        ("hidden=[3]", "hidden: unknown key (from --set). Did you mean 'net.hidden'?"),
        ("total_timesteps=3", "total_timesteps: unknown key (from --set). Did you mean 'steps'?"),
        ("alg.gamma=3", "alg: unknown key (from --set). Did you mean 'algo'?"),
        (
            "net.num_envs=3",
            "net.num_envs: unknown key (from --set). Did you mean 'env.num_envs' or 'eval.num_envs'?",
        ),
        (
            "algo.num_env=3",
            "algo.num_env: unknown key (from --set). Did you mean 'env.num_envs' or 'eval.num_envs'?",
        ),
        (
            "video.best=true",
            "video.best: unknown key (from --set). Known here: enabled, episodes, max_seconds, every.",
        ),
        ("algo.gamma=1.5", "algo.gamma: should be between 0 and 1, not 1.5 (from --set)."),
        ("algo.num_steps=0", "algo.num_steps: should be greater than 0, not 0 (from --set)."),
        ("algo.num_steps=many", "algo.num_steps: should be a whole number or auto, not 'many' (from --set)."),
        ("net.hidden=64", "net.hidden: should be a list, not 64 (from --set)."),
        ("net=64", "net: should be a mapping, not 64 (from --set)."),
        (
            "eval.deterministic=maybe",
            "eval.deterministic: should be true or false, not 'maybe' (from --set).",
        ),
        ("algo.name=pop", "algo.name: unknown algorithm 'pop' (from --set). Did you mean 'ppo'?"),
        (
            "algo.returns=episode",
            "algo.returns: ppo has no such setting; it belongs to reinforce (from --set).",
        ),
        ("steps=5%", "steps: a share of the budget needs `steps` to be a number of steps (from --set)."),
    ],
)
def test_one_wrong_setting(item: str, message: str) -> None:
    assert told(item) == message


def test_a_choice_is_suggested() -> None:
    message = told("net.activation=rleu")
    assert message.startswith("net.activation: should be 'tanh', 'relu'")
    assert message.endswith("not 'rleu' (from --set). Did you mean 'relu'?")


def test_several_wrong_settings_get_a_line_each() -> None:
    first, *lines = told("algo.gamma=2", "nett.hidden=[1]", "seed=-1").splitlines()
    assert first == "3 settings are wrong:"
    assert [line.split(":")[0].strip() for line in lines] == ["algo.gamma", "seed", "nett"]


def test_settings_that_do_not_fit_together() -> None:
    assert told("algo.num_minibatches=999").startswith("algo.num_minibatches: 999 minibatches cannot be cut")


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"algo": {"name": "ppo"}}, "env"),
        ({"env": {}, "algo": {"name": "ppo"}}, "env.id"),
        ({"env": {"id": "X"}, "algo": {}}, "algo.name"),
        ({"env": {"id": "X"}, "algo": {"name": "ppo", "optimizer": {"nam": "adam"}}}, "algo.optimizer.nam"),
        ({"env": {"id": "X", "wrappers": [{"a": 1}]}, "algo": {"name": "ppo"}}, "env.wrappers.0"),
    ],
)
def test_the_place_is_the_full_path(data: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate(data, "a test")
    assert caught.value.where == where


def test_a_wrong_key_of_a_schedule_names_the_right_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("CartPole-v1", ["algo.learning_rate={start: 1, stop: 0}"])
    assert "algo.learning_rate.stop" in str(caught.value)
    assert "A schedule has: start, end" in str(caught.value)


TASKS = ("env.tasks={small: {}, large: {}}",)
OF_TASKS = [
    (
        ("env.tasks.smal.share=2",),
        "env.tasks.smal.share: there is no task 'smal'. Did you mean 'small'? "
        "To add one: --set 'env.tasks={smal: {…}}'.",
    ),
    (("env.tasks.small.shar=2",), "Did you mean 'env.tasks.small.share'?"),
    (("curriculum=[small, larg]",), "'larg' is no task of env.tasks; did you mean 'large'?"),
    (("curriculum=[{name: small, promote: 3}, large]",), "Did you mean 'curriculum.stages.0.promote_at'?"),
    (("env.num_envs=1",), "2 tasks (small, large) need a copy each, and there are 1; raise env.num_envs"),
    (("explore=goexplore",), "'goexplore' is no bonus; for an archive of places write explore=go_explore"),
    (("net.memory=rnn",), "net.memory.cell: should be 'lstm' or 'gru', not 'rnn'"),
]


@pytest.mark.parametrize(("items", "message"), OF_TASKS, ids=[items[0] for items, _ in OF_TASKS])
def test_slips_with_tasks_stages_memory_and_exploration(items: tuple[str, ...], message: str) -> None:
    said = told(*TASKS, *items)
    assert message in said
    assert not said.endswith("?.")


def test_tasks_and_memory_can_be_named_in_short() -> None:
    config = resolve("CartPole-v1", ["env.tasks.a.share=2", "env.tasks.b.id=Acrobot-v1", "net.memory=gru"])
    assert set(config.config.env.tasks) == {"a", "b"}
    assert config.config.net.memory is not None
    assert config.config.net.memory.cell == "gru"
