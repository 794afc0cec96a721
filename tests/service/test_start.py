"""Runs in the background: real processes, tiny environments."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gymsolve.cli import main
from gymsolve.errors import (
    ConfigError,
    EnvFaultError,
    GymsolveError,
    MissingExtraError,
    UnknownEnvError,
    UnknownRunError,
    UsageError,
)
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.jobs.start import start
from gymsolve.runs import find_run, list_runs
from gymsolve.runs.process import is_alive
from gymsolve.view.runs import stop_run
from processes import soon_gone

FOREVER = {"steps": 10**9, "eval.every": 10**9, "solved_at": 100}
BREAKING = """
import ctypes, os
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Breaking(Bandit):
    def __init__(self, how):
        super().__init__()
        self.how, self.steps = how, 0
    def step(self, action):
        self.steps += 1
        if os.path.exists("begun"):
            if self.how == "raise":
                raise ValueError("the arm came off")
            os.abort()
        return super().step(action)

gym.register("Breaking-v0", entry_point=Breaking)
"""


def start_run(env, settings=(), *, limit=300.0, **options):
    return start(RunRequest("train", env, spell_settings(settings), **options), limit=limit)


def resume_run(ref, **options):
    return start(RunRequest("resume", ref, **options))


def wait_for_end(run):
    """The status of a run whose process has ended; pytest's own limit ends a wait in vain."""
    while is_alive(run.info(), run.path):
        time.sleep(0.05)
    return run.status


def facts(run):
    """What a run remembers of how it was made, without what differs from run to run."""
    info = run.info()
    own = ("id", "created", "updated", "pid", "process_start", "result")
    return {key: value for key, value in info.items() if key not in own}, run.config_json()


def test_a_run_outlives_its_starter_and_can_be_stopped(place):
    code = (
        "from gymsolve.jobs.request import RunRequest, spell_settings\n"
        "from gymsolve.jobs.start import start\n"
        f"started = start(RunRequest('train', 'Bandit-v0', spell_settings({FOREVER!r}), seed=3))\n"
        "import json, sys\n"
        "assert not {'torch', 'gymnasium', 'numpy', 'pydantic'} & set(sys.modules)\n"
        "print(json.dumps(started.to_json()))\n"
    )
    # Were a pipe inherited, reading the output to its end would wait for the training.
    starter = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(starter, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert "eval.every" in told.pop("doubts")[0]
    run = find_run(told["run"])
    assert told == {"run": run.id, "path": str(run.path), "pid": run.info()["pid"]}
    assert run.status == "running"
    assert os.getsid(told["pid"]) == told["pid"] != os.getsid(0)
    stop_run(run.id)
    assert wait_for_end(run) == "stopped"
    assert run.summary().reason == "stop file"
    assert run.info()["seed"] == 3


def test_a_run_in_the_background_is_like_any_other(capsys):
    started = start_run("Bandit-v0", ["solved_at=100"], steps="512")
    behind = find_run(started.run)
    assert wait_for_end(behind) == "finished"
    assert [one.id for one in list_runs()] == [behind.id]
    words = [sys.executable, "-m", "gymsolve", "train", "Bandit-v0", "--set", "solved_at=100"]
    subprocess.run([*words, "--steps", "512"], check=True, capture_output=True)
    before = find_run("@last")
    assert before.id != behind.id
    assert facts(before) == facts(behind)
    assert before.info()["result"]["mean_reward"] == behind.info()["result"]["mean_reward"]
    assert {path.name for path in before.path.iterdir()} == {path.name for path in behind.path.iterdir()}
    kinds = [[row["kind"] for row in run.read_events().rows] for run in (before, behind)]
    assert kinds[0] == kinds[1]


def test_settings_arrive_as_they_were_given(monkeypatch):
    monkeypatch.setenv("GYMSOLVE_CONFIRM", "1")  # a run in the background asks nothing
    given = {"net.hidden": [8, 4], "algo.learning_rate": 1e-05, "env.kwargs.std": 0.5, "algo.target_kl": None}
    run = find_run(start_run("Bandit-v0", given | FOREVER).run)
    config = run.config_json()["config"]
    assert config["net"]["hidden"] == [8, 4]
    assert config["algo"]["learning_rate"] == 1e-05
    assert config["env"]["kwargs"] == {"std": 0.5}
    assert config["algo"]["target_kl"] is None
    assert run.config_json()["provenance"]["net.hidden"] == "--set"


@pytest.mark.parametrize(
    ("env", "given", "kind", "message"),
    [
        ("Bandit-v1", {}, UnknownEnvError, "there is no environment 'Bandit-v1'."),
        ("Bandit-v0:nope", {}, UnknownEnvError, "nope"),
        ("Bandit-v0", {"algo.gama": 1}, ConfigError, "unknown key"),
        ("Bandit-v0", {"env.kwargs.arms": "many"}, ConfigError, "should be a number"),
    ],
)
def test_a_start_that_fails_is_the_usual_error(place, env, given, kind, message):
    with pytest.raises(kind, match=message) as caught:
        start_run(env, given)
    assert caught.value.hint or caught.value.where
    assert list_runs() == []


def test_a_missing_extra_is_the_usual_error(place, monkeypatch):
    (place / "hidden").mkdir()
    (place / "hidden" / "sitecustomize.py").write_text(
        "import sys\n"
        "from importlib.machinery import ModuleSpec\n"
        "class Hidden:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        return ModuleSpec(name, None) if name == 'trackio' else None\n"
        "sys.meta_path.insert(0, Hidden)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(place / "hidden"))
    with pytest.raises(MissingExtraError, match="'trackio' is not installed") as caught:
        start_run("Bandit-v0", track="trackio")
    assert caught.value.hint == "Install it with: pip install 'gymsolve[trackio]'"


def test_a_process_that_dies_before_the_run_begins_is_reported(place):
    (place / "dying.py").write_text("import os\nprint('no such luck', flush=True)\nos._exit(7)\n")
    with pytest.raises(GymsolveError, match=r"exit code 7 before the run began. It said: no such") as caught:
        start_run("dying:Env-v0")
    output = Path(caught.value.hint.removeprefix("All of its output is in ").rstrip("."))
    assert output.read_text() == "no such luck\n"


def test_a_start_that_takes_too_long_is_called_off(place):
    with pytest.raises(GymsolveError, match="has not begun within 0 seconds, and its process was ended"):
        start_run("Bandit-v0", FOREVER, limit=0.0)
    assert list_runs() == []


@pytest.mark.parametrize(
    ("how", "reason", "describe_end"),
    [
        ("raise", "the arm came off", "the arm came off"),
        ("abort", "the process ended without a word", "Fatal Python error: Aborted"),
    ],
)
def test_a_run_that_dies_later_says_why_in_its_folder(place, how, reason, describe_end):
    (place / "breaking.py").write_text(BREAKING)
    given = FOREVER | {"env.kwargs.how": how, "env.backend": "sync"}
    run = find_run(start_run("breaking:Breaking-v0", given).run)
    (place / "begun").touch()
    assert wait_for_end(run) == "crashed"
    assert reason in run.summary().reason
    assert describe_end in (run.path / "log.txt").read_text()


def test_a_stopped_run_goes_on_in_the_background():
    run = find_run(start_run("Bandit-v0", FOREVER).run)
    with pytest.raises(UsageError, match="is being trained by process"):
        resume_run(run.id)
    stop_run(run.id)
    wait_for_end(run)
    steps = run.summary().env_steps
    started = resume_run("@last", steps=steps + 256)
    assert started.run == run.id
    assert wait_for_end(run) == "finished"
    assert run.summary().env_steps >= steps + 256
    assert run.info()["resumed_with"] == ["gymsolve", "resume", "@last", "--steps", str(steps + 256)]
    with pytest.raises(UnknownRunError):
        resume_run("nothing-of-the-kind")


def test_the_command_line_prints_the_id(capsys):
    assert main(["train", "Bandit-v0", "--steps", "512", "--set", "solved_at=100", "--detach"]) == 0
    run = find_run(capsys.readouterr().out.strip())
    wait_for_end(run)
    assert main(["resume", run.id, "--steps", "768", "--detach", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "a budget of 768 gives no more than 3 updates" in told.pop("doubts")[0]
    assert told == {"run": run.id, "path": str(run.path), "pid": run.info()["pid"]}
    wait_for_end(run)
    assert run.summary().env_steps >= 768
    assert main(["train", "Bandit-v0", "--set", "algo.gama=1", "--detach", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["where"] == "algo.gama"
    assert main(["train", "Bandit-v0", "--confirm", "--detach"]) == 2


HANGING = """
import os, time
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Hanging(Bandit):
    metadata = {"exclusive": True}
    def __init__(self):
        with open("hanging", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(10**6)

gym.register("Hanging-v0", entry_point=Hanging)
"""


def test_a_start_that_is_called_off_leaves_no_environment_behind(place):
    (place / "hanging_env.py").write_text(HANGING)
    for limit in (1.0, 4.0, 16.0, 64.0):  # until it has got as far as to hang
        with pytest.raises(GymsolveError, match="its process was ended"):
            start_run("hanging_env:Hanging-v0", limit=limit)
        if (place / "hanging").exists() and (place / "hanging").read_text():
            break
    assert soon_gone(int((place / "hanging").read_text()))


DYING = """
import os, sys
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Dying(Bandit):
    metadata = {"exclusive": True}
    def __init__(self):
        print("the cartridge is missing", file=sys.stderr, flush=True)
        os._exit(3)

gym.register("Dying-v0", entry_point=Dying)
"""


def test_the_last_words_of_an_environment_that_dies_at_the_start_can_be_read(place):
    (place / "dying_env.py").write_text(DYING)
    with pytest.raises(EnvFaultError, match=r"Dying-v0 ended by itself \(exit code 3\)") as caught:
        start_run("dying_env:Dying-v0")
    output = Path(caught.value.hint.removeprefix("All of its output is in ").rstrip("."))
    assert "the cartridge is missing" in output.read_text()
