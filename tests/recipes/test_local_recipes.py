"""Recipes of one's own: `auto` in them, and variants written by tools."""

import pytest

from gymsolve.errors import UsageError
from gymsolve.recipes import check_recipe_file, flatten, format_recipe_file, resolve
from gymsolve.recipes.local import write_variant


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GYMSOLVE_RECIPES", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["CartPole-v1:ppo", "LunarLander-v3", "CartPole-v1:a2c", "BipedalWalker-v3"])
def test_a_written_variant_means_the_same_but_for_its_changes(name):
    resolved = resolve(name)
    path, new = write_variant(resolved, {"env.num_envs": 24, "threads": 2}, "tuned", ["Measured: yes."])

    assert new == f"{resolved.name}_tuned"
    assert path.read_text().startswith("# Measured: yes.\n")
    assert check_recipe_file(path) == []
    assert format_recipe_file(path, write=False) is False
    before, after = flatten(resolved.config), flatten(resolve(new).config)
    changed = {key for key in after if after[key] != before[key]}
    assert changed - {"description"} == {"env.num_envs", "threads"}
    base = resolved.name.rpartition(":")[0]
    assert resolve(base).name == new  # one's own comes first


def test_a_file_of_ones_own_is_never_overwritten(place):
    resolved = resolve("CartPole-v1")
    (place / "recipes").mkdir()
    (place / "recipes" / "CartPole-v1.yaml").write_text("mine")
    with pytest.raises(UsageError, match="there is such a file already"):
        write_variant(resolved, {}, "tuned", [])
    assert (place / "recipes" / "CartPole-v1.yaml").read_text() == "mine"


def test_a_recipe_may_say_auto(place):
    (place / "recipes").mkdir()
    path = place / "recipes" / "Mine-v0.yaml"
    path.write_text("env: {id: Mine-v0, num_envs: auto}\nthreads: auto\nvariants: {ppo: {}}\n")
    assert check_recipe_file(path) == []
    assert resolve("Mine-v0").automatic == ("env.num_envs", "threads")
    assert resolve("Mine-v0", {"threads": 2}).automatic == ("env.num_envs",)


def test_a_written_variant_reads_as_if_written_by_hand_and_hides_no_derived_one(place):
    derived = {"algo": {"name": "ppo", "num_epochs": 10, "ent_coef": 0.0}, "env": {"kwargs": {"speed": 2.0}}}
    path, new = write_variant(resolve("mine:New-v0", derived=derived), {"env.num_envs": 4}, "tuned", [])
    text = path.read_text()
    assert "num_epochs: 10\n" in text
    assert "speed: 2.0\n" in text
    assert "description: Tuned\n" in text
    assert resolve("mine:New-v0").name == new == "mine:New-v0:ppo_tuned"


def test_a_recipe_is_found_by_its_id_whatever_its_file_is_called(place):
    (place / "recipes").mkdir()
    for name, env_id, variant in [("holiday", "mine:New-v0", "calm"), ("zz", "CartPole-v1", "odd")]:
        text = f"env: {{id: '{env_id}'}}\nvariants: {{{variant}: {{algo: {{name: ppo}}}}}}\n"
        (place / "recipes" / f"{name}.yaml").write_text(text)
    assert resolve("mine:New-v0").name == resolve("holiday").name == "holiday:calm"
    assert resolve("CartPole-v1").name == "CartPole-v1:ppo"  # called after its id, so it comes first
    assert resolve("CartPole-v1:odd").name == "zz:odd"
    with pytest.raises(UsageError, match=r"Did you mean 'mine:New-v0'\?"):
        resolve("mine:Nwe-v0")
