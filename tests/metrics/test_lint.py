"""Settings that rarely work are named with the change that mends them; the shipped recipes have none."""

from typing import Any

import pytest
from stories import make_config, make_spec

from gymsolve.doctor.lint import lint
from gymsolve.envs.describe import describe_env
from gymsolve.recipes import apply_overrides, list_recipes, resolve

CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # finding, settings that have it, settings at its border, spaces
    ("uneven_minibatches", {"algo": {"num_minibatches": 6}}, {"algo": {"num_minibatches": 8}}, {}),
    ("small_minibatches", {"algo": {"num_minibatches": 128}}, {"algo": {"num_minibatches": 64}}, {}),
    ("few_updates", {"steps": 10_239}, {"steps": 10_240}, {}),
    ("rate_high", {"algo": {"learning_rate": 0.03}}, {"algo": {"learning_rate": 0.02}}, {}),
    ("rate_low", {"algo": {"learning_rate": 9e-7}}, {"algo": {"learning_rate": 1e-6}}, {}),
    ("bonus_high", {"algo": {"ent_coef": 0.5}}, {"algo": {"ent_coef": 0.4}}, {}),
    ("clip_closed", {"algo": {"clip_coef": 0.0}}, {"algo": {"clip_coef": "0.2 -> 0"}}, {}),
    ("values_untrained", {"algo": {"vf_coef": 0.0}}, {"algo": {"vf_coef": 0.1}}, {}),
    ("few_episodes", {"eval": {"episodes": 4}}, {"eval": {"episodes": 5}}, {}),
    ("rare_evaluations", {"eval": {"every": 50_001}}, {"eval": {"every": 50_000}}, {}),
    (
        "other_discount",
        {"env": {"wrappers": [{"hill_energy": {"gamma": 0.98}}]}},
        {"env": {"wrappers": [{"hill_energy": {"gamma": 0.99}}]}},
        {},
    ),
    (
        "shared_lessons",
        {"env": {"tasks": {"a": {}, "b": {}}}, "explore": "go_explore"},
        {"env": {"tasks": {"a": {}, "b": {}}}, "explore": {"archive": {"learn_from": "nothing"}}},
        {},
    ),
    ("short_sight", {"algo": {"gamma": 0.9}}, {"algo": {"gamma": 0.96}}, {}),
    ("no_motion", {}, {"env": {"frame_stack": 4}}, {"obs": "image"}),
]


@pytest.mark.parametrize(("name", "bad", "border", "spec"), CASES, ids=[case[0] for case in CASES])
def test_a_finding(name, bad, border, spec):
    config = make_config(**bad)
    found = {one.id: one for one in lint(config, make_spec(**spec))}
    assert name in found
    assert name not in {one.id for one in lint(make_config(**border), make_spec(**spec))}
    mended, _ = apply_overrides(config, {change.path: change.new for change in found[name].changes})
    assert name not in {one.id for one in lint(mended, make_spec(**spec))}


def test_a_finding_reads_as_a_sentence_with_the_fix():
    (finding,) = lint(make_config(algo={"num_minibatches": 6}), None)
    assert str(finding) == (
        "algo.num_minibatches: a rollout of 1024 steps cannot be cut into 6 equal minibatches; "
        "try --set algo.num_minibatches=4"
    )


def test_observations_of_known_large_bounds_ask_for_scaling():
    from dataclasses import replace

    from gymsolve.spec import ObsSpec

    spec = replace(make_spec(), obs={"obs": ObsSpec("vector", (1,), "float32", low=(0.0,), high=(500.0,))})
    assert [one.id for one in lint(make_config(), spec)] == ["raw_numbers"]
    assert lint(make_config(net={"normalize_obs": "running"}), spec) == []


def test_an_unbounded_box_is_told():
    from dataclasses import replace

    spec = make_spec("box")
    unbounded = replace(spec, action=replace(spec.action, bounded=False))
    assert [one.id for one in lint(make_config(), unbounded)] == ["unbounded_actions"]
    assert lint(make_config(), spec) == []


def test_the_shipped_recipes_have_no_findings():
    names = [recipe.name for recipe in list_recipes()]
    assert names
    for name in names:
        config = resolve(name, {}).config
        # Its ROM is not free, so nobody can look at it here.
        spec = None if config.env.id == "Retro/SuperMarioBros-Nes-v0" else describe_env(config.env)
        assert [str(one) for one in lint(config, spec)] == [], name
