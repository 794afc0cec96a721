"""Checking and formatting recipe files."""

from pathlib import Path

import pytest

from gymsolve import recipes
from gymsolve.errors import ConfigError
from gymsolve.recipes import check_recipe_file, format_recipe_file, index
from gymsolve.recipes.files import load_recipes
from gymsolve.recipes.yaml_reading import parse_yaml

ZOO = sorted((Path(recipes.__file__).parent.parent / "zoo").glob("*.yaml"))

UNTIDY = """\
# Head of the file.

# about steps
steps: 1e5   # at the end of a line
description: x
variants:

  # about zeta
  zeta:
    # about algo
    algo: {gamma: 0.9, num_steps: 3, name: ppo}
    description: d
  alpha:
    algo:
      # about epochs
      num_epochs: 2
      name: ppo
      # about lr
      learning_rate: {end: 0, start: 1}
# about env
env:
  # about copies
  num_envs: 4
  id: Some-v1
  kwargs: {z: 1, a: 2}
# foot
"""
TIDY = """\
# Head of the file.

description: x
# about env
env:
  id: Some-v1
  kwargs: {z: 1, a: 2}
  # about copies
  num_envs: 4
# about steps
steps: 1e5   # at the end of a line
variants:
  # about zeta
  zeta:
    description: d
    # about algo
    algo: {name: ppo, num_steps: 3, gamma: 0.9}
  alpha:
    algo:
      name: ppo
      # about lr
      learning_rate: {start: 1, end: 0}
      # about epochs
      num_epochs: 2
# foot
"""


def write(folder: Path, text: str, name: str = "Some-v1.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_shipped_files_are_valid_and_canonical(path: Path) -> None:
    assert check_recipe_file(path) == []
    assert not format_recipe_file(path, write=False)


def test_format_orders_keys_and_keeps_comments(tmp_path: Path) -> None:
    path = write(tmp_path, UNTIDY)
    assert format_recipe_file(path, write=False)
    assert path.read_text() == UNTIDY
    assert format_recipe_file(path, write=True)
    assert path.read_text() == TIDY
    assert not format_recipe_file(path, write=True)


def test_format_keeps_texts_of_several_lines(tmp_path: Path) -> None:
    text = "env:\n  id: Some-v1\ndescription: |\n  one\n\n  # not a comment\nvariants:\n  ppo: {}\n"
    path = write(tmp_path, text)
    format_recipe_file(path, write=True)
    assert path.read_text().startswith("description: |\n  one\n\n  # not a comment\nenv:\n")


def test_format_refuses_to_change_the_meaning(tmp_path: Path) -> None:
    text = "variants:\n  ppo: {net: &net {hidden: [3]}}\nenv: {id: Some-v1}\nnet: *net\n"
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match="without changing its meaning"):
        format_recipe_file(path, write=True)
    assert path.read_text() == text


FAULTS = """\
env:
  id: Some-v1
  num_envs: 0
algos:
  pop: {}
  reinforce:
    gamma: 3
variants:
  ppo:
    algo:
      gama: 0.9
  slow:
    algo: {name: a2c}
    nett: {}
  fast:
    algo: {name: ppo}
    eval:
      episodes: few
"""


def test_check_finds_every_planted_fault(tmp_path: Path) -> None:
    path = write(tmp_path, FAULTS)
    assert check_recipe_file(path) == [
        f"{path}:3: [env] env.num_envs: should be greater than 0, not 0.",
        f"{path}:11: [algo] algo.gama: unknown key. Did you mean 'algo.gamma'? (variant ppo)",
        f"{path}:14: [run] nett: unknown key. Did you mean 'net'? (variant slow)",
        f"{path}:18: [eval] eval.episodes: should be a whole number, not 'few'. (variant fast)",
        f"{path}:5: [run] algos.pop: unknown algorithm. Did you mean 'ppo'?",
        f"{path}:7: [algo] algo.gamma: should be between 0 and 1, not 3.",
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1", ":1: not valid YAML"),
        ("a: 1\na: 2\n", "not valid YAML: found duplicate key"),
        ("- 1\n", "should hold a mapping."),
        ("variants: {ppo: }\n", "a recipe needs `env.id`."),
        ("env: {id: Some-v1}\n", "a recipe needs `variants`"),
        ("env: {id: Some-v1}\nvariants: {ppo: 3}\n", "variants.ppo: should be a mapping."),
        ("env: {id: Some-v1}\nvariants: {mine: {}}\n", "algo: is required."),
        ("env: {id: Some-v1}\nfamily: toy_txt\nvariants: {ppo: }\n", "Did you mean 'toy_text'?"),
        (
            "env: {id: Some-v1, wrappers: [frm_skip]}\nvariants: {ppo: }\n",
            ":1: [env] env.wrappers.0: unknown wrapper",
        ),
        ("env: {id: Some-v1}\nvariants: {ppo: {family: toy_text}}\n", ":2: [run] family: unknown key"),
        ("env: {id: Some-v1}\nalgos: 3\nvariants: {ppo: }\n", ":2: [run] algos: should be a mapping"),
    ],
)
def test_check_tells_what_is_missing_or_malformed(tmp_path: Path, text: str, part: str) -> None:
    (fault,) = check_recipe_file(write(tmp_path, text))
    assert part in fault


def test_check_reads_families_too(tmp_path: Path) -> None:
    path = write(tmp_path, "net:\n  hiden: [3]\nalgos:\n  a2c: {clip_coef: 1}\n", "_wet.yaml")
    assert check_recipe_file(path) == [
        f"{path}:2: [net] net.hiden: unknown key. Did you mean 'net.hidden'?",
        f"{path}:4: [algo] algo.clip_coef: a2c has no such setting; it belongs to ppo.",
    ]


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        check_recipe_file(tmp_path / "None-v1.yaml")


def test_the_index_holds_exactly_what_the_bundled_files_say():
    for path in ZOO:
        text = path.read_text()
        assert index.indexed(path, text) == parse_yaml(text, path.name), f"{path.name}; run: make docs"


def test_an_edited_bundled_file_is_read_anew(tmp_path, monkeypatch):
    original = next(path for path in ZOO if path.name == "Bandit-v0.yaml")
    edited = tmp_path / original.name
    edited.write_text(original.read_text().replace("env:", "steps: 77\nenv:", 1))
    monkeypatch.setattr(index, "ZOO", tmp_path)

    assert load_recipes(edited)[0].layers[-2][1]["steps"] == 77
    edited.write_text(original.read_text())
    assert load_recipes(edited)[0].layers[-2][1] == load_recipes(original)[0].layers[-2][1]


def test_every_bundled_recipe_says_what_it_was_trained_to():
    assert [one.name for one in recipes.list_recipes() if "trained here" not in one.known] == []


BY_VARIANT = """
description: d
known:
  threshold: as registered
  trained here:
    ppo: reached after 5 steps
    slow: "not trained yet: 3 after 7 steps"
env: {id: CartPole-v1}
variants: {ppo: {}, slow: {algo: {name: ppo}}, new: {algo: {name: ppo}}}
"""


@pytest.fixture
def by_variant(tmp_path):
    """Variants of a file that tells their trainings one by one."""
    file = tmp_path / "CartPole-v1.yaml"
    file.write_text(BY_VARIANT)
    assert check_recipe_file(file) == []
    return {recipe.variant: recipe for recipe in load_recipes(file)}


def test_a_variant_tells_its_own_training_and_those_of_others(by_variant):
    assert by_variant["ppo"].known == {
        "threshold": "as registered",
        "trained here": "reached after 5 steps",
        "other variants": "`slow` not trained yet: 3 after 7 steps",
    }
    assert [recipe.trained for recipe in by_variant.values()] == [True, False, False]


def test_a_variant_without_a_word_of_evidence_says_so(by_variant):
    known = by_variant["new"].known
    assert known["trained here"] == "not trained to its threshold by this project yet"
    assert known["other variants"].startswith("`ppo` reached after 5 steps; `slow` not trained yet")


def test_one_text_is_about_all_variants_and_no_text_about_none(tmp_path):
    file = tmp_path / "CartPole-v1.yaml"
    for line, trained in (("  trained here: not trained", False), ("  threshold: ours", None)):
        file.write_text(f"known:\n{line}\nenv: {{id: CartPole-v1}}\nvariants: {{ppo: {{}}, a2c: {{}}}}\n")
        assert [recipe.trained for recipe in load_recipes(file)] == [trained, trained]


def test_evidence_for_a_variant_that_does_not_exist_is_refused(tmp_path):
    file = tmp_path / "CartPole-v1.yaml"
    file.write_text(BY_VARIANT.replace("slow:", "slwo:", 1))
    (fault,) = check_recipe_file(file)
    assert (
        "known.trained here: 'slwo' is no variant of this recipe. The variants are: ppo, slow, new." in fault
    )


def test_bundled_files_with_several_variants_tell_results_by_variant():
    """One text may say of all variants that none was trained, but a result belongs to one of them."""
    files = {path: load_recipes(path) for path in ZOO if not path.name.startswith("_")}
    shared = [
        path.name
        for path, variants in files.items()
        if len(variants) > 1 and isinstance(parse_yaml(path.read_text(), "")["known"]["trained here"], str)
    ]
    trained = {recipe.path.name for recipe in recipes.list_recipes() if recipe.trained}
    assert trained.intersection(shared) == set()


def test_nobody_can_change_what_the_index_holds():
    path = ZOO[0]
    index.indexed(path, path.read_text()).clear()
    assert index.indexed(path, path.read_text())


# ------------------------------------------------------------------------- what is known of an environment


def test_known_facts_reach_the_reader_and_no_run(tmp_path):
    file = tmp_path / "recipes" / "CartPole-v1.yaml"
    file.parent.mkdir()
    file.write_text(
        "description: d\nknown:\n  threshold: as registered\n  the most: 500\n"
        "env: {id: CartPole-v1}\nvariants: {ppo: {}}\n"
    )
    assert check_recipe_file(file) == []
    (recipe,) = load_recipes(file)
    assert recipe.known == {"threshold": "as registered", "the most": "500"}
    assert all("known" not in settings for _, settings in recipe.layers)


@pytest.mark.parametrize("known", ["[a, b]", "text", "{a: {b: c}}", "{a: [1]}"])
def test_known_facts_are_names_with_texts(tmp_path, known):
    file = tmp_path / "x.yaml"
    file.write_text(f"known: {known}\nenv: {{id: CartPole-v1}}\nvariants: {{ppo: {{}}}}\n")
    assert check_recipe_file(file) == [f"{file}: known: should be a mapping of names to texts."]
