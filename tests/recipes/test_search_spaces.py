"""Search spaces: how they are written, what is refused and where, and that nothing impossible is drawn."""

import itertools
import random

import pytest

from gymsolve.errors import ConfigError
from gymsolve.recipes import check_recipe_file, resolve
from gymsolve.recipes.files import find_recipe, list_recipes
from gymsolve.recipes.layers import merge_layers
from gymsolve.recipes.search.check import apply_values, check_space, setting_at
from gymsolve.recipes.search.derived import derive_space
from gymsolve.recipes.search.domains import Domain, read_domain
from gymsolve.recipes.search.fitting import draw_values, fit_values, misfit
from gymsolve.recipes.search.space import read_options, read_space
from gymsolve.recipes.validation import validate
from gymsolve.settings.config import TrainConfig

CARTPOLE = resolve("CartPole-v1").config
RECIPE = """\
env:
  id: Bandit-v0
search:
  algo.learning_rate: log(1e-5, 1e-2)
variants:
  ppo:
    algo: {num_steps: 16}
  a2c:
    search: {algo.num_steps: "pow2(4, 64)"}
    algo: {num_steps: 8}
"""


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("log(1e-5, 1e-2)", {"log": [1e-5, 1e-2]}),
        ("range(0.1, 0.4)", {"range": [0.1, 0.4]}),
        ("1-log(1e-4, 0.03)", {"one_minus_log": [1e-4, 0.03]}),
        ("int(1, 20)", {"int": [1, 20]}),
        ("logint(50, 5k)", {"logint": [50, 5000]}),
        ("pow2(32, 1024)", {"pow2": [32, 1024]}),
        ("choice([64], [64, 64])", {"choice": [[64], [64, 64]]}),
        ("choice(relu, tanh)", ["relu", "tanh"]),
    ],
)
def test_a_range_is_a_text_or_a_mapping_and_both_read_back(text, mapping):
    domain = read_domain(text, "here")
    assert domain == read_domain(mapping, "here")
    assert domain == read_domain(domain.to_json(), "here")
    assert domain == read_domain(str(domain), "here")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("log(1e-2, 1e-5)", "the range from 0.01 to 1e-05 is empty"),
        ("log(0, 1)", "begins above 0"),
        ("log(1)", "needs two bounds, not 1"),
        ("pow2(30, 1024)", "powers of two. Nearest: 32, 1024"),
        ("int(0.5, 3)", "whole numbers"),
        ("choice(3, 3)", "at least two different values"),
        ("lgo(1, 2)", "no range of the kind 'lgo'. Did you mean 'log'"),
        ("1-int(1, 2)", "1-int has no meaning"),
        ("0.1 to 0.3", "is no range of values"),
        ("range(1, .inf)", "should be finite"),
        ("range(a, 2)", "cannot read 'a' as a number"),
    ],
)
def test_a_wrong_range_is_one_sentence_with_its_place(text, fault):
    with pytest.raises(ConfigError, match=r"^--search: algo.gamma: ") as caught:
        read_options([f"algo.gamma={text}"])
    assert fault in str(caught.value)


def test_drawn_values_stay_inside_and_can_be_typed():
    rng = random.Random(1)
    for low, high in ((1e-5, 1e-2), (0.123456, 0.123457), (3e-4, 3.00001e-4)):
        log, less = Domain("log", low, high), Domain("one_minus_log", low, high)
        for _ in range(200):
            drawn = rng.uniform(low, high)
            assert low <= log.value_of(drawn) <= high
            assert 1 - high - 1e-12 <= less.value_of(drawn) <= 1 - low + 1e-12
            assert less.drawn_for(less.value_of(drawn)) is not None or low > 0.1
    assert Domain("log", 1e-5, 1e-2).value_of(0.000123456) == 0.0001235


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["algo.gama=range(0.1, 0.2)"], "algo.gama: unknown key. Did you mean 'algo.gamma'?"),
        (["algo.gamma=range(0.9, 1.1)"], "algo.gamma: should be between 0 and 1, not 1.1"),
        (["algo.n_step=int(1, 3)"], "ppo has no such setting; it belongs to dqn"),
        (["net.activation=choice(relu, rely)"], "net.activation: should be"),
        (["seed=int(1, 3)"], "cannot be searched: a sweep trains every configuration on the same seeds"),
        (["eval.episodes=int(1, 3)"], "judged in the same way"),
        (["threads=int(1, 2)"], "tune-speed"),
        (["algo.num_minibatches=pow2(512, 1024)"], "no value of pow2(512, 1024) fits the other settings"),
        (["algo.gamma=range(0.9, 1) if algo.name=dqn"], "never holds: algo.name is ppo, and not searched"),
        (["algo.gamma=range(0.9, 1) if algo.nam=dqn"], "its condition names no setting: algo.nam"),
        (["algo.gamma=range(0.9, 1) if algo.gamma=1"], "its condition depends on itself"),
    ],
)
def test_a_space_that_contradicts_the_settings_is_refused_with_place_and_fix(options, fault):
    with pytest.raises(ConfigError) as caught:
        check_space(read_options(options), CARTPOLE)
    assert str(caught.value).startswith("--search: ")
    assert fault in str(caught.value)


def test_wrappers_options_and_networks_can_be_searched():
    options = [
        "env.wrappers=choice([], [pole_centring])",
        "env.kwargs.sutton_barto_reward=choice(true, false)",
        "net.activation=choice(relu, tanh)",
        "algo.learning_rate.start=log(1e-4, 1e-2)",
    ]
    space = read_options(options)
    check_space(space, CARTPOLE)
    drawn = draw_values(
        space, CARTPOLE, lambda each: each.domain.choices[-1] if each.domain.choices else 0.002
    )
    config = apply_values(CARTPOLE, drawn)
    assert isinstance(config, TrainConfig)
    assert config.env.wrappers[0].name == "pole_centring"
    assert config.algo.learning_rate.start == 0.002
    assert config.algo.learning_rate.end == 0.0  # the recipe's schedule keeps its shape


def test_a_condition_decides_whether_a_setting_counts():
    space = read_space(
        {
            "algo": {
                "num_epochs": {"int": [2, 8], "when": {"algo.name": "ppo"}},
                "name": ["ppo", "a2c"],
                "gae_lambda": "range(0.8, 1) if algo.num_epochs=[2, 3] and algo.name=ppo",
            }
        },
        "file",
    )
    check_space(space, CARTPOLE)
    assert [each.path for each in space] == ["algo.name", "algo.num_epochs", "algo.gae_lambda"]
    given = {"algo.name": "a2c", "algo.num_epochs": 2, "algo.gae_lambda": 0.9}
    for name, epochs in itertools.product(("ppo", "a2c"), (2, 5)):
        now = given | {"algo.name": name, "algo.num_epochs": epochs}
        expected = {"ppo": {2: set(given), 5: {"algo.name", "algo.num_epochs"}}, "a2c": {}}[name]
        drawn = draw_values(space, CARTPOLE, lambda each, now=now: now[each.path])
        assert set(drawn) == expected.get(epochs, {"algo.name"})
        assert isinstance(apply_values(CARTPOLE, drawn), TrainConfig)


def test_no_impossible_combination_is_drawn_and_possible_ones_stay_as_they_are():
    options = ["env.num_envs=pow2(1, 64)", "algo.num_steps=pow2(8, 4096)", "algo.num_minibatches=pow2(1, 64)"]
    space = read_options(options)
    check_space(space, CARTPOLE)
    base = CARTPOLE.model_copy(update={"steps": 20_000})
    moved = 0
    for envs, steps, parts in itertools.product(*([2**n for n in range(7)], [8, 64, 4096], [1, 4, 64])):
        values = {"env.num_envs": envs, "algo.num_steps": steps, "algo.num_minibatches": parts}
        fits = steps * envs * 10 <= 20_000 and steps * envs % parts == 0
        fitted = fit_values(space, base, values)
        assert fitted is not None
        assert (fitted == values) == fits
        moved += not fits
        batch = fitted["env.num_envs"] * fitted["algo.num_steps"]
        assert batch * 10 <= 20_000
        assert batch % fitted["algo.num_minibatches"] == 0
    assert moved > 20


def test_a_derived_space_holds_the_recipe_for_every_bundled_recipe():
    for recipe in list_recipes():
        config = validate(merge_layers(recipe.layers, {})[0], recipe.name)
        space = derive_space(config, 1000)
        assert len(space) >= 2, recipe.name
        check_space(space, config)
        for each in space:
            assert each.reason
            assert each.domain.drawn_for(setting_at(config, each.path)) is not None, (recipe.name, each.path)


@pytest.mark.parametrize("variant", ["ppo", "a2c", "reinforce", "dqn", "pqn"])
def test_whatever_is_drawn_from_a_derived_space_fits_together(variant):
    config = resolve(f"CartPole-v1:{variant}").config
    space, rng = derive_space(config, 500), random.Random(variant)

    def draw(each):
        domain = each.domain
        if domain.kind == "choice":
            return rng.choice(domain.choices)
        values = [domain.low, *reversed(domain.lower(domain.high)), domain.high]
        return rng.choice(values) if domain.kind != "range" else rng.uniform(domain.low, domain.high)

    for _ in range(40):
        values = fit_values(space, config, draw_values(space, config, draw))
        assert values is not None
        trained = apply_values(config, values)
        assert isinstance(trained, TrainConfig)
        assert misfit(trained) is None


def test_a_recipe_file_may_hold_a_space_and_it_is_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "recipes" / "Bandit-v0.yaml"
    path.parent.mkdir()
    path.write_text(RECIPE)
    assert check_recipe_file(path) == []
    assert list(find_recipe("Bandit-v0:ppo").search) == ["algo.learning_rate"]
    assert list(find_recipe("Bandit-v0:a2c").search) == ["algo.num_steps"]
    assert resolve("Bandit-v0:a2c").config.algo.num_steps == 8
    path.write_text(
        RECIPE.replace("log(1e-5, 1e-2)", "log(1e-2, 1e-5)").replace("pow2(4, 64)", "pow2(4, 63)")
    )
    faults = check_recipe_file(path)
    assert [fault.partition(": [search]: ")[2] for fault in faults] == [
        "algo.learning_rate: the range from 0.01 to 1e-05 is empty. Give the lower bound first."
        " (variant ppo)",
        "algo.num_steps: the bounds of pow2 should be powers of two. Nearest: 4, 64. (variant a2c)",
    ]
    assert all(fault.startswith(str(path)) for fault in faults)
