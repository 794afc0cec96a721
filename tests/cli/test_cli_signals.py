"""Signals that come while nothing trains: before a command begins, during imports, at the very end."""

import json

import pytest

import gymsolve

# Sends the process a signal in a given moment of a command's life.
AT = """
import atexit, os, signal, sys

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), {number})
            except KeyboardInterrupt as error:
                raise ImportError("as extension modules do") from error

for number in (1, 2, 15):
    signal.signal(number, signal.default_int_handler if number == 2 else signal.SIG_DFL)
sys.meta_path.insert(0, Importing())
if {module!r} == "the end":
    atexit.register(os.kill, os.getpid(), {number})
sys.argv = ["gymsolve", *{words!r}]
from gymsolve.cli import main
sys.exit(main())
"""
EARLY = [("gymsolve.cli.entry", 2), ("typer", 15), ("gymsolve.cli.commands", 1), ("json", 15)]


@pytest.mark.parametrize(("module", "number"), [*EARLY, ("gymnasium", 2), ("gymnasium", 15)])
def test_a_signal_during_the_imports_ends_a_command_with_a_word(module, number, shell):
    words = ["train", "Bandit-v0", "--json"] if module == "gymnasium" else ["runs", "--json"]
    answer = shell(code=AT.format(module=module, number=number, words=words))
    assert answer.code == 128 + number, answer
    assert answer.json["error"]["exit_code"] == 128 + number
    assert answer.err == ""


@pytest.mark.parametrize(
    ("module", "number"), [("gymsolve.cli.entry", 2), ("gymsolve.view.runs", 2), ("typer", 15)]
)
def test_a_person_reads_what_has_ended_a_command(module, number, shell):
    answer = shell(code=AT.format(module=module, number=number, words=["runs"]))
    said = {2: "stopped by Ctrl-C.\n", 15: "terminated.\n"}[number]
    assert (answer.code, answer.out, answer.err) == (128 + number, "", said)


def test_a_signal_after_the_answer_changes_nothing(shell):
    answer = shell(code=AT.format(module="the end", number=2, words=["recipes", "--json"]))
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)


# Sends a signal within a callback of native code, or within a finalizer, of which Python drops all errors.
WITHIN = """
import os, signal, sys

calls = 0

def watch(frame, event, argument):
    global calls
    if event == "call" and frame.f_code.co_name == {name!r}:
        calls += 1
        if calls == {first}:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.setprofile(watch)
{then}
"""
COMMAND = """
sys.argv = ["gymsolve", *{words!r}]
from gymsolve.cli import main
sys.exit(main())
"""
# As a training steps its environments, after a first signal.
STEPS = """
import numpy as np
from gymsolve.envs.make import make_envs
from gymsolve.settings.config import EnvConfig
from gymsolve.training.stop import EndAtOnceError, StopSignal, raising

stop = StopSignal()
stop.request("interrupt")
stop.asked_at -= 1
envs = make_envs(EnvConfig(id="LunarLander-v3", num_envs=2, backend="sync"), "train")
envs.reset([1, 2])
rng = np.random.default_rng(0)
try:
    with {block}:
        for _ in range(5000):
            envs.step(rng.integers(4, size=2))
except EndAtOnceError as error:
    envs.close()
    sys.exit(error.exit_code)
"""
CALLED_BACK = [
    ("LunarLander-v3", "PostSolve", 30),
    ("LunarLander-v3", "BeginContact", 5),
    ("LunarLander-v3", "__del__", 40),
    ("BipedalWalker-v3", "ReportFixture", 30),
    ("BipedalWalker-v3", "BeginContact", 5),
]


@pytest.fixture(scope="module")
def walkers(tmp_path_factory):
    """Runs of environments of Box2D, which calls back in its steps."""
    short = {"env.num_envs": 1, "env.backend": "sync", "algo.num_steps": 8, "algo.num_minibatches": 1}
    short |= {
        "algo.num_epochs": 1,
        "steps": 8,
        "eval.every": 0,
        "eval.episodes": 1,
        "eval.max_steps": 100_000,
    }
    folder = tmp_path_factory.mktemp("runs")
    ids = ("LunarLander-v3", "BipedalWalker-v3")
    return {env_id: str(gymsolve.train(env_id, short, runs_dir=folder).run.path) for env_id in ids}


@pytest.mark.parametrize(("env_id", "name", "first"), CALLED_BACK)
def test_ctrl_c_within_a_callback_of_native_code_ends_an_evaluation(env_id, name, first, walkers, shell):
    words = ["eval", walkers[env_id], "--stochastic", "--json"]
    answer = shell(code=WITHIN.format(name=name, first=first, then=COMMAND.format(words=words)))
    assert answer.code == 130, answer
    assert answer.json["error"]["message"] == "stopped by Ctrl-C"
    assert "Exception" not in answer.err


@pytest.mark.parametrize("block", ["raising()", "stop.listening()"])
def test_a_signal_within_a_callback_of_native_code_ends_a_training_at_once(block, shell):
    answer = shell(code=WITHIN.format(name="PostSolve", first=300, then=STEPS.format(block=block)))
    assert (answer.code, answer.err) == (130, "")
