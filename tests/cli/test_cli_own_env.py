"""An environment of one's own: the whole path, and what a newcomer is told about each usual mistake."""

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from gymsolve.cli import main

MODULE = """import os
import sys

import gymnasium as gym
import numpy as np

# top of the module


class Walk(gym.Env):
    def __init__(self, size=3):
        # begin
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        # end

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.look(), {}

    def look(self):
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def step(self, action):
        self.count += 1
        return self.look(), float(action), self.count >= 9, False, {}

    def close(self):
        pass


gym.register("Walk-v0", entry_point="own_walk:Walk", max_episode_steps=20)
"""
ENV = "own_walk:Walk-v0"
SMALL = (
    "--steps",
    "600",
    "--set",
    "video.enabled=false",
    "--set",
    "eval.episodes=2",
    "--set",
    "env.num_envs=2",
)
STEP = "return self.look(), float(action), self.count >= 9, False, {}"
RESET = "return self.look(), {}"


def forget_module():
    sys.modules.pop("own_walk", None)
    gym.registry.pop("Walk-v0", None)


@pytest.fixture(scope="module")
def trained_walk(tmp_path_factory):
    """A folder with the module and a finished run of it."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "own_walk.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.syspath_prepend(str(folder))
        forget_module()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main(["train", ENV, *SMALL, "-q", "--json"]) == 0, said.getvalue()
    return folder


@pytest.fixture
def walk(trained_walk, place, monkeypatch):
    """The module here, and that run; a function that writes another version of the module."""
    shutil.copytree(trained_walk / "runs", place / "runs")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # versions of one second would be taken for one

    def write(*changes):
        text = MODULE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (place / "own_walk.py").write_text(text)
        forget_module()
        return text

    write()
    yield write
    forget_module()


MISTAKES = {
    # what is changed in the module; what everybody says; whose line is named
    "syntax": (
        ("# top of the module", "def broken(:"),
        ["Python cannot read", "invalid syntax", ": `def broken(:`. Mend"],
        "def broken",
    ),
    "import": (
        ("# top of the module", "import no_such"),
        ["No module named 'no_such'", "Install"],
        "import no_such",
    ),
    "raises": (("# top of the module", "1 / 0"), ["ZeroDivisionError", "--debug"], "1 / 0"),
    "exits": (("# top of the module", "sys.exit(3)"), ["sys.exit", "__main__"], "sys.exit"),
    "no action_space": (
        ("# end", "del self.action_space"),
        ["has no action_space", "Discrete(2)"],
        "def __init__",
    ),
    "no observation_space": (
        ("# end", "del self.observation_space"),
        ["has no observation_space", "Box("],
        "def __init__",
    ),
    "class as space": (
        ("# end", "self.action_space = gym.spaces.Discrete"),
        ["is the class Discrete", "Set self.action_space"],
        "def __init__",
    ),
    "init": (
        ("# begin", 'raise RuntimeError("no display")'),
        ["RuntimeError: no display"],
        "raise RuntimeError",
    ),
    "exit in init": (("# begin", "sys.exit()"), ["sys.exit", "terminated=True"], "sys.exit()"),
    "four values": (
        (STEP, "return self.look(), 1.0, False, {}"),
        ["returned 4 values", "five values", "`done`"],
        "def step",
    ),
    "no info": ((RESET, "return self.look()"), ["without info", "observation and info"], "def reset"),
    "info is None": ((RESET, "return self.look(), None"), ["None as info", "{} will do"], "def reset"),
    "info of step": ((STEP, STEP.replace("{}", "None")), ["None as info", "{} will do"], "def step"),
    "old reset": (
        (
            "def reset(self, *, seed=None, options=None):\n        super().reset(seed=seed)",
            "def reset(self):",
        ),
        ["does not take 'seed'", "super().reset(seed=seed)"],
        "def reset",
    ),
    "reward": (
        (STEP, STEP.replace("float(action)", "None")),
        ["None as reward", "float(reward)"],
        "def step",
    ),
    "rewards": (
        (STEP, STEP.replace("float(action)", "np.ones(2)")),
        ["other than a number as reward", "float(reward)"],
        "def step",
    ),
    "text for an end": (
        (STEP, STEP.replace("self.count >= 9", "'no'")),
        ["returned 'no' (str) as terminated", "return bool(terminated)"],
        "def step",
    ),
    "shape": ((STEP, STEP.replace("self.look()", "np.zeros(4)")), ["has shape (4,)", "(3,)"], "def step"),
    "dtype": ((STEP, STEP.replace("self.look()", 'np.array(["a"] * 3)')), ["<U1", "float32"], "def step"),
    "exit in step": (("self.count += 1", "sys.exit(0)"), ["sys.exit", "terminated=True"], "sys.exit(0)"),
    "raises in step": (
        ("self.count += 1", "self.count += self.speed"),
        ["AttributeError", "'speed'", "--debug"],
        "self.speed",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_a_sentence_with_file_line_contract_and_fix(cli, walk, mistake):
    change, words, line = MISTAKES[mistake]
    text = walk(change)
    number = 1 + next(index for index, one in enumerate(text.splitlines()) if line in one)
    for command in (["check", ENV], ["train", ENV, *SMALL], ["eval", "@last", "--episodes", "2"]):
        forget_module()
        told = cli(*command, "--json")
        assert told.code == 1, told.out
        error = told.json["error"]
        whole = f"{error['message']} {error['hint']}"
        assert f"own_walk.py, line {number}" in whole, command
        assert [word for word in words if word not in whole] == [], (command, whole)
        assert "\n" not in whole


def test_types_that_happen_to_work_are_problems_all_the_same(cli, walk):
    walk((STEP, STEP.replace("self.count >= 9", "int(self.count >= 9)").replace("float(action)", "'1.5'")))
    told = cli("check", ENV, "--json")
    assert told.code == 1
    ends, reward = sorted(one for one in told.json["problems"] if "own_walk.py" in one)[::-1]
    assert "it returned 0 (int) as terminated" in ends
    assert "it returned '1.5' (str) as reward" in reward


def test_debug_shows_the_traceback_of_such_a_mistake(walk, shell):
    walk(MISTAKES["raises in step"][0])
    told = shell("train", ENV, "--debug")
    assert "Traceback" in told.err
    assert "self.count += self.speed" in told.err


ODDITIES = {
    # not wrong enough to stop: what is changed, what `check` says, what `train` notes
    "seed": (
        [("super().reset(seed=seed)", "pass"), ("self.np_random", "np.random")],
        "begin `reset` with `super().reset(seed=seed)` and draw from `self.np_random` (own_walk.py, line 17)",
    ),
    "bounds": (
        [("uniform(-1, 1, 3)", "uniform(5, 6, 3)")],
        "widen observation_space or clip what it returns (own_walk.py, line 25)",
    ),
    "close": (
        [("        pass\n", '        raise OSError("busy")\n')],
        "its close raised OSError: busy (own_walk.py",
    ),
}


def test_what_was_checked_is_what_is_proposed(cli, walk):
    walk()
    told = cli("check", ENV, "--set", "env.wrappers=[{time_limit: {max_steps: 9}}]").out
    name = told.split()[0]
    assert (
        f"start with: gymsolve train {name} --set 'env.wrappers=[{{time_limit: {{max_steps: 9}}}}]'\n" in told
    )


@pytest.mark.parametrize("oddity", ODDITIES)
def test_what_can_be_lived_with_is_noted(cli, walk, oddity):
    changes, words = ODDITIES[oddity]
    walk(*changes)
    told = cli("check", ENV, "--json").json
    assert any(words in one for one in (*told["problems"], *told["cautions"], *told["notes"])), told
    forget_module()
    answer = cli("train", ENV, *SMALL)
    assert answer.code == 0, answer.err
    assert words in answer.out


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_an_observation_that_leaves_its_bounds_late_is_noted_once(cli, walk, backend):
    walk(
        ("# end", "self.total = 0"),
        ("self.count += 1", "self.count += 1\n        self.total += 1"),
        ("uniform(-1, 1, 3)", "uniform(-1, 1 if self.total < 250 else 3, 3)"),
    )
    answer = cli("train", ENV, *SMALL, "--set", f"env.backend={backend}", "--set", "algo.num_steps=32")
    assert answer.code == 0, answer.err
    assert answer.out.count("leaves the bounds of its space (-1 to 1)") == 1
    assert "clip what it returns (own_walk.py, line" in answer.out


def test_what_an_environment_prints_stays_off_standard_output(walk, shell, place):
    walk(
        ("# top of the module", 'os.system("echo from below")'),
        ("self.count += 1", 'self.count += 1\n        print("x")'),
    )
    for command in (["check", ENV], ["train", ENV, *SMALL, "--set", "env.backend=async"]):
        told = shell(*command, "--json")
        assert told.code == 0, told.err
        assert isinstance(told.json, dict)
        assert "from below" in told.err


def test_a_mistake_that_many_observations_have_is_told_once(cli, walk):
    walk(("return self.look(), float(action)", "return self.look() + self.count, float(action)"))
    answer = cli("check", ENV)
    assert answer.code == 1
    (line,) = [line for line in answer.out.splitlines() if "leaves the bounds of its space" in line]
    assert line.startswith("  the observation leaves the bounds of its space (-1 to 1) with 1")
    assert " to 9" in line


def test_a_changed_working_directory_changes_nothing_here(cli, walk, place, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    walk(("self.count += 1", f"self.count += 1\n        os.chdir({str(elsewhere)!r})"))
    with contextlib.chdir(place):
        told = cli("train", ENV, *SMALL, "--json").json
    assert Path(told["path"]).parent == place / "runs"
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("own_walk:Wlak-v0", "Did you mean 'own_walk:Walk-v0'?"),
        ("own_walk:walk", "Did you mean 'own_walk:Walk-v0'?"),
        ("own_walk:Walk", "Walk is registered as Walk-v0: use own_walk:Walk-v0."),
        ("own_walk:Nothing-v3", "Importing own_walk registers: own_walk:Walk-v0."),
        ("own_wlak:Walk-v0", "there is no module 'own_wlak'"),
        ("Qzjxv-v0", "my_module:Qzjxv-v0"),
        (
            "own_walk:Walk-v0:trpo",
            "TRPO is not among the algorithms here. It has: ppo, a2c, reinforce, pqn, dqn, sac, td3, tqc",
        ),
        ("CartPole-v1:trpo", "TRPO is not among the algorithms here. It has: ppo, a2c, reinforce, "),
        ("cartpole", "Did you mean 'CartPole-v1'?"),
        ("LunarLander-v2", "Did you mean 'LunarLander-v3'?"),
    ],
)
def test_names_that_do_not_exist_lead_to_those_that_are_meant(cli, walk, name, words):
    told = cli("train", name)
    assert told.code == 2
    assert words in told.err
    assert len(told.err.splitlines()) == 1


def test_arguments_and_wrappers_that_do_not_fit_are_explained(cli, walk):
    for settings, words in [
        ("env.kwargs.wings=2", "It takes: size."),
        ("env.wrappers=[graysclae]", "Did you mean 'grayscale'"),
        ("env.wrappers=[{time_limit: {stepz: 3}}]", "It takes: max_steps."),
        ("env.wrappers=[grayscale]", "finds nothing to work on"),
        ("env.wrappers=[own_walk:Nothing]", "has no 'Nothing'"),
        ("env.wrappers=3", "env.wrappers"),
    ]:
        told = cli("train", ENV, "--set", settings)
        assert told.code == 2, settings
        assert words in told.err
        assert len(told.err.splitlines()) == 1


def test_a_module_may_register_on_request(cli, walk, place):
    text = (place / "own_walk.py").read_text()
    head, call = text.rsplit("gym.register", 1)
    (place / "own_walk.py").write_text(f"{head}def register_envs():\n    gym.register{call}")
    forget_module()
    assert cli("check", ENV, "--json").json["spec"]["id"] == ENV


def test_ones_own_recipe_is_found_by_its_id_and_hides_nothing(cli, walk, place):
    (place / "recipes").mkdir()
    (place / "recipes" / "holiday.yaml").write_text(
        f"env: {{id: '{ENV}', num_envs: 2}}\nsteps: 600\nvariants: {{calm: {{algo: {{name: ppo}}}}}}\n"
    )
    assert cli("recipes", "show", ENV, "--json").json["name"] == "holiday:calm"
    assert "holiday-calm" in cli("train", ENV, "--set", "video.enabled=false", "--json").json["run"]
    derived = cli("train", f"{ENV}:ppo", *SMALL, "--json")
    assert derived.code == 0, derived.out
    shown = cli("recipes", "show", f"{ENV}:a2c", "--json").json
    assert (shown["config"]["algo"]["name"], shown["path"]) == ("a2c", None)
    assert "derived" in shown["provenance"].values()
    assert "derived from the environment" in cli("recipes", "show", f"{ENV}:a2c").out
    assert "calm, ppo, a2c, reinforce" in cli("train", f"{ENV}:trpo").err
    assert [one["name"] for one in cli("recipes", "own_walk", "--json").json] == ["holiday:calm"]
    told = cli("recipes", "show", "own_walk:Wlak-v0")
    assert "Did you mean 'own_walk:Walk-v0'?" in told.err
    assert json.loads(cli("eval", "@last", "--episodes", "2", "--json").out)["episodes"] == 2
