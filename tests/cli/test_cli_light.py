"""The light commands: what they print, and that they stay light."""

import json
from pathlib import Path

import pytest

LIGHT = [
    ["--help"],
    ["--version"],
    ["train", "--help"],
    ["runs"],
    ["runs", "show", "@last"],
    ["recipes"],
    ["recipes", "show", "CartPole-v1", "--explain"],
    ["stop", "@last"],
    ["doctor"],
    ["diagnose", "@last"],
    ["report", "@last"],
    ["train", "CartPole-v1", "--set", "algo.gama=1"],
]


def test_light_commands_import_neither_torch_nor_gymnasium(shell):
    # One process for all of them: what any one imported would still be there at the end.
    code = (
        "import sys\n"
        "from gymsolve.cli import main\n"
        f"for arguments in {LIGHT!r}:\n"
        "    main(arguments)\n"
        "    heavy = {'torch', 'gymnasium', 'numpy'} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)\n"
    )
    answer = shell(code=code)
    assert answer.code == 0, answer.err


def test_listing_needs_no_rich_no_yaml_and_no_settings(shell):
    # Typer itself brings pydantic along; the models of the settings are ours.
    code = (
        "import sys\n"
        "from gymsolve.cli import main\n"
        "for arguments in (['runs'], ['recipes'], ['recipes', 'pole'], ['stop', '@last'], ['doctor']):\n"
        "    main(arguments)\n"
        "    heavy = {'rich', 'ruamel.yaml', 'gymsolve.settings.config'} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)\n"
        "main(['recipes', 'show', 'CartPole-v1', '--explain'])\n"
        "assert not {'rich', 'ruamel.yaml'} & set(sys.modules)\n"
    )
    answer = shell(code=code)
    assert answer.code == 0, answer.err


def test_help_does_not_even_import_rich_or_pydantic(shell):
    code = (
        "import sys\n"
        "from gymsolve.cli import main\n"
        "main(['--help'])\n"
        "assert not {'rich', 'pydantic', 'ruamel'} & set(sys.modules)\n"
    )
    answer = shell(code=code)
    assert answer.code == 0, answer.err


def test_no_command_prints_the_help(cli):
    answer = cli()
    assert answer.code == 0
    assert answer.out == cli("--help").out
    assert "train" in answer.out


def test_version(cli):
    from importlib.metadata import version

    assert cli("--version").out == f"gymsolve {version('gymsolve')}\n"


# -------------------------------------------------------------------------------------- runs


def test_runs_before_there_are_any(cli):
    assert cli("runs").out == "No run in runs yet. Start one with: gymsolve train CartPole-v1\n"
    assert cli("runs", "--json").json == []


def test_runs_are_listed_and_filtered(cli, trained):
    table = cli("runs").out.splitlines()
    assert table[0].split() == ["run", "environment", "variant", "status", "steps", "best", "age"]
    assert table[1].split()[:3] == [trained, "Bandit-v0", "ppo"]
    assert [run["id"] for run in cli("runs", "bandit", "algo:ppo", "--json").json] == [trained]
    assert "No run in runs fits 'cartpole'" in cli("runs", "cartpole").out
    assert cli("runs", "list", "env:CartPole", "--json").json == []


def test_the_best_reward_of_a_listed_run_is_that_of_its_best_evaluation(cli, trained):
    (listed,) = cli("runs", "--json").json
    told = cli("runs", "show", trained, "--json").json
    assert listed["best_reward"] == max(row["eval/mean_reward"] for row in told["evaluations"])


def test_runs_beyond_the_limit_are_mentioned(cli, trained):
    cli("train", "Bandit-v0", "--steps", "256", "-q")
    answer = cli("runs", "--limit", "1")
    assert "Only the newest is shown" in answer.out
    assert trained not in answer.out


@pytest.mark.parametrize(("width", "shown"), [(200, 7), (80, 6), (70, 5), (20, 3)])
def test_a_narrow_terminal_shows_fewer_columns_but_whole_ids(cli, trained, monkeypatch, width, shown):
    monkeypatch.setattr("gymsolve.cli.printing.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    header, row = cli("runs").out.splitlines()
    assert len(header.split()) == shown
    assert row.split()[0] == trained


def test_one_run_in_detail(cli, trained):
    told = cli("runs", "show", "@last", "--json").json
    assert told["id"] == trained
    assert told["config"]["env"]["id"] == "Bandit-v0"
    assert [one["name"] for one in told["checkpoints"] if one["best"]]
    assert told["evaluations"]
    assert told["problems"] == []
    shown = cli("runs", "show", "@last").out
    for word in ("Checkpoints", "Evaluations", "Newest metrics", "Events", "rollout/ep_rew_mean"):
        assert word in shown
    assert "Problems" not in shown


def test_a_solved_run_is_not_called_so_twice(cli):
    cli("train", "Bandit-v0", "--steps", "20k", "--set", "eval.every=256", "--set", "solved_at=-100", "-q")
    (status,) = [line for line in cli("runs", "show", "@last").out.splitlines() if " status " in line]
    assert status.split() == ["status", "solved"]


def test_comparing_runs_shows_what_differs(cli, trained):
    cli("train", "Bandit-v0", "--steps", "256", "--seed", "9", "--set", "algo.gamma=0.5", "-q")
    told = cli("runs", "compare", trained, "@last", "--json").json
    assert told["differences"]["algo.gamma"] == [1.0, 0.5]
    assert told["differences"]["seed"] == [0, 9]
    assert "env.id" not in told["differences"]
    shown = cli("runs", "compare", trained, "@last").out
    assert ["algo.gamma", "1", "0.5"] in [line.split() for line in shown.splitlines()]
    assert cli("runs", "compare", trained, trained).code == 2


# ----------------------------------------------------------------------------------- recipes


def test_recipes_are_listed_and_found_by_near_words(cli):
    everything = cli("recipes", "--json").json
    assert {"name", "description", "variant", "env_id", "path"} <= set(everything[0])
    assert "CartPole-v1:ppo" in {one["name"] for one in everything}
    assert {one["env_id"] for one in cli("recipes", "cartpoel", "--json").json} == {"CartPole-v1"}
    assert "CartPole-v1:ppo" in cli("recipes", "pole", "cart").out
    assert cli("recipes", "qqqqqq").out.startswith("No recipe fits")


def test_recipes_say_whether_they_were_trained(cli):
    told = {one["name"]: one["trained"] for one in cli("recipes", "CartPole-v1", "--json").json}
    assert told["CartPole-v1:ppo"] is True
    assert told["CartPole-v1:pixels"] is False
    listed = [line.split() for line in cli("recipes", "CartPole-v1").out.splitlines()]
    assert ["CartPole-v1:pixels", "not", "yet"] in [words[:3] for words in listed]
    shown = cli("recipes", "show", "FrozenLake-v1:reinforce").out
    assert "trained here: not trained to its threshold by this project yet" in shown
    assert "other variants: `ppo` reached it" in shown


def test_a_recipe_and_where_its_values_come_from(cli):
    told = cli("recipes", "show", "CartPole-v1", "--set", "seed=4", "--json").json
    assert told["config"]["seed"] == 4
    assert told["provenance"]["seed"] == "--set"
    brief = cli("recipes", "show", "CartPole-v1").out
    assert "algo.gamma" in brief
    assert "net.dropout" not in brief
    rows = [line.split() for line in cli("recipes", "show", "CartPole-v1", "--explain").out.splitlines()]
    assert ["net.dropout", "0", "default"] in rows
    assert ["algo.gamma", "0.98", "variant"] in rows


def test_a_broken_local_recipe_does_not_hide_the_others(cli, place):
    (place / "recipes").mkdir()
    (place / "recipes" / "Mine-v0.yaml").write_text("env: {id: Mine-v0}\nvariants: {ppo: {}}\n")
    (place / "recipes" / "CartPole-v1.yaml").write_text("env: [\n")
    answer = cli("recipes", "--json")
    assert answer.code == 0
    assert {"Mine-v0:ppo", "CartPole-v1:ppo"} <= {one["name"] for one in answer.json}
    assert answer.err.startswith("left out: recipes/CartPole-v1.yaml:2: not valid YAML")
    assert len(answer.err.splitlines()) == 1
    assert "Mine-v0:ppo" in cli("recipes", "mine").out
    assert cli("recipes", "show", "CartPole-v1").code == 2
    assert cli("recipes", "show", "Mine-v0").code == 0


def test_the_shipped_recipes_are_in_order(cli):
    answer = cli("recipes", "check")
    assert answer.code == 0, answer.out
    assert "no problems." in answer.out


def test_a_wrong_local_recipe_is_found(cli, place):
    (place / "recipes").mkdir()
    path = place / "recipes" / "Mine-v0.yaml"
    path.write_text("env: {id: Mine-v0}\nvariants:\n  ppo:\n    algo: {gama: 1}\n")
    assert "1 problem." in cli("recipes", "check").out
    answer = cli("recipes", "check", "--json")
    assert answer.code == 1
    (problem,) = answer.json["problems"]
    assert "Mine-v0.yaml:4: [algo] algo.gama: unknown key." in problem
    assert cli("recipes", "check", str(path)).code == 1


def test_options_of_wrappers_are_checked(cli, place):
    path = place / "Mine-v0.yaml"
    path.write_text("env: {id: Mine-v0, wrappers: [{frame_skip: {sikp: 4}}]}\nvariants: {ppo: {}}\n")
    answer = cli("recipes", "check", str(path))
    assert answer.code == 1
    assert "env.wrappers[0].frame_skip.sikp: there is no such option." in answer.out


def test_formatting_puts_keys_in_order(cli, place):
    path = place / "Mine-v0.yaml"
    path.write_text("variants: {ppo: {}}\n# why\nenv: {id: Mine-v0}\n")
    before = path.read_text()
    assert cli("recipes", "format", "--check", str(path)).code == 1
    assert path.read_text() == before
    assert cli("recipes", "format", str(path), "--json").json["changed"] == [str(path)]
    assert path.read_text() == "# why\nenv: {id: Mine-v0}\nvariants: {ppo: {}}\n"
    assert cli("recipes", "format", "--check", str(path)).code == 0
    assert cli("recipes", "format").out == "Nothing to change.\n"


# --------------------------------------------------------------------------- check and doctor


def test_preflight_of_an_environment(cli, place):
    told = cli("check", "CartPole-v1", "--json").json
    assert told["spec"]["reward_threshold"] == 475.0
    assert told["determinism"]["seed_reproduces"] is True
    assert told["problems"] == []
    assert told["seconds_of_stepping"] > 0
    shown = cli("check", "CartPole-v1").out
    for word in ("discrete () int64, choices [2]", "500 steps", "Under policies that know nothing"):
        assert word in shown
    assert list(place.iterdir()) == []


def test_preflight_tells_derived_settings_once(cli):
    shown = cli("check", "CartPole-v0").out
    assert shown.count("horizon 200 → gamma") == 1
    assert "observations normalised (running statistics)" in shown
    assert "solved at 195 over 100" in shown


def test_doctor_names_the_fix_of_each_fault(cli, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    findings = cli("doctor", "--json").json["findings"]
    by_topic = {one["topic"]: one for one in findings}
    assert by_topic["torch"]["state"] == "ok"
    assert by_topic["ffmpeg"]["state"] == "warning"
    assert {"python", "cpu", "display", "gpu", "runs folder", "extra atari"} <= set(by_topic)
    for one in findings:
        assert (one["fix"] is None) == (one["state"] == "ok"), one
    answer = cli("doctor")
    assert answer.code == 0
    assert f"ffmpeg: {by_topic['ffmpeg']['fix']}" in answer.out
    (line,) = [line for line in answer.out.splitlines() if "not found; no videos" in line]
    assert line.split()[1] == "ffmpeg"


def test_doctor_finds_the_encoder_that_comes_along(cli, monkeypatch):
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE", raising=False)
    monkeypatch.setenv("PATH", "")
    found = {one["topic"]: one for one in cli("doctor", "--json").json["findings"]}["ffmpeg"]
    assert found["state"] == "ok"
    assert Path(found["detail"]).is_file()


def test_doctor_looks_inside_extras_of_other_packages(monkeypatch):
    from gymsolve.service import machine

    needs = {
        "gymsolve": ["numpy", 'ring[dance]>=1; extra == "robots"', 'colorama; sys_platform == "win32"'],
        "ring": ['shoes; extra == "dance"', "numpy"],
    }
    installed = {"numpy": "2", "ring": "1"}
    monkeypatch.setattr(machine, "requires", lambda name: needs.get(name))
    monkeypatch.setattr(machine, "_version", installed.get)
    findings = {one.topic: one for one in machine.examine(Path()).findings}
    assert findings["extra robots"].detail == "without shoes"
    assert findings["extra robots"].fix == "pip install 'gymsolve[robots]'"
    assert "colorama" not in findings


@pytest.mark.parametrize(
    "arguments", [["runs"], ["recipes"], ["doctor"], ["runs", "list"], ["recipes", "list"]]
)
def test_json_is_one_value(shell, arguments):
    answer = shell(*arguments, "--json")
    assert answer.code == 0, answer.err
    json.loads(answer.out)
