"""Encoder, algorithm, wrapper and observers of the user's own, those of docs/parts.md: trained and resumed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from resuming import assert_same_weights, metrics

import gymsolve
from gymsolve.runs.loading import load_checkpoint
from gymsolve.training.observer import Silent, StopTraining

PAGE = Path(__file__).parents[2] / "docs" / "parts.md"
MORE = """

class Same(nn.Module):
    def __init__(self, observations):
        super().__init__()

    def forward(self, observations):
        return torch.cat([x.flatten(1) for x in observations.values()], dim=1)


class Layers(nn.Module):
    def __init__(self, observations):
        super().__init__()
        size = sum(torch.zeros(entry.shape).numel() for entry in observations.values())
        self.layers = nn.Sequential(nn.Linear(size, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2))

    def forward(self, observations):
        return self.layers(torch.cat([x.float().flatten(1) for x in observations.values()], dim=1))


class Pixels(nn.Module):
    seen = []

    def __init__(self, observations):
        super().__init__()
        self.mix = nn.Linear(observations["obs"].shape[0], 4)

    def forward(self, observations):
        self.seen.append((observations["obs"].dtype, observations["obs"].min(), observations["obs"].max()))
        return self.mix(observations["obs"].mean(dim=(2, 3)))


class SamePPO(PPO):
    pass


class OwnNetworks(Policy):
    def __init__(self, spec, config, rng):
        super().__init__(spec, config, rng)
        self.extra = nn.Parameter(torch.zeros(3))


class OwnNetworksPPO(PPO):
    policy_type = OwnNetworks
"""
SMALL = {
    "env.num_envs": 2,
    "algo.num_steps": 32,
    "eval.episodes": 2,
    "eval.every": 128,
    "checkpoint.every": 128,
    "solved_at": 1e9,
    "video.enabled": False,
}
OWN = SMALL | {
    "net.encoder": {"my_parts:Waves": {"waves": 6}},
    "algo.name": "my_parts:SteadyPPO",
    "algo.pull": 0.25,
    "env.wrappers": [{"my_parts:Heavier": {"factor": 3.0}}],
    "observers": "my_parts:Patience",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the module of docs/parts.md, and a few parts more in it."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert all(block.startswith("# my_parts.py") for block in blocks)
    folder = tmp_path_factory.mktemp("own")
    (folder / "my_parts.py").write_text("".join(blocks) + "\nfrom gymsolve.nn.policy import Policy\n" + MORE)
    return folder


@pytest.fixture(scope="module", autouse=True)
def parts(folder):
    """That module, importable here and in processes that training starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("PYTHONPATH", str(folder))
        patch.syspath_prepend(str(folder))
        import my_parts  # type: ignore[import-not-found]

        yield my_parts
    sys.modules.pop("my_parts", None)


@pytest.fixture(scope="module")
def run(folder):
    """One run with all parts, at half of its budget."""
    return gymsolve.train("CartPole-v1", OWN, steps=256, runs_dir=folder / "runs").run


def test_settings_name_the_code_and_the_files_it_came_from(run, folder):
    stored = run.config_json()
    assert stored["config"]["net"]["encoder"] == {"name": "my_parts:Waves", "options": {"waves": 6}}
    assert stored["config"]["algo"]["pull"] == 0.25
    assert stored["config"]["algo"]["clip_coef"] == 0.2  # those of PPO hold as well
    assert stored["provenance"]["algo.pull"] == stored["provenance"]["net.encoder.options.waves"] == "--set"
    assert run.info()["code"] == {"my_parts": str(folder / "my_parts.py")}
    assert (run.info()["algo"], run.info()["variant"]) == ("my_parts:SteadyPPO", "SteadyPPO")
    (started,) = [row for row in run.read_events().rows if row["kind"] == "started"]
    assert started["engine"] == "torch"


def test_the_parts_take_part(run, parts):
    saved = load_checkpoint(run, "last")
    assert saved.policy["encoder.own.directions.weight"].shape == (6, 4)
    assert saved.policy["actor.0.weight"].shape == (64, 12)  # sines and cosines
    assert any(name.startswith("algorithm/slow_") for name in saved.trainer)
    rows = metrics(run)
    assert all(row["own/slow_norm"] > 0 for row in rows if "train/loss" in row)
    envs = gymsolve.load_policy(run).make_envs()
    try:
        envs.reset([0])
        assert envs.step(np.zeros(1, np.int64)).rewards.tolist() == [3.0]  # CartPole pays 1
    finally:
        envs.close()


def twin(settings, runs_dir, steps=512):
    return gymsolve.train("CartPole-v1", settings, steps=steps, runs_dir=runs_dir).run


class EndAt(Silent):
    """Ends a run at the first record from a step on."""

    def __init__(self, env_steps):
        self.env_steps = env_steps

    def record(self, record):
        if record["env_steps"] >= self.env_steps:
            raise StopTraining(f"as wanted at {self.env_steps}")


def test_an_observer_ends_a_run_and_a_resume_continues_exactly(tmp_path):
    """What is ended at 192 steps and resumed is the run that nobody ended, slow weights included."""
    ended = gymsolve.train("CartPole-v1", OWN, steps=512, runs_dir=tmp_path, observer=EndAt(192))
    assert (ended.status, ended.reason, ended.env_steps) == ("finished", "observer", 192)
    (stopping,) = [row for row in ended.run.read_events().rows if row["kind"] == "stopping"]
    assert stopping["text"] == "test_own_parts:EndAt ends the run: as wanted at 192"
    assert "eval/mean_reward" in metrics(ended.run)[-1] or ended.mean_reward is not None
    assert gymsolve.resume(ended.run).reason == "steps"
    straight = gymsolve.train("CartPole-v1", OWN, steps=512, runs_dir=tmp_path).run
    assert_same_weights(ended.run, straight)


def test_a_class_that_changes_nothing_trains_like_the_built_in_part(tmp_path):
    """Bit for bit: an encoder that passes numbers on, and a PPO without changes."""
    plain = SMALL | {"engine": "torch", "algo.num_minibatches": 2, "algo.num_epochs": 2, "algo.name": "ppo"}
    fixed = {
        f"algo.{name}": value
        for name, value in {"learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.8, "clip_coef": 0.2}.items()
    }
    one = load_checkpoint(twin(plain | fixed, tmp_path), "last")
    for change in (
        {"algo.name": "my_parts:SamePPO"},
        {"net.encoder": "my_parts:Same"},
        {"algo.name": "my_parts:SteadyPPO", "algo.pull": 0},
    ):
        other = load_checkpoint(twin(plain | fixed | change, tmp_path), "last")
        assert one.policy.keys() == other.policy.keys()
        for name in one.policy:
            np.testing.assert_array_equal(
                one.policy[name], other.policy[name], err_msg=f"{name} with {change}"
            )


@pytest.mark.parametrize(
    ("env", "changes"),
    [
        ("CartPole-v1", {"net.normalize_obs": "running", "net.encoder": "my_parts:Layers"}),
        ("CartPole-v1", {"algo.name": "dqn", "algo.learning_starts": 64, "net.encoder": "my_parts:Layers"}),
        ("CartPole-v1", {"net.memory": "gru", "net.encoder": "my_parts:Waves", "net.shared": True}),
        ("Blackjack-v1", {"algo.name": "pqn", "net.encoder": "my_parts:Layers"}),
    ],
    ids=["batch norm and dropout", "dqn", "memory", "categories, pqn"],
)
def test_encoders_serve_other_algorithms_spaces_and_memory(env, changes, tmp_path):
    settings = SMALL | changes
    straight = gymsolve.train(env, settings, steps=512, runs_dir=tmp_path).run
    resumed = gymsolve.train(env, settings, steps=256, runs_dir=tmp_path).run
    gymsolve.resume(resumed, steps=512)
    mine, theirs = (load_checkpoint(run, "last").policy for run in (resumed, straight))
    if (
        changes["net.encoder"] == "my_parts:Layers"
    ):  # its batch norm has moved, its dropout is part of training
        assert float(mine["encoder.own.layers.1.running_var"].std()) > 0
    # Learning rates follow a schedule over the budget, which a resume with more steps changes.
    assert mine.keys() == theirs.keys()
