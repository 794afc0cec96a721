"""Environments that break: the error names the copy, the place and the cause, and training can go on."""

import importlib.util
import os
import signal
from typing import Any

import numpy as np
import pytest
import sample_envs

from gymsolve.config import EnvConfig
from gymsolve.envs.backends.same_step import SameStepEnvs
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.errors import ConfigError, EnvFaultError, GymsolveError, MissingExtraError, UnknownEnvError

assert sample_envs.Faulty


def faulty(how: str, backend: str = "sync") -> Envs:
    config = EnvConfig.model_validate(
        {"id": "Sample/Faulty-v0", "kwargs": {"how": how}, "num_envs": 2, "backend": backend}
    )
    return make_envs(config, "train")


def run(envs: Envs, steps: int = 6) -> None:
    envs.reset([1, 2])
    for _ in range(steps):
        envs.step(np.array([1, 1]))


@pytest.mark.parametrize("backend", ["sync", "async"])
@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            "raise",
            [
                "environment 0 of Sample/Faulty-v0",
                "ZeroDivisionError: engine on fire",
                "sample_envs.py, line",
                "step 3",
            ],
        ),
        ("nan", ["environment 0", "nan", "'obs' (element 1)", "vector step 3"]),
        ("final_nan", ["environment 0", "inf", "'obs' (element 0)", "vector step 3"]),
        ("reward", ["environment 0", "inf in the reward", "vector step 3"]),
        ("shape", ["environment 0", "has shape (3,)", "says (2,)"]),
        ("dtype", ["environment 0", "<U1", "float32"]),
        ("none", ["environment 0", "returned None as reward", "sample_envs.py, line", "step 3"]),
        ("four", ["environment 0", "returned 4 values", "sample_envs.py, line", "step 3", "terminated"]),
        ("discrete", ["environment 0", "7", "Discrete(3)"]),
    ],
)
def test_faults_name_the_copy_the_place_and_the_cause(how: str, words: list[str], backend: str) -> None:
    envs = faulty(how, backend)
    with pytest.raises(EnvFaultError) as caught:
        run(envs)
    envs.close()
    for word in words:
        assert word in str(caught.value)


def test_the_original_exception_is_chained() -> None:
    with pytest.raises(EnvFaultError) as caught:
        run(faulty("raise"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_reset_that_raises_is_a_fault() -> None:
    with pytest.raises(EnvFaultError, match=r"RuntimeError.*no power"):
        run(faulty("reset"))


def workers_of(envs: Envs) -> list[Any]:
    assert isinstance(envs, SameStepEnvs)
    return list(envs._vec.processes)  # type: ignore[union-attr]


def test_a_killed_worker_is_rebuilt_and_its_episode_truncated() -> None:
    config = EnvConfig(id="CartPole-v1", num_envs=3, workers=3, backend="async", max_episode_steps=8)
    twin = make_envs(config.model_copy(update={"backend": "sync"}), "train")
    envs = make_envs(config, "train")
    envs.reset([1, 2, 3])
    twin.reset([1, 2, 3])
    ones = np.ones(3, dtype=np.int64)
    for _ in range(3):
        last = envs.step(ones)
        twin.step(ones)
    victim = workers_of(envs)[1]
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    step, expected = envs.step(ones), twin.step(ones)
    assert step.truncated.tolist() == [False, True, False]
    assert not step.terminated.any()
    assert step.rewards[1] == 0
    assert len(step.faults) == 1
    assert "environment 1" in step.faults[0]
    assert [(e.env, e.length, e.truncated) for e in step.episodes] == [(1, 4, True)]
    assert step.final_obs is not None
    np.testing.assert_array_equal(step.final_obs["obs"][1], last.obs["obs"][1])
    for _ in range(12):  # the others never noticed, through the end of their episodes
        np.testing.assert_array_equal(step.obs["obs"][[0, 2]], expected.obs["obs"][[0, 2]])
        step, expected = envs.step(ones), twin.step(ones)
        assert [e for e in step.episodes if e.env != 1] == [e for e in expected.episodes if e.env != 1]
        assert not step.faults
    envs.close()


def test_a_worker_that_dies_at_its_end_of_episode_leaves_the_others_ends_intact() -> None:
    envs = make_envs(EnvConfig(id="Bandit-v0", num_envs=3, workers=3, backend="async"), "train")
    envs.reset([1, 2, 3])
    victim = workers_of(envs)[2]
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    step = envs.step(np.array([9, 9, 9]))
    assert step.terminated.tolist() == [True, True, False]
    assert step.truncated.tolist() == [False, False, True]
    assert sorted(episode.env for episode in step.episodes) == [0, 1, 2]
    envs.close()


def test_several_workers_may_die_at_once() -> None:
    envs = make_envs(EnvConfig(id="CartPole-v1", num_envs=3, workers=3, backend="async"), "train")
    envs.reset([1, 2, 3])
    for victim in workers_of(envs)[:2]:
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
    step = envs.step(np.ones(3, dtype=np.int64))
    assert step.truncated.tolist() == [True, True, False]
    assert len(step.faults) == 2
    envs.close()


def test_an_interrupt_from_the_keyboard_leaves_workers_alone() -> None:
    envs = make_envs(EnvConfig(id="CartPole-v1", num_envs=2, workers=2, backend="async"), "train")
    envs.reset([1, 2])
    for worker in workers_of(envs):
        os.kill(worker.pid, signal.SIGINT)
    for _ in range(3):
        assert not envs.step(np.ones(2, dtype=np.int64)).faults
    envs.close()


def test_a_worker_that_dies_elsewhere_is_named() -> None:
    envs = make_envs(EnvConfig(id="CartPole-v1", num_envs=2, workers=2, backend="async"), "train")
    envs.reset([1, 2])
    victim = workers_of(envs)[1]
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    with pytest.raises(EnvFaultError, match="environment 1"):
        envs.capture()
    envs.close()


# ---------------------------------------------------------------------------- wrong requests


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"id": "CartPol-v1"}, UnknownEnvError, ["CartPole-v1"]),
        ({"id": "CartPole-v9"}, UnknownEnvError, ["CartPole-v1"]),
        ({"id": "CartPole"}, UnknownEnvError, ["CartPole-v1"]),
        ({"id": "LunarLander-v2"}, UnknownEnvError, ["LunarLander-v3"]),
        ({"id": "Nowhere/Thing-v0"}, UnknownEnvError, ["Nowhere"]),
        ({"id": "not an id!"}, UnknownEnvError, ["not an id!"]),
        ({"id": "no_such_module_here:Thing-v0"}, UnknownEnvError, ["no_such_module_here"]),
        ({"id": "Pendulum-v1", "kwargs": {"gravity": 9.0}}, ConfigError, ["env.kwargs", "gravity"]),
        ({"id": "CartPole-v1", "backend": "native", "frame_stack": 2}, ConfigError, ["env.backend", "stack"]),
        ({"id": "Pendulum-v1", "backend": "native"}, ConfigError, ["env.backend"]),
        ({"id": "CartPole-v1", "action_masks": "on", "backend": "sync"}, ConfigError, ["env.action_masks"]),
        ({"id": "CartPole-v1", "legal_actions": [2]}, ConfigError, ["env.legal_actions", "2"]),
        ({"id": "CartPole-v1", "wrappers": ["frame_skp"]}, ConfigError, ["env.wrappers[0]", "frame_skip"]),
        (
            {"id": "CartPole-v1", "wrappers": ["time_limit"]},
            ConfigError,
            ["env.wrappers[0].time_limit.max_steps", "needed"],
        ),
        (
            {"id": "CartPole-v1", "wrappers": [{"frame_skip": {"skp": 3}}]},
            ConfigError,
            ["env.wrappers[0].frame_skip.skp", "'skip'"],
        ),
        (
            {"id": "CartPole-v1", "wrappers": ["sticky_actions", {"frame_skip": {"skip": "many"}}]},
            ConfigError,
            ["env.wrappers[1].frame_skip.skip", "'many'"],
        ),
        (
            {"id": "CartPole-v1", "wrappers": [{"sticky_actions": {"probability": 1.5}}]},
            ConfigError,
            ["env.wrappers[0].sticky_actions.probability", "1.5"],
        ),
        (
            {"id": "CartPole-v1", "wrappers": ["grayscale"]},
            ConfigError,
            ["env.wrappers[0].grayscale", "nothing to work on"],
        ),
        (
            {"id": "CartPole-v1", "wrappers": [{"frame_skip": {"skip": [3, 1]}}]},
            ConfigError,
            ["env.wrappers[0].frame_skip", "[3, 1]"],
        ),
        ({"id": "CartPole-v1", "wrappers": ["sample_envs:Counter"]}, ConfigError, ["gymnasium.Wrapper"]),
    ],
)
def test_wrong_requests_are_one_sentence_at_a_place(
    settings: dict[str, Any], kind: type[GymsolveError], words: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        make_envs(EnvConfig.model_validate(settings), "train")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("env_id", "package", "extra"), [("Hopper-v5", "mujoco", "mujoco"), ("ALE/Pong-v5", "ale_py", "atari")]
)
def test_missing_extras_name_the_command(env_id: str, package: str, extra: str) -> None:
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"the extra {extra} is installed")
    with pytest.raises(MissingExtraError, match=rf"gymsolve\[{extra}\]"):
        make_envs(EnvConfig(id=env_id), "train", num_envs=1)


def test_bad_options_are_found_in_wrappers_of_other_roles_too() -> None:
    config = EnvConfig.model_validate(
        {"id": "CartPole-v1", "wrappers": [{"sticky_actions": {"chance": 1, "roles": ["eval"]}}]}
    )
    with pytest.raises(ConfigError, match="chance"):
        make_envs(config, "train")
