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
