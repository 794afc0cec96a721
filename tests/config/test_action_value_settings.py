"""Settings of DQN and PQN: what cannot go together is refused in one sentence; what they need is told."""

import pytest

from gymsolve.doctor.lint import lint
from gymsolve.doctor.rules.remedy_limits import _is_inert, _is_known
from gymsolve.doctor.rules.rule import Context
from gymsolve.errors import ConfigError
from gymsolve.fast.support import supports
from gymsolve.recipes import validate
from gymsolve.settings.config import DQNConfig
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec

CARTPOLE = {"id": "CartPole-v1"}
CHOICES = ActionSpec("discrete", (), nvec=(4,), start=(0,))


def settings(name: str = "dqn", **sections):
    env = {**CARTPOLE, **sections.pop("env", {})}
    return validate({"env": env, "algo": {"name": name, **sections.pop("algo", {})}, **sections})


REFUSED = {
    "memory": ({"net": {"memory": {"cell": "lstm"}}}, r"net\.memory: dqn has no memory"),
    "tasks": ({"env": {"tasks": ["CartPole-v1", "Acrobot-v1"]}}, r"env\.tasks: dqn learns one task"),
    "bonus": ({"explore": {"bonus": "rnd"}}, r"explore\.bonus: dqn learns from the task's rewards alone"),
    "archive": ({"explore": "go_explore"}, r"explore\.archive: dqn begins every episode at a reset"),
    "values": ({"net": {"normalize_values": "popart"}}, r"net\.normalize_values: dqn learns values in units"),
    "buffer": ({"algo": {"buffer_size": 10}}, r"algo\.buffer_size: a rollout of 32 steps .* use 32 or more"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_action_values_cannot_serve_is_refused(case):
    sections, sentence = REFUSED[case]
    with pytest.raises(ConfigError, match=sentence):
        settings(**sections)


def test_duelling_is_for_action_values():
    assert settings(net={"duelling": True}).net.duelling
    assert settings("pqn", net={"duelling": True}).net.duelling
    with pytest.raises(
        ConfigError, match=r"net\.duelling: ppo learns no action values; use algo.name=dqn or pqn"
    ):
        settings("ppo", net={"duelling": True})


@pytest.mark.parametrize("algo", ["pqn", "dqn"])
def test_the_numpy_engine_says_why_not(algo):
    spec = EnvSpec("CartPole-v1", {"obs": ObsSpec("vector", (4,), "float32")}, CHOICES)
    assert supports(settings(algo), spec) == f"algo.name={algo} has no NumPy version"


def test_the_memory_of_a_buffer_is_told_before_it_is_taken():
    pictures = {"obs": ObsSpec("image", (4, 84, 84), "uint8")}
    config = DQNConfig(buffer_size=100_000)
    spec = EnvSpec("Pictures", pictures, CHOICES)
    whole, once = config.memory_bytes(spec, 8), config.memory_bytes(spec, 8, frame_stack=4)
    assert 100_000 * 4 * 84 * 84 < whole < 1.3 * 100_000 * 4 * 84 * 84
    assert 100_000 * 84 * 84 < once < 1.3 * 100_000 * 84 * 84  # every frame is stored once
    assert settings("ppo").algo.memory_bytes(spec, 8) == 0
    half = DQNConfig(buffer_size=50_000)
    assert 2 * half.memory_bytes(spec, 8) == whole


def test_findings_and_remedies_name_settings_that_there_are():
    for algo in ("pqn", "dqn"):
        config = settings(algo, algo={"learning_rate": 0.5}, steps=1000)
        assert "rate_high" in {finding.id for finding in lint(config)}
        for finding in lint(config):
            for change in finding.changes:
                section, _, key = change.path.rpartition(".")
                node = config.algo if section == "algo" else config
                assert key in type(node).model_fields
        context = Context.of(config, None)
        assert not _is_known(context, "algo.vf_coef")
        assert not _is_known(context, "algo.ent_coef")
        assert _is_inert(context, "net.normalize_values")
        assert _is_inert(context, "net.shared")
        assert _is_known(context, "algo.learning_rate")


def test_a_buffer_that_never_fills_is_a_finding():
    config = settings(algo={"learning_starts": 5000}, steps=4000)
    assert "never_starts" in {finding.id for finding in lint(config)}
    assert "never_starts" not in {finding.id for finding in lint(settings(steps=4000))}
