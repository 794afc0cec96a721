"""Settings of SAC, TD3 and TQC: what cannot go together is refused; words of other tools are answered."""

import pytest

from gymsolve.doctor.lint import lint
from gymsolve.errors import ConfigError
from gymsolve.fast.support import supports
from gymsolve.recipes import validate
from gymsolve.settings.config import SACConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

ARM = ActionSpec("box", (2,), low=(-1.0,) * 2, high=(1.0,) * 2, dtype="float32")


def settings(name: str = "sac", **sections):
    env = {"id": "Pendulum-v1", **sections.pop("env", {})}
    return validate({"env": env, "algo": {"name": name, **sections.pop("algo", {})}, **sections})


REFUSED = {
    "memory": ({"net": {"memory": {"cell": "lstm"}}}, r"net\.memory: sac has no memory"),
    "tasks": ({"env": {"tasks": ["Pendulum-v1", "CartPole-v1"]}}, r"env\.tasks: sac learns one task"),
    "bonus": ({"explore": {"bonus": "rnd"}}, r"explore\.bonus: sac learns from the task's rewards alone"),
    "duelling": (
        {"net": {"duelling": True}},
        r"net\.duelling: sac learns no action values; use .*dqn or pqn",
    ),
    "quantiles": ({"net": {"quantiles": 5}}, r"net\.quantiles: sac predicts values, .*; use algo.name=tqc"),
    "batch_norm": ({"net": {"batch_norm": True}}, r"net\.batch_norm: the networks of sac have none"),
    "dropout": (
        {"net": {"dropout": 0.1}},
        r"net\.dropout: the networks of sac have none; use net.layer_norm",
    ),
    "buffer": ({"algo": {"buffer_size": 10}}, r"algo\.buffer_size: a rollout of 32 steps .* use 32 or more"),
    "old weight": ({"algo": {"ent_coef": "auto_0.1"}}, r"algo\.ent_coef: .* auto and algo.ent_coef_init=0.1"),
    "train_freq": ({"algo": {"train_freq": 1}}, r"algo\.train_freq: .*algo.num_steps"),
    "critics": ({"algo": {"n_critics": 1}}, r"algo\.n_critics: .*net.critics.count"),
    "interval": ({"algo": {"target_update_interval": 1}}, r"algo.target_every"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_the_fix(case):
    sections, sentence = REFUSED[case]
    sections = {"env": {"num_envs": 8}, **sections}
    with pytest.raises(ConfigError, match=sentence) as told:
        settings(**sections)
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "word", "ours"),
    [
        ("td3", "policy_delay", "algo.policy_every"),
        ("td3", "action_noise", "algo.exploration_noise"),
        ("td3", "target_policy_noise", "algo.policy_noise"),
        ("td3", "target_noise_clip", "algo.noise_clip"),
        ("tqc", "top_quantiles_to_drop_per_net", "algo.drop_quantiles"),
        ("tqc", "n_quantiles", "net.quantiles"),
        ("sac", "policy_frequency", "algo.policy_every"),
    ],
)
def test_words_of_other_tools_are_answered_with_ours(name, word, ours):
    with pytest.raises(ConfigError, match=ours):
        settings(name, algo={word: 1})


def test_words_of_other_tools_that_are_ours_too():
    given = {"buffer_size": 5000, "tau": 0.01, "learning_starts": 100, "batch_size": 64, "gradient_steps": 2}
    algo = settings(algo={**given, "ent_coef": "auto", "target_entropy": "auto"}).algo
    assert {name: getattr(algo, name) for name in given} == given
    assert algo.ent_coef is None
    assert algo.target_entropy is None
    assert settings(algo={"ent_coef": 0.2}).algo.ent_coef.at(Progress(0, 1)) == 0.2


def test_more_quantiles_than_there_are_cannot_be_left_out():
    with pytest.raises(ConfigError, match=r"of 25 quantiles \(net.quantiles\) 25 cannot .*; use 24 or fewer"):
        settings("tqc", algo={"drop_quantiles": 25})
    assert settings("tqc", algo={"drop_quantiles": 24})


@pytest.mark.parametrize("algo", ["sac", "td3", "tqc"])
def test_the_numpy_engine_says_why_not(algo):
    spec = EnvSpec("Arm", {"obs": ObsSpec("vector", (4,), "float32")}, ARM)
    assert supports(settings(algo), spec) == f"algo.name={algo} has no NumPy version"


def test_the_memory_of_a_buffer_is_told_before_it_is_taken():
    spec = EnvSpec("Arm", {"obs": ObsSpec("vector", (100,), "float32")}, ARM)
    need = SACConfig(buffer_size=100_000).memory_bytes(spec, 8)
    assert 100_000 * 4 * 102 < need < 1.3 * 100_000 * 4 * 102


def test_a_buffer_that_never_fills_is_a_finding():
    assert "never_starts" in {finding.id for finding in lint(settings(steps=1000))}
    assert "never_starts" not in {finding.id for finding in lint(settings(steps=2000))}
