"""Finding recipes, laying their layers over one another, and saying where each value came from."""

import copy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsolve.errors import ConfigError, UnknownEnvError
from gymsolve.recipes import (
    apply_overrides,
    explain,
    find_recipe,
    flatten,
    has_recipe,
    list_recipes,
    parse_overrides,
    resolve,
    search_recipes,
    split_name,
    validate,
)
from gymsolve.recipes.files import uses_recipe
from gymsolve.settings.config import TrainConfig

SHIPPED = [recipe.name for recipe in list_recipes()]

LAKE = """
description: A lake
family: water
env: {id: Lake-v0, num_envs: 2, kwargs: {depth: 1, ice: {thick: true, cold: true}}}
net: {hidden: [8]}
algos:
  ppo: {num_steps: 32}
  reinforce: {num_steps: 99}
steps: 1000
variants:
  ppo:
    algo: {gamma: 0.5, learning_rate: {start: 1, end: 0}}
  tuned:
    description: Better
    algo: {name: ppo, learning_rate: {points: [[0, 1], [1, 0]]}, clip_coef: 0.3}
    env: {kwargs: {ice: {cold: false}}}
    eval: {every: 10%}
  a2c:
"""
WATER = """
description: Wet places
env: {num_envs: 4, frame_stack: 2}
net: {activation: relu, hidden: [1, 2, 3]}
algo: {gamma: 0.9, clip_coef: 0.1}
"""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one recipe of its own."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "Lake-v0.yaml").write_text(LAKE)
    (folder / "_water.yaml").write_text(WATER)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_recipes_resolve(name: str) -> None:
    resolved = resolve(name)
    assert resolved.name == name
    assert resolved.config.description
    assert validate(resolved.config.model_dump(mode="json")) == resolved.config
    assert set(resolved.provenance) == set(flatten(resolved.config))


def test_the_promised_recipes_are_shipped() -> None:
    promised = (
        "CartPole-v1:ppo CartPole-v1:a2c CartPole-v1:reinforce Acrobot-v1:ppo MountainCar-v0:ppo "
        "MountainCarContinuous-v0:ppo Pendulum-v1:ppo LunarLander-v3:ppo LunarLanderContinuous-v3:ppo "
        "BipedalWalker-v3:ppo FrozenLake-v1:ppo FrozenLake-v1:reinforce FrozenLake8x8-v1:ppo Taxi-v4:ppo "
        "CliffWalking-v1:ppo Blackjack-v1:ppo Bandit-v0:ppo Bandit-v0:a2c Bandit-v0:reinforce"
    )
    assert set(promised.split()) <= set(SHIPPED)


def test_the_first_variant_is_the_default() -> None:
    assert find_recipe("CartPole-v1").name == "CartPole-v1:ppo"


def test_precedence_and_provenance(lake: Path) -> None:
    resolved = resolve("Lake-v0", ["seed=7", "env.kwargs.depth=5"])
    expected = {
        "env.frame_stack": (2, "family water"),
        "net.activation": ("relu", "family water"),
        "env.num_envs": (2, "recipe"),
        "net.hidden": ([8], "recipe"),
        "algo.num_steps": (32, "recipe"),
        "algo.clip_coef": (0.1, "family water"),
        "algo.gamma": (0.5, "variant"),
        "algo.name": ("ppo", "variant"),
        "seed": (7, "--set"),
        "env.kwargs.depth": (5, "--set"),
        "env.kwargs.ice.thick": (True, "recipe"),
        "algo.vf_coef": (0.5, "default"),
        "eval.episodes": (20, "default"),
    }
    rows = {path: (value, source) for path, value, source in explain(resolved)}
    assert {path: rows[path] for path in expected} == expected
    assert resolved.to_json()["provenance"]["seed"] == "--set"


def test_a_schedule_is_replaced_as_a_whole(lake: Path) -> None:
    tuned = resolve("Lake-v0:tuned").config.algo
    assert tuned.learning_rate.points == ((0, 1), (1, 0))
    assert tuned.learning_rate.start is None


def test_free_mappings_merge_deeply(lake: Path) -> None:
    kwargs = resolve("Lake-v0:tuned").config.env.kwargs
    assert kwargs == {"depth": 1, "ice": {"thick": True, "cold": False}}


def test_shares_follow_the_budget_in_force(lake: Path) -> None:
    assert resolve("Lake-v0:tuned").config.eval.every == 100
    assert resolve("Lake-v0:tuned", ["steps=50k"]).config.eval.every == 5000


def test_settings_of_one_algorithm_do_not_leak_into_another(lake: Path) -> None:
    a2c = resolve("Lake-v0:a2c")
    assert a2c.config.algo.name == "a2c"
    assert a2c.config.algo.num_steps == 5  # not ppo's 32
    assert a2c.config.algo.gamma.start == 0.9  # shared by the family
    assert a2c.provenance["algo.gamma"] == "family water"
    switched = resolve("Lake-v0:ppo", ["algo.name=reinforce"])
    assert switched.config.algo.num_steps == 99
    assert switched.config.algo.gamma.start == 0.9  # 0.5 was ppo's
    assert switched.provenance["algo.name"] == "--set"


def test_a_variant_without_a_name_takes_the_algorithm_below(lake: Path) -> None:
    (lake / "Pond-v0.yaml").write_text(
        "env: {id: Pond-v0}\nalgo: {name: a2c}\nvariants: {small: {algo: {num_steps: 3}}, ppo: {}}\n"
    )
    assert resolve("Pond-v0").config.algo.num_steps == 3
    assert resolve("Pond-v0", ["algo.name=ppo"]).config.algo.num_steps == 128
    assert resolve("Pond-v0:ppo").config.algo.name == "ppo"


def test_later_folders_shadow_and_add_variants(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "CartPole-v1.yaml").write_text(
        "env: {id: CartPole-v1}\nvariants: {mine: {algo: {name: ppo}}, a2c: {steps: 77}}\n"
    )
    assert find_recipe("CartPole-v1").variant == "mine"
    assert resolve("CartPole-v1:a2c").config.steps == 77
    assert resolve("CartPole-v1:ppo").config.steps == 100_000
    other = tmp_path / "other"
    other.mkdir()
    (other / "CartPole-v1.yaml").write_text("env: {id: CartPole-v1}\nvariants: {a2c: {steps: 88}}\n")
    monkeypatch.setenv("GYMSOLVE_RECIPES", str(other))
    assert resolve("CartPole-v1:a2c").config.steps == 88
    assert [r.variant for r in list_recipes() if r.base == "CartPole-v1"] == [
        "a2c",
        "mine",
        "ppo",
        "reinforce",
        "ppo_centred",
        "pixels",
        "positions",
        "dqn",
        "pqn",
    ]


def test_a_slash_in_an_id_is_a_dash_in_the_file_name(lake: Path) -> None:
    (lake / "ALE-Game-v5.yaml").write_text("env: {id: ALE/Game-v5}\nvariants: {ppo: }\n")
    assert find_recipe("ale/game-v5").name == "ALE/Game-v5:ppo"
    assert find_recipe("ALE-Game-v5:PPO").env_id == "ALE/Game-v5"


def test_a_file_may_be_named_for_its_purpose(lake: Path) -> None:
    (lake / "Big-Lake.yaml").write_text(
        "env: {id: Lake-v0, kwargs: {size: 9}}\nvariants: {ppo: , slow: {algo: {name: ppo}}}\n"
    )
    assert resolve("big-lake:slow").name == "Big-Lake:slow"
    assert resolve("Big-Lake").config.env.id == "Lake-v0"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("CartPole-v1", ("CartPole-v1", None)),
        ("CartPole-v1:ppo", ("CartPole-v1", "ppo")),
        ("CartPole-v1:whatever", ("CartPole-v1", "whatever")),
        ("module:Env-v0", ("module:Env-v0", None)),
        ("module:Env-v0:ppo", ("module:Env-v0", "ppo")),
        ("Env:a2c", ("Env", "a2c")),
        ("module:Env", ("module:Env", None)),
    ],
)
def test_split_name(name: str, parts: tuple[str, str | None]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("CartPol-v1", "there is no recipe for 'CartPol-v1'. Did you mean 'CartPole-v1'"),
        ("Qwxyz", "there is no recipe for 'Qwxyz'. `gymsolve recipes` lists them; `gymsolve check` shows"),
        (
            "CartPole-v1:pppo",
            "CartPole-v1 has no variant 'pppo'. Did you mean 'ppo'? It has: ppo, a2c, reinforce, "
            "ppo_centred, pixels, positions, dqn, pqn.",
        ),
    ],
)
def test_unknown_names(name: str, told: str) -> None:
    with pytest.raises(UnknownEnvError) as caught:
        find_recipe(name)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("cartpole", "CartPole-v1:ppo"),
        ("CARTPOLE reinforce", "CartPole-v1:reinforce"),
        ("cartpoel", "CartPole-v1:ppo"),
    ],
)
def test_search_by_name(query: str, first: str) -> None:
    assert search_recipes(query)[0].name == first


def test_search_by_description_family_and_nothing() -> None:
    assert {recipe.base for recipe in search_recipes("passenger")} == {"Taxi-v4"}
    assert {recipe.base for recipe in search_recipes("box2d")} >= {"LunarLander-v3", "BipedalWalker-v3"}
    assert search_recipes("qqqqqqqq") == []
    assert [recipe.name for recipe in search_recipes("")] == SHIPPED


def test_overrides_parse_as_yaml() -> None:
    items = [
        "a.b=1e-3",
        "c=[1, two]",
        "d={x: null}",
        "e=None",
        "f=true",
        "g=1 -> 0",
        "h=5%",
        "i=x=y",
        "a.b=2",
    ]
    assert parse_overrides(items) == {
        "c": [1, "two"],
        "d": {"x": None},
        "e": None,
        "f": True,
        "g": "1 -> 0",
        "h": "5%",
        "i": "x=y",
        "a.b": 2,
    }


@pytest.mark.parametrize("item", ["gamma", "=3", "a..b=1", ".a=1", "a=[1", "a=@x"])
def test_overrides_refused(item: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_overrides([item])
    assert caught.value.where == "--set"
    assert repr(item) in caught.value.message


def test_overrides_reach_kwargs_and_wrappers() -> None:
    config = resolve(
        "FrozenLake-v1", ["env.kwargs.map_name=8x8", "env.wrappers=[{time_limit: {steps: 9}}]"]
    ).config
    assert config.env.kwargs == {"map_name": "8x8"}
    assert config.env.wrappers[0].options == {"steps": 9}


def test_overrides_step_into_schedules() -> None:
    config = resolve("CartPole-v1", ["algo.learning_rate.end=1e-5", "algo.ent_coef.end=0.1"]).config
    assert (config.algo.learning_rate.start, config.algo.learning_rate.end) == (1e-3, 1e-5)
    assert (config.algo.ent_coef.start, config.algo.ent_coef.end) == (0, 0.1)


def test_apply_overrides_reports_changes() -> None:
    config = resolve("CartPole-v1").config
    new, changed = apply_overrides(config, {"steps": "200k", "algo.gamma": 0.98, "env.kwargs.x": 1})
    assert changed == {"env.kwargs.x": (None, 1), "env.kwargs": ({}, None), "steps": (100_000, 200_000)}
    assert new.steps == 200_000
    assert config.steps == 100_000
    assert apply_overrides(config, ()) == (config, {})


def test_has_recipe_looks_at_the_environment_only() -> None:
    assert has_recipe("cartpole-v1")
    assert has_recipe("CartPole-v1:no_such_variant")
    assert not has_recipe("module:New-v0")


def test_the_variant_derived_uses_no_recipe_unless_a_file_has_it(lake: Path) -> None:
    assert split_name("CartPole-v1:Derived") == ("CartPole-v1", "Derived")
    assert split_name("module:New:derived") == ("module:New", "derived")
    assert [uses_recipe(name) for name in ("CartPole-v1", "CartPole-v1:derived", "CartPole-v1:DERIVED")] == [
        True,
        False,
        False,
    ]
    assert resolve("CartPole-v1:derived", derived={"algo": {"name": "a2c"}}).name == "CartPole-v1:derived"
    with pytest.raises(UnknownEnvError, match="Did you mean 'derived'"):
        find_recipe("CartPole-v1:derive")
    (lake / "Lake-v0.yaml").write_text(
        "env: {id: Lake-v0}\nvariants: {derived: {algo: {name: ppo, num_steps: 7}}}\n"
    )
    assert uses_recipe("Lake-v0:derived")
    assert resolve("Lake-v0:derived").config.algo.num_steps == 7


def test_derived_settings_stand_in_for_a_recipe() -> None:
    derived = {"family": "classic_control", "algo": {"name": "ppo", "gamma": 0.97}, "steps": 5000}
    resolved = resolve("module:New-v0", ["seed=1"], derived=derived)
    assert resolved.name == "module:New-v0:ppo"
    assert resolved.config.env.id == "module:New-v0"
    assert resolved.provenance["algo.gamma"] == "derived"
    assert resolved.provenance["net.hidden"] == "family classic_control"
    assert resolved.provenance["seed"] == "--set"
    assert resolve("New-v0:a2c", derived=derived).config.algo.name == "a2c"


def test_resolving_changes_none_of_its_input(lake: Path) -> None:
    recipe = find_recipe("Lake-v0:tuned")
    derived: dict[str, Any] = {"algo": {"name": "ppo"}, "env": {"kwargs": {"a": {"b": 1}}}}
    overrides: dict[str, Any] = {"env.kwargs.a": {"c": 2}, "net.hidden": [4]}
    before = copy.deepcopy((recipe.layers, derived, overrides))
    resolve("X-v0", overrides, derived=derived).config.env.kwargs["a"]["b"] = 3
    assert (recipe.layers, derived, overrides) == before


@given(st.dictionaries(st.sampled_from(["algo.gamma", "algo.gae_lambda", "net.dropout"]), st.floats(0, 0.9)))
def test_any_override_wins_and_is_attributed(overrides: Mapping[str, float]) -> None:
    resolved = resolve("CartPole-v1", overrides)
    rows = {path: (value, source) for path, value, source in explain(resolved)}
    for path, value in overrides.items():
        assert rows[path] == (value, "--set")


def test_loading_stays_light() -> None:
    code = (
        "import sys; from gymsolve.recipes import resolve; resolve('CartPole-v1');"
        "print(sorted({'torch', 'numpy', 'gymnasium'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_field_is_reachable_by_its_path() -> None:
    config = resolve("CartPole-v1").config
    again, changed = apply_overrides(config, flatten(config))
    assert isinstance(again, TrainConfig)
    assert changed == {}


@pytest.mark.parametrize(
    "asked", ["explore=go_explore", "explore.archive={}", "env.tasks={a: {max_episode_steps: 9}, b: {}}"]
)
def test_a_section_with_its_defaults_tells_who_asked_for_it(asked: str) -> None:
    resolved = resolve("MountainCar-v0", [asked])
    said = {path: value for path, value, source in explain(resolved) if source == "--set"}
    # Whatever repeats a run by what was set, as the report's command does, ends at the same settings.
    assert resolve("MountainCar-v0", said).config == resolved.config
    assert resolved.config != resolve("MountainCar-v0").config
    given = resolve("MountainCar-v0", ["explore.archive.true_starts=0.1"]).provenance
    assert [path for path, source in given.items() if source == "--set"] == ["explore.archive.true_starts"]
