"""Encoder, algorithm, wrapper and observers of the user's own, as docs/parts.md has them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from resuming import assert_same_weights, metrics

import gymsolve
from gymsolve.errors import ConfigError, UsageError
from gymsolve.nn.policy import Policy
from gymsolve.nn.saliency import Asked, activations, find_filters, gradients, occlude
from gymsolve.runs.loading import load_checkpoint
from gymsolve.settings.config import NetConfig
from gymsolve.settings.own_parts import PartConfig
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec
from gymsolve.training.fork import branch_run
from gymsolve.training.observer import Silent, StopTraining
from gymsolve.view.run_page import look_over

PAGE = Path(__file__).parents[2] / "docs" / "parts.md"
MORE = """
import numpy as np

from gymsolve.nn.policy import Policy

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


class Told(nn.Module):
    def __init__(self, observations):
        super().__init__()

    def forward(self, observations):
        self.told = dict(observations)
        return observations["numbers"]


class Picture(nn.Module):
    # Its activations are attributes of their own.
    def __init__(self, observations):
        super().__init__()
        channels, height, width = observations["obs"].shape
        self.first, self.relu = nn.Conv2d(channels, 5, 3, padding=1), nn.ReLU()
        self.then, self.tanh = nn.Linear(5 * height * width, 12), nn.Tanh()
        self.last = nn.Sequential(nn.Linear(12, 7), nn.ReLU())

    def forward(self, observations):
        seen = self.relu(self.first(observations["obs"]))
        return self.last(self.tanh(self.then(seen.flatten(1))))


class Screen(gym.Env):
    # A bright column says which of two buttons pays.
    observation_space = gym.spaces.Box(0, 255, (10, 10, 1), np.uint8)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.side = int(self.np_random.integers(2))
        picture = np.zeros((10, 10, 1), np.uint8)
        picture[:, 9 * self.side] = 255
        return picture, {}

    def step(self, action):
        obs, info = self.reset()[0], {}
        return obs, float(action == self.side), True, False, info


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
    (folder / "my_parts.py").write_text("".join(blocks) + MORE)
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


def test_in_python_a_class_stands_for_its_name(parts, tmp_path):
    given = {"net.encoder": parts.Waves, "algo.name": parts.SteadyPPO, "observers": [parts.Patience]}
    stored = gymsolve.train("CartPole-v1", SMALL | given, steps=64, runs_dir=tmp_path).run.config_json()[
        "config"
    ]
    assert stored["net"]["encoder"]["name"] == "my_parts:Waves"
    assert stored["algo"]["name"] == "my_parts:SteadyPPO"
    assert stored["observers"] == [{"name": "my_parts:Patience", "options": {}}]
    with pytest.raises(UsageError, match=r"net\.encoder: .*Inner is defined in another function or class"):
        gymsolve.train("CartPole-v1", {"net.encoder": type("Inner", (), {"__qualname__": "here.Inner"})})


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
    outcome = gymsolve.train(env, SMALL | changes, steps=256, runs_dir=tmp_path)
    weights = load_checkpoint(outcome.run, "last").policy
    if changes["net.encoder"] == "my_parts:Layers":
        assert float(weights["encoder.own.layers.1.num_batches_tracked"]) > 0
    assert gymsolve.resume(outcome.run, steps=320).env_steps == 320
    again = [gymsolve.evaluate(outcome.run, episodes=3, run_seeds=True).mean for _ in range(2)]
    assert again[0] == again[1]  # nothing is dropped out while it acts


def test_what_an_encoder_gets_is_ready_for_a_network():
    """By hand: numbers as the running statistics scale them, pictures from 0 to 1, categories from 0."""
    entries = {
        "numbers": ObsSpec("vector", (3,), "float32"),
        "picture": ObsSpec("image", (2, 4, 5), "uint8"),
        "cards": ObsSpec("discrete", (2,), "int64", nvec=(3, 4), start=(0, 0)),
    }
    spec = EnvSpec("Made-v0", entries, ActionSpec("discrete", (), nvec=(2,)))
    policy = Policy(spec, NetConfig(encoder=PartConfig(name="my_parts:Told"), normalize_obs="running"), None)
    rng = np.random.default_rng(0)
    obs = {
        "numbers": rng.normal(5.0, 2.0, (64, 3)).astype(np.float32),
        "picture": rng.integers(0, 256, (64, 2, 4, 5), np.uint8),
        "cards": rng.integers(0, 3, (64, 2)),
    }
    policy.observe(obs)
    policy.values(obs)
    told = policy.encoder.own.told
    mean, std = obs["numbers"].mean(axis=0), obs["numbers"].std(axis=0)
    np.testing.assert_allclose(told["numbers"].numpy(), (obs["numbers"] - mean) / std, atol=1e-3)
    np.testing.assert_allclose(told["picture"].numpy(), obs["picture"] / np.float32(255), atol=1e-6)
    np.testing.assert_array_equal(told["cards"].numpy(), obs["cards"])
    assert policy.seen(obs).keys() == {"numbers", "picture"}


def test_pictures_pass_through_an_own_encoder_in_training_and_in_the_inspector(tmp_path):
    settings = SMALL | {"net.encoder": "my_parts:Picture", "checkpoint.every": 64}
    outcome = gymsolve.train("my_parts:Screen", settings, steps=192, runs_dir=tmp_path)
    policy = gymsolve.load_policy(outcome.run).policy
    assert set(policy.encoder.state_dict()) >= {"own.first.weight", "own.then.weight", "own.last.0.weight"}
    obs = {"obs": np.random.default_rng(0).integers(0, 256, (3, 1, 10, 10), np.uint8)}
    widths = {name: out.shape for name, out in policy.hidden(obs).items() if name.startswith("encoder")}
    assert widths == {"encoder.own.relu": (3, 5), "encoder.own.tanh": (3, 12), "encoder.own.last.1": (3, 7)}
    assert find_filters(policy) == []
    one = {"obs": obs["obs"][:1]}
    asked = Asked(one, np.zeros((1, 1), np.int64), None, None)
    assert gradients(policy, asked)["obs"].action.shape == (1, 10, 10)
    assert np.isfinite(occlude(policy, asked)["obs"].action).all()
    assert activations(policy, obs)["encoder.own.last.1"].shape == (3, 7)


def test_first_weights_follow_from_the_seed(tmp_path):
    settings = SMALL | {"net.encoder": "my_parts:Waves", "algo.learning_rate": 0}

    def first(seed):
        run = gymsolve.train("CartPole-v1", settings, seed=seed, steps=64, runs_dir=tmp_path).run
        return load_checkpoint(run, "last").policy

    one, same, other = first(1), first(1), first(2)
    name = "encoder.own.directions.weight"
    np.testing.assert_array_equal(one[name], same[name])
    assert not np.array_equal(one[name], other[name])
    assert not np.array_equal(one[name], one[f"value_{name}"])  # policy and value begin differently


def test_building_an_encoder_moves_no_statistics_and_leaves_torchs_generator_alone():
    entries = {"obs": ObsSpec("vector", (3,), "float32")}
    spec = EnvSpec("Made-v0", entries, ActionSpec("discrete", (), nvec=(2,)))
    before = torch.get_rng_state()
    policy = Policy(spec, NetConfig(encoder=PartConfig(name="my_parts:Layers")), np.random.default_rng(0))
    assert torch.equal(torch.get_rng_state(), before)
    norm = policy.encoder.own.layers[1]
    assert (norm.running_mean.tolist(), norm.num_batches_tracked.item()) == ([0.0] * 8, 0)


def test_networks_of_an_own_algorithm(tmp_path):
    settings = SMALL | {"algo.name": "my_parts:OwnNetworksPPO"}
    outcome = gymsolve.train("CartPole-v1", settings, steps=128, runs_dir=tmp_path)
    loaded = gymsolve.load_policy(outcome.run)
    assert type(loaded.policy).__name__ == "OwnNetworks"
    assert loaded.policy.extra.shape == (3,)
    assert loaded.act(np.zeros(4, np.float32)) in (0, 1)
    assert gymsolve.resume(outcome.run, steps=192).env_steps == 192


def test_forks_inspection_and_another_process_know_the_parts(run, folder):
    changes = {"algo.pull": 0.5, "steps": 192}
    forked = branch_run(f"{run.id}@128", overrides=changes, runs_dir=folder / "runs")
    assert (forked.env_steps, forked.run.config_json()["config"]["algo"]["pull"]) == (192, 0.5)
    episode = gymsolve.inspect(run, steps=5, camera=False, runs_dir=folder / "runs")
    assert len(episode) == 5
    assert np.isfinite(episode.credit()["advantage"]).all()
    words = [
        sys.executable,
        "-m",
        "gymsolve",
        "eval",
        str(run.path),
        "--episodes",
        "3",
        "--run-seeds",
        "--json",
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=200, check=True)
    here = gymsolve.evaluate(run, episodes=3, run_seeds=True)
    assert json.loads(done.stdout)["mean_reward"] == here.mean


def test_a_module_that_is_gone_is_told_with_where_it_was(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(folder)])
    monkeypatch.delitem(sys.modules, "my_parts")
    monkeypatch.chdir(tmp_path)
    for use in (gymsolve.load_policy, gymsolve.evaluate, gymsolve.resume, gymsolve.inspect):
        with pytest.raises(UsageError) as refused:
            use(run)
        said = str(refused.value)
        assert f"there is no module 'my_parts' here, which run {run.id} needs." in said
        assert "A file my_parts.py is looked for in " in said
        assert (
            f"For the run it was {folder / 'my_parts.py'}: if it is still there, start in {folder}, or"
            in said
        )
    page = look_over(run)  # whoever only reads needs none of it
    assert page["id"] == run.id
    flat = json.dumps(page)
    assert "my_parts:SteadyPPO" in flat
    (tmp_path / "my_parts.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="the module 'my_parts' has no 'SteadyPPO'"):
        gymsolve.load_policy(run)
    sys.modules.pop("my_parts")
