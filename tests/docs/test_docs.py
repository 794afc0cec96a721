"""The documentation tells the truth: its commands exist, its examples run, its tables are complete."""

import importlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gymsolve
from gymsolve.cli.app import command_tree
from gymsolve.envs.describe import describe
from gymsolve.recipes import check_recipe_file
from gymsolve.recipes.schema import ALGORITHM_MODELS, SHORTHAND, leaf_paths
from gymsolve.recipes.yaml_reading import parse_yaml
from gymsolve.registry import WRAPPERS
from gymsolve.runs.loading import load_checkpoint
from gymsolve.settings.config import EnvConfig, TrainConfig

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SETTINGS = {path for algorithm in ALGORITHM_MODELS for path in leaf_paths(algorithm)}


def fenced(page: Path, language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def shell_lines(page: Path, program: str) -> list[list[str]]:
    """Lines of shell blocks, and code within sentences, that call a program."""
    blocks = "\n".join(fenced(page, "sh"))
    inline = re.findall(r"`((?:\S*/)?(?:python -m )?[a-z]+ [^`\n]+)`", page.read_text())
    lines = [shlex.split(line, comments=True) for line in [*blocks.splitlines(), *inline]]
    lines = [words[2:] if words[:2] == ["python", "-m"] else words for words in lines if words]
    return [words[1:] for words in lines if words and words[0] == program]


def generator() -> Any:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module("generate")
    finally:
        sys.path.remove(str(ROOT / "docs"))


def test_the_expected_pages_are_looked_at():
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert names >= {"README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md", "docs/guide.md"}
    assert names >= {"docs/architecture.md", "docs/cli.md", "docs/config.md", "docs/metrics.md"}
    assert len(shell_lines(ROOT / "README.md", "gymsolve")) >= 5
    assert len(shell_lines(ROOT / "README.md", "make")) >= 2


# ----------------------------------------------------------------------------------- commands


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets
    for words in shell_lines(page, "make"):
        asked = {word for word in words if "=" not in word}
        assert asked <= targets, f"{page.name}: make {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_gymsolve_commands_and_options_exist(page):
    for words in shell_lines(page, "gymsolve"):
        command: Any = command_tree()
        options = {name for option in command.params for name in option.opts}
        line = f"{page.name}: gymsolve {' '.join(words)}"
        rest = list(words)
        while rest and hasattr(command, "commands"):
            if rest[0] in command.commands:
                command = command.commands[rest.pop(0)]
            elif command.name in ("runs", "recipes", "log"):  # the list is what is meant without a word
                command = command.commands["list"]
            elif command.name == "sweep":  # and here the start of one
                command = command.commands["start"]
            else:
                break
            options |= {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        options |= {"--help"}
        if rest and not rest[0].startswith("-"):
            assert not hasattr(command, "commands"), f"no such command in {line}"
        flags = {word.partition("=")[0] for word in rest if word.startswith("-")}
        assert flags <= options, f"no such option in {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_are_set_exist(page):
    examples = "".join(fenced(page, "python"))
    own = set(re.findall(r"^    (\w+): ", examples, re.MULTILINE))  # settings of classes on the page
    for path in re.findall(r"--set ([a-z_.]+)=", page.read_text()):
        inside = path.rpartition(".")[0]  # an option of the environment, or a part of a schedule
        known = path in SETTINGS or tuple(path.split(".")) in SHORTHAND or path.rpartition(".")[2] in own
        assert known or inside == "env.kwargs" or inside in SETTINGS, f"{page.name}: {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.is_file(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{page.name}: {target}"
    for name in re.findall(r"`((?:tests|src|docs)/[\w./]+)`", text):
        assert (ROOT / name).exists(), f"{page.name}: {name}"


# ----------------------------------------------------------------------------------- examples


def run_example(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GYMSOLVE_RUNS", raising=False)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example", "exec"), names)
    return names


def test_the_python_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    (code,) = fenced(ROOT / "README.md", "python")
    names = run_example(code, tmp_path, monkeypatch)
    printed = capsys.readouterr().out.splitlines()
    assert names["outcome"].solved
    assert printed[0].startswith("solved ")
    assert printed[1] == "9"
    assert names["result"].mean > 8.5
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_the_python_examples_of_the_guide_run(tmp_path, monkeypatch):
    environment, family, usage, watching = fenced(ROOT / "docs" / "guide.md", "python")
    run_example(watching, tmp_path, monkeypatch)
    names = run_example(usage, tmp_path, monkeypatch)
    assert names["again"].env_steps >= 6000

    assert environment.startswith("# corridor.py\n")
    assert family.startswith("# corridor.py, continued\n")
    (tmp_path / "corridor.py").write_text(environment + family)
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = {"env.kwargs.length": 5, "solved_at": 1e9, "eval.episodes": 2, "env.num_envs": 4}
    outcome = gymsolve.train("corridor:Corridor-v0", settings, steps=512)
    assert outcome.status == "finished"
    assert outcome.run.config_json()["provenance"]["env.kwargs.length"] == "--set"
    assert describe(EnvConfig(id="corridor:Corridor-v0"), "train").labels.names == ("left", "right")


@pytest.mark.parametrize("name", ["from-stable-baselines3.md", "another-machine.md"])
def test_the_python_examples_of_further_pages_run(tmp_path, monkeypatch, capsys, name):
    run_example(fenced(ROOT / "docs" / name, "python")[-1], tmp_path, monkeypatch)
    assert capsys.readouterr().out.splitlines()[-1] == "9"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_examples_are_valid(page, tmp_path):
    for number, text in enumerate(fenced(page, "yaml")):
        data = parse_yaml(text, page.name)
        if "variants" in data:
            file = tmp_path / f"{number}.yaml"
            file.write_text(text)
            assert check_recipe_file(file) == []
        else:
            whole = {"algo": {"name": "ppo"}, **data, "env": {"id": "CartPole-v1", **data["env"]}}
            TrainConfig.model_validate(whole)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_examples_are_valid(page):
    for text in fenced(page, "json"):
        json.loads(text)


# ---------------------------------------------------------------------------- complete tables


def test_generated_pages_are_fresh():
    pages = generator().pages()
    for path, text in pages.items():
        assert path.read_text() == text, f"{path.name} is stale; run: make docs"
    left = {path for path in (ROOT / "docs" / "environments").iterdir() if path not in pages}
    assert not left, "pages of families that have no recipe"


def test_every_setting_is_documented():
    page = (ROOT / "docs" / "config.md").read_text()
    missing = [path for path in sorted(SETTINGS) if f"| `{path}` |" not in page]
    assert not missing
    listed = set(re.findall(r"^\| `([a-z_.]+)` \|", page, re.MULTILINE))
    assert listed == SETTINGS


def test_every_wrapper_is_documented():
    page = (ROOT / "docs" / "guide.md").read_text()
    table = page.partition("| wrapper |")[2].partition("<!-- end -->")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(WRAPPERS)


def test_every_file_and_field_of_a_run_is_documented(tmp_path):
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.partition("## The run directory")[2].partition("\n## ")[0]
    words = set(re.findall(r"`([\w.]+)`", section))
    tree = section.partition("```text")[2].partition("```")[0]

    run = gymsolve.train("Bandit-v0", steps=512, runs_dir=tmp_path).run
    saved = load_checkpoint(run)
    names = {path.name for path in [*tmp_path.iterdir(), *run.path.iterdir(), *saved.path.iterdir()]}
    names -= {run.id, "checkpoints"}
    assert {name for name in names if name not in tree} == set()
    fields = {*run.info(), *run.config_json(), *(run.info()["result"] or {}), *saved.meta, "checksum"}
    parts = saved.trainer_state["parts"]
    fields |= {*saved.trainer_state, *parts, *parts["counters"], *parts["collector"], *saved.policy_metadata}
    assert fields - words == set()
    kinds = {event["kind"] for event in run.read_events().rows}
    written = " ".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    kinds |= set(re.findall(r'append_event\(\s*"(\w+)"', written))
    assert kinds - words == set()


# ---------------------------------------------------------------------------------- the package


def test_the_public_names_are_these():
    assert sorted(gymsolve.__all__) == [
        "__version__",
        "delete_runs",
        "evaluate",
        "inspect",
        "load_policy",
        "open_run",
        "rename_run",
        "resume",
        "tag_run",
        "train",
        "train_seeds",
    ]
    for name in gymsolve.__all__:
        assert getattr(gymsolve, name) is not None
    assert dir(gymsolve) == sorted(gymsolve.__all__)


def test_the_changelog_knows_this_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert f"## [{gymsolve.__version__}]" in text
    assert "### Performance-impacting" in text


def test_importing_the_package_is_light():
    code = "import sys, gymsolve; sys.exit(bool({'torch', 'gymnasium', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
