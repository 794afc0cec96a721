"""Answers of verbs: what they render is what their schema promises, and what `--json` prints."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import pytest
import typer.core

from engines import needs_kernels
from gymsolve.answers import Answer, json_schema, left_out
from gymsolve.cli import main
from gymsolve.cli.answers import ANSWERS, FILM, EndedRun, Failure
from gymsolve.cli.app import command_tree
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.findings import Findings
from gymsolve.doctor.fix import PlannedFix, plan_fix
from gymsolve.jobs.trials import TriedFix
from gymsolve.runs.files import to_json
from gymsolve.service import recipes
from gymsolve.service.environments import CheckedEnv, TunedSpeed
from gymsolve.service.evaluation import Evaluation
from gymsolve.service.logbook import Logbook, WrittenEntry
from gymsolve.service.machine import Machine
from gymsolve.service.recipes import CheckedRecipes, FormattedRecipes, ListedRecipe, ShownRecipe
from gymsolve.service.report import WrittenReport
from gymsolve.view.comparing import Comparison, compare_runs
from gymsolve.view.runs import ListedRun, RunDetails, get_run

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
SCHEMAS = Path(__file__).parent / "schemas.json"
SICK = "20260101-000002-CartPole-v1-ppo-cccc"
WELL = "20260101-000000-CartPole-v1-ppo-aaaa"
KINDS = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
    "array": list,
    "object": dict,
}


def faults(value, schema, where="$"):
    """What of a value breaks a schema, the order of keys included; as much of JSON Schema as ours need."""
    if "anyOf" in schema:
        return [] if any(not faults(value, one) for one in schema["anyOf"]) else [f"{where}: fits none"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(isinstance(value, KINDS[one]) for one in wanted):
        return [f"{where}: {value!r} is not {wanted}"]
    if isinstance(value, bool) and wanted and "boolean" not in wanted:
        return [f"{where}: {value!r} is not {wanted}"]
    found = []
    if isinstance(value, list):
        places = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
        if len(places) != len(value):
            return [f"{where}: {len(value)} entries instead of {len(places)}"]
        for index, (one, inner) in enumerate(zip(value, places, strict=True)):
            found += faults(one, inner, f"{where}[{index}]")
    if isinstance(value, dict):
        known = schema.get("properties")
        if known is not None:
            missing = [name for name in schema["required"] if name not in value]
            strange = [name for name in value if name not in known]
            ordered = [name for name in known if name in value]
            found += [f"{where}: {missing} missing, {strange} strange"] if missing or strange else []
            found += [f"{where}: order {list(value)}"] if ordered != list(value) else []
        rest = schema.get("additionalProperties") or {}
        for name, one in value.items():
            found += faults(one, (known or {}).get(name, rest), f"{where}.{name}")
    return found


@pytest.fixture
def runs(place):
    """A healthy run, and one whose updates were far too large and whose last record is torn."""
    for name in (WELL, SICK):
        folder = place / "runs" / name
        shutil.copytree(KEPT, folder)
        info = json.loads((folder / "run.json").read_text()) | {"id": name}
        (folder / "run.json").write_text(json.dumps(info))
    path = place / "runs" / SICK / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    sick = {"train/approx_kl": 5.0, "train/explained_variance": None}
    rows = [row | {key: value for key, value in sick.items() if key in row} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"torn')
    return place / "runs"


def test_the_schemas_are_those_that_were_promised():
    """A change here changes what `--json` prints.

    To accept it: PYTHONPATH=tests python tests/service/test_answers.py
    """
    assert json.loads(SCHEMAS.read_text()) == promised()


def promised():
    printed = [kind for answers in ANSWERS.values() for _, kind in answers]
    records = {one for kind in [*printed, Failure] for one in (kind, *get_args(kind)) if is_record(one)}
    return {kind.__name__: json_schema(kind) for kind in sorted(records, key=lambda kind: kind.__name__)}


def is_record(kind):
    return isinstance(kind, type) and issubclass(kind, Answer)


def test_the_table_of_answers_names_every_command_with_json():
    """docs/json.md is made from it: a new command needs a line in `cli/answers.py`."""
    assert set(commands_with_json(command_tree(), ())) == set(ANSWERS)


def commands_with_json(command, path):
    if isinstance(command, typer.core.TyperGroup):
        for name, inner in command.commands.items():
            yield from commands_with_json(inner, (*path, name))
    elif "--json" in {word for one in command.params for word in one.opts}:
        yield " ".join(path)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["train", "CartPole-v1", "--steps", "300", "--set", "eval.episodes=1"], EndedRun),
        (["train", "Bandit-v0", "--steps", "many"], Failure),
        (["log"], Logbook),
        (["log", "add", "seen"], WrittenEntry),
        (["runs"], list[ListedRun]),
        (["runs", "show", SICK], RunDetails),
        (["runs", "compare", WELL, SICK, "--html", "page.html"], Comparison),
        (["diagnose", WELL], Findings),
        (["diagnose", SICK], Findings),
        (["report", SICK], WrittenReport),
        (["eval", WELL, "--episodes", "2"], Evaluation),
        (["fix", SICK, "--dry-run"], PlannedFix),
        (["fix", WELL, "--dry-run"], PlannedFix),
        (["fix", SICK, "--steps", "300"], TriedFix),
        (["recipes", "pole"], list[ListedRecipe]),
        (["recipes", "show", "CartPole-v1"], ShownRecipe),
        (["recipes", "check", "Mine-v0.yaml"], CheckedRecipes),
        (["recipes", "format", "--check", "Mine-v0.yaml"], FormattedRecipes),
        (["doctor"], Machine),
        (["check", "FrozenLake-v1", "--set", "env.num_envs=1"], CheckedEnv),
        pytest.param(
            ["tune-speed", "Bandit-v0", "--seconds", "1", "--set", "engine=numpy"],
            TunedSpeed,
            marks=needs_kernels,
        ),
    ],
    ids=lambda given: "-".join(given[:2]) if isinstance(given, list) else "",
)
def test_what_a_command_prints_is_what_the_schema_says(runs, place, capsys, words, kind):
    (place / "Mine-v0.yaml").write_text("variants: {ppo: {}}\nenv: {id: Mine-v0}\n")
    main([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told
    assert faults(told, json_schema(kind)) == []


def test_a_film_has_the_keys_that_are_documented(runs, capsys):
    for words in ([], ["--progression"]):
        main(["record", WELL, *words, "--max-seconds", "1", "--json"])
        assert set(json.loads(capsys.readouterr().out)) <= set(FILM)


def test_the_checker_of_these_tests_finds_faults():
    @dataclass(frozen=True)
    class Thing(Answer):
        a: int
        b: Literal["x", "y"]
        c: tuple[float, str]
        d: dict[str, int]
        e: str | None = left_out()

    schema = json_schema(Thing)
    good = {"a": 1, "b": "x", "c": [0.5, "s"], "d": {"k": 1}}
    assert faults(good, schema) == faults(good | {"e": "s"}, schema) == []
    assert Thing(1, "x", (0.5, "s"), {"k": 1}).to_json() == good
    assert Thing(1, "x", (float("nan"), "s"), {}).to_json()["c"] == [None, "s"]
    wrong = [
        {"a": True},
        {"a": 1.5},
        {"b": "z"},
        {"c": [1.0]},
        {"c": ["s", "s"]},
        {"d": {"k": "s"}},
        {"f": 1},
    ]
    for change in wrong:
        assert faults(good | change, schema), change
    assert faults({key: good[key] for key in ("b", "a", "c", "d")}, schema) == [
        "$: order ['b', 'a', 'c', 'd']"
    ]
    assert faults({"a": 1}, schema)


def test_answers_are_strict_json_already(runs):
    """Servers hand on what `to_json` gives: nothing is left for an encoder to turn into null."""
    for answer in (get_run(SICK), diagnose_path(SICK), compare_runs([WELL, SICK]), plan_fix(SICK).answer()):
        told = answer.to_json()
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        assert to_json(told) == json.dumps(told, ensure_ascii=False)


def test_broken_recipes_are_part_of_the_answer(place):
    (place / "recipes").mkdir()
    (place / "recipes" / "Bad-v0.yaml").write_text("env: [\n")
    found = recipes.list_recipes("pole")
    assert found.recipes
    assert len(found.faults) == 1
    assert faults(found.to_json(), json_schema(recipes.FoundRecipes)) == []


if __name__ == "__main__":
    lines = [f'"{name}": {json.dumps(schema)}' for name, schema in promised().items()]
    SCHEMAS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
