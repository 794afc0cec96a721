"""Faulty parts of the user's own: one sentence that names the class, what it lacks, and the line."""

import sys

import pytest

import gymsolve
from gymsolve.errors import GymsolveError
from gymsolve.training.observer import Silent

MODULE = """
import torch
from torch import nn

from gymsolve.algos.ppo import PPO
from gymsolve.experience.learner import Learner
from gymsolve.settings.algorithms import PPOConfig
from gymsolve.settings.any_algorithm import AlgorithmSettings


class Flat(nn.Module):
    def __init__(self, observations):
        super().__init__()

    def forward(self, observations):
        return self.answer(observations["obs"])

    def answer(self, x):
        return x


class Uncalled(nn.Module):
    def __init__(self, observations):
        self.layer = nn.Linear(4, 4)


class NoOptions(nn.Module):
    def __init__(self):
        super().__init__()


class Wanting(Flat):
    def __init__(self, observations, width):
        super().__init__(observations)


class NoTorch:
    def __init__(self, observations):
        pass


class TwoArguments(Flat):
    def forward(self, observations, memory):
        return observations["obs"]


class WrongEntry(Flat):
    def forward(self, observations):
        return observations["image"]


class Double(Flat):
    def answer(self, x):
        return x.double()


class Deep(Flat):
    def answer(self, x):
        return x[:, :, None]


class Pooled(Flat):
    def answer(self, x):
        return x.mean(dim=0, keepdim=True)


class Two(Flat):
    def answer(self, x):
        return x, x


class Root(Flat):
    def answer(self, x):
        return x.sqrt()


class LateRoot(Flat):
    calls = 0

    def answer(self, x):
        LateRoot.calls += 1
        return x * float("nan") if LateRoot.calls > 40 else x


class LateError(Flat):
    calls = 0

    def answer(self, x):
        LateError.calls += 1
        return x / (1 if LateError.calls < 40 else [])


class NoSettings(Learner):
    pass


class Settings(PPOConfig):
    strength: float = 1.0


class NoUpdate(Learner):
    settings = AlgorithmSettings


class NoPolicy(Learner):
    settings = AlgorithmSettings

    def update(self, rollout, progress, rng):
        return {}


class FewArguments(PPO):
    settings = Settings

    def update(self, rollout):
        return {}


class Raises(PPO):
    settings = Settings

    def update(self, rollout, progress, rng):
        return {"train/loss": 1 / 0}


class Unknown(PPO):
    settings = Settings

    def update(self, rollout, progress, rng):
        return super().update(rollout, progress, rng) | {"train/los": 1.0}


class Strange(PPO):
    settings = Settings

    def update(self, rollout, progress, rng):
        return super().update(rollout, progress, rng) | {"own/text": "x"}


class Nothing(PPO):
    settings = Settings

    def update(self, rollout, progress, rng):
        super().update(rollout, progress, rng)


class Deaf:
    def record(self, record):
        pass


def function():
    pass
"""
SMALL = {"env.num_envs": 2, "algo.num_steps": 32, "eval.episodes": 2, "video.enabled": False}


@pytest.fixture(scope="module", autouse=True)
def faulty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "faulty_parts.py").write_text(MODULE)
    (folder / "exits.py").write_text("raise SystemExit(3)\n")
    (folder / "unreadable.py").write_text("class Broken(:\n    pass\n")
    (folder / "lacking.py").write_text("import a_package_that_nobody_has\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.syspath_prepend(str(folder))
        yield folder
    for name in ("faulty_parts", "exits", "unreadable", "lacking"):
        sys.modules.pop(name, None)


def refused(tmp_path, settings, steps=256):
    with pytest.raises(GymsolveError) as error:
        gymsolve.train("CartPole-v1", SMALL | settings, steps=steps, runs_dir=tmp_path)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Uncalled", "Uncalled raised AttributeError: cannot assign module before Module.__init__() call"),
        ("Uncalled", "in its constructor (FOLDER/faulty_parts.py, line 24)"),
        ("NoOptions", "NoOptions(observations) cannot be called: too many positional arguments."),
        ("Wanting", "Wanting(observations) cannot be called: missing a required argument: 'width'."),
        ("NoTorch", "NoTorch makes a NoTorch, no torch.nn.Module. Derive it from torch.nn.Module."),
        ("TwoArguments", "TwoArguments.forward should take (observations): missing a required argument"),
        ("WrongEntry", "WrongEntry raised KeyError: 'image' in forward (FOLDER/faulty_parts.py, line 49)"),
        ("Double", "Double returned a tensor [2, 4] of torch.float64, not float32 [2, F]"),
        ("Double", "Return out.float()."),
        ("Deep", "Deep returned a tensor [2, 4, 1], not float32 [2, F]"),
        ("Pooled", "Pooled returned a tensor [1, 4] of torch.float32, not float32 [2, F]"),
        ("Two", "Two returned a tuple, not float32 [2, F]"),
        ("Root", "Root returned numbers that are not finite for an observation within its space."),
        ("Settings", "faulty_parts:Settings"),
        ("function", "function(observations) cannot be called: too many positional arguments"),
        ("Nowhere", "the module 'faulty_parts' has no 'Nowhere' (FOLDER/faulty_parts.py)."),
    ],
)
def test_a_faulty_encoder_is_refused_before_there_is_a_run(faulty, tmp_path, name, words):
    said = refused(tmp_path / "runs", {"net.encoder": f"faulty_parts:{name}"})
    assert words.replace("FOLDER", str(faulty)) in said
    assert said.startswith("net.encoder: ")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoSettings", "NoSettings has no attribute `settings` that is a class of AlgorithmSettings."),
        ("Settings", "Settings has no attribute `settings` that is a class of AlgorithmSettings."),
        ("function", "function is no class but function."),
        ("NoUpdate", "NoUpdate has no update. Define update(self, rollout, progress, rng)"),
        ("NoPolicy", "NoPolicy names no policy."),
        ("FewArguments", "FewArguments.update should take (self, rollout, progress, rng): too many"),
    ],
)
def test_a_faulty_algorithm_is_refused_before_there_is_a_run(tmp_path, name, words):
    said = refused(tmp_path / "runs", {"algo.name": f"faulty_parts:{name}"})
    assert words in said
    assert said.startswith("algo.name: ")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"algo.strenght": 2}, "algo.strenght: unknown key (from overrides). Did you mean 'algo.strength'?"),
        ({"algo.strength": "much"}, "algo.strength: should be a number, not 'much' (from overrides)."),
        ({"algo.q_lambda": 1}, "algo.q_lambda: faulty_parts:Raises has no such setting; it belongs to pqn"),
        ({"algo.gamma": 2}, "algo.gamma: should be between 0 and 1"),
        ({"algo.name": "__main__:X"}, "algo.name: no other process can import '__main__:X'."),
        ({"net.encoder": "nature"}, "should name a class with its module, as my_module:Class, not 'nature'"),
        ({"explore.bonus": "counts", "algo.name": "reinforce"}, "explore.bonus"),
        (
            {"engine": "numpy"},
            "NumPy cannot serve this run: algo.name=faulty_parts:Raises has no NumPy version",
        ),
        ({"observers": "faulty_parts:Deaf"}, "observers[0]: faulty_parts:Deaf has no method started."),
        ({"algo.name": "exits:X"}, "the module 'exits' of exits:X ended the program with sys.exit"),
        ({"algo.name": "unreadable:X"}, "Python cannot read the module 'unreadable' of unreadable:X"),
        (
            {"algo.name": "lacking:X"},
            "lacking:X cannot be imported: ModuleNotFoundError: No module named 'a_pa",
        ),
        ({"net.encoder": "absent:X"}, "net.encoder: there is no module 'absent' to import for 'absent:X'."),
        (
            {"env.wrappers": ["absent:X"]},
            "there is no module 'absent' to import for 'absent:X'. A file absent.py",
        ),
    ],
)
def test_settings_of_own_parts_are_checked_as_others_are(faulty, tmp_path, setting, words):
    said = refused(tmp_path, {"algo.name": "faulty_parts:Raises"} | setting)
    assert words in said
    if "absent" in words:
        assert str(faulty) in said, "a folder that is looked at"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"algo.name": "faulty_parts:Raises"},
            "faulty_parts:Raises raised ZeroDivisionError: division by zero in update",
        ),
        ({"algo.name": "faulty_parts:Unknown"}, "returned the metric 'train/los', which nobody knows."),
        ({"algo.name": "faulty_parts:Strange"}, "returned a str as the metric 'own/text'. Return float(…)."),
        (
            {"algo.name": "faulty_parts:Nothing"},
            "faulty_parts:Nothing returned a NoneType from update, no metrics",
        ),
        ({"net.encoder": "faulty_parts:LateError"}, "faulty_parts:LateError raised TypeError"),
        (
            {"net.encoder": "faulty_parts:LateRoot"},
            "faulty_parts:LateRoot returned numbers that are not finite for",
        ),
    ],
)
def test_what_fails_in_a_run_names_the_class_and_the_run_says_so(faulty, tmp_path, settings, words):
    said = refused(tmp_path, settings)
    assert words in said
    run = gymsolve.open_run("@last", runs_dir=tmp_path)
    assert run.status == "crashed"
    (error,) = [row for row in run.read_events().rows if row["kind"] == "error"]
    assert words in error["text"]
    if "raised" in words:
        assert error["at"]["file"] == str(faulty / "faulty_parts.py")


def test_an_observer_from_python_may_raise_what_it_likes(tmp_path):
    class Raises(Silent):
        def record(self, record):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        gymsolve.train("CartPole-v1", SMALL, steps=256, runs_dir=tmp_path, observer=Raises())
