"""Environments that break: the error names the copy, the place and the cause, and training can go on."""

import importlib.util
import os
import signal
from typing import Any

import numpy as np
import pytest
import sample_envs

from gymsolve.envs.backends.same_step import SameStepEnvs
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_envs
from gymsolve.errors import (
    ConfigError,
    EnvFaultError,
    EnvLostError,
    GymsolveError,
    MissingExtraError,
    UnknownEnvError,
)
from gymsolve.settings.config import EnvConfig

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
        ("exit", ["environment 0", "ended the program with sys.exit", "sample_envs.py, line", "step 3"]),
        ("info", ["environment 0", "returned None as info", "sample_envs.py, line", "Return a dict"]),
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


@pytest.mark.parametrize("backend", ["sync", "async"])
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("reset", r"raised RuntimeError: no power \(.*sample_envs\.py, line \d+\)"),
        ("bare reset", r"returned a float32 where info should be.*sample_envs\.py, line \d+\).*two values"),
        ("reset None", r"returned None as info \(.*sample_envs\.py, line \d+\).*Return a dict"),
    ],
)
def test_a_wrong_reset_is_a_fault_with_its_place_and_the_contract(how: str, words: str, backend: str) -> None:
    with pytest.raises(EnvFaultError, match=words):
        run(faulty(how, backend))


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
    assert step.cut is not None
    assert step.cut.tolist() == [False, True, False]
    assert step.valid.tolist() == [True, False, True]
    assert not step.episodes  # nobody knows what it would have returned
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
    assert sorted(episode.env for episode in step.episodes) == [0, 1]
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


def kill(worker: Any) -> None:
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()


ONES = np.ones(2, dtype=np.int64)


def two_workers(**settings: Any) -> Envs:
    return make_envs(EnvConfig(id="CartPole-v1", num_envs=2, workers=2, backend="async", **settings), "train")


@pytest.mark.parametrize("call", ["capture", "configure", "snapshots", "render", "jump"])
def test_a_worker_that_dies_between_steps_is_lost_to_the_next_step(call: str) -> None:
    envs = two_workers()
    envs.reset([1, 2])
    envs.step(ONES)
    places = envs.snapshots([0, 1])
    kill(workers_of(envs)[1])
    if call == "capture":
        state = envs.capture()
        assert state is not None
        assert [one is None for one in state["envs"]] == [False, True]
        assert two_workers().restore(state, [3, 4])[2] == [1]  # the other goes on where it was
    elif call == "configure":
        envs.configure([0, 1], None)
    elif call == "snapshots":
        assert [one is None for one in envs.snapshots([0, 1])] == [False, True]
    elif call == "render":
        envs.render()
    else:
        assert all(place is not None for place in places)
        assert envs.jump([0, 1], [place for place in places if place], [5, 6])[2] == [1]
    step = envs.step(ONES)
    assert len(step.faults) == 1
    assert "environment 1 of CartPole-v1 was killed (SIGKILL); another one was started" in step.faults[0]
    assert step.valid.tolist() == [True, False]
    assert not envs.step(ONES).faults
    envs.close()


@pytest.mark.parametrize("call", ["reset", "restore"])
def test_a_reset_and_a_restore_are_done_again_in_a_new_worker(call: str) -> None:
    envs, twin = two_workers(), two_workers()
    twin.reset([1, 2])
    twin.step(ONES)
    state = twin.capture()
    assert state is not None
    envs.reset([7, 8])
    kill(workers_of(envs)[1])
    if call == "reset":
        obs, expected = envs.reset([1, 2])[0], twin.reset([1, 2])[0]
    else:
        obs, _, restarted = envs.restore(state, [3, 4])
        expected, _, _ = twin.restore(state, [3, 4])
        assert restarted == []
    np.testing.assert_array_equal(obs["obs"], expected["obs"])
    step = envs.step(ONES)
    assert not step.faults  # nobody's episode was lost
    np.testing.assert_array_equal(step.obs["obs"], twin.step(ONES).obs["obs"])
    envs.close()
    twin.close()


def dying(when: str, **settings: Any) -> EnvConfig:
    kwargs = {"when": when, **settings.pop("kwargs", {})}
    return EnvConfig.model_validate(
        {"id": "Sample/Dying-v0", "kwargs": kwargs, "num_envs": 2, "workers": 2, "backend": "async"}
        | settings
    )


def test_workers_that_die_again_and_again_end_it_with_the_cause() -> None:
    envs = make_envs(dying("step"), "train")
    envs.reset([1, 2])
    with pytest.raises(EnvLostError, match=r"killed \(SIGKILL\).*gymsolve check") as caught:
        play(envs, 10)
    assert "workers of Sample/Dying-v0 were lost again and again within" in str(caught.value)
    envs.close()


@pytest.mark.parametrize("when", ["reset", "build"])
def test_a_worker_that_never_comes_to_life_is_an_error(when: str) -> None:
    with pytest.raises(EnvFaultError, match=r"before the first step.*killed \(SIGKILL\)"):
        make_envs(dying(when), "train").reset([1, 2])


def play(envs: Envs, steps: int) -> int:
    """How many faults there were."""
    return sum(len(envs.step(ONES[: envs.num_envs]).faults) for _ in range(steps))


def test_now_and_then_a_worker_may_die(monkeypatch: pytest.MonkeyPatch) -> None:
    """In proportion: a fault in 150 vector steps leaves most episodes whole."""
    monkeypatch.setattr("gymsolve.envs.backends.in_process._FREE_DEATHS", 1)
    envs = make_envs(dying("seldom", num_envs=1, workers=1), "train")
    envs.reset([1])
    assert play(envs, 640) == 4
    envs.close()


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("hang in step", "was killed: the step of environment 1 did not return for 1 seconds"),
        (
            "hang in reset",
            "was killed: the reset of environment 1 (or a step after it) did not return for 1 seconds",
        ),
    ],
)
def test_an_environment_that_hangs_is_killed_and_started_again(when: str, words: str) -> None:
    envs = make_envs(dying(when, step_timeout=1.0, reset_timeout=1.0), "train")
    envs.reset([1, 2])
    step = next(step for _ in range(10) if (step := envs.step(ONES)).faults)
    assert words in step.faults[0]
    assert step.valid.tolist() == [True, False]
    envs.close()


def test_a_constructor_that_hangs_is_told() -> None:
    with pytest.raises(EnvFaultError, match=r"the constructor did not return.*env\.build_timeout"):
        make_envs(dying("hang in build", build_timeout=1.0), "train")


def test_what_asks_a_training_to_stop_leaves_its_workers_alone() -> None:
    envs = two_workers()
    envs.reset([1, 2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for worker in workers_of(envs):
            os.kill(worker.pid, number)
        assert not envs.step(ONES).faults
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
        (
            {"id": "CartPole-v1", "backend": "compiled", "frame_stack": 2},
            ConfigError,
            ["env.backend", "stack"],
        ),
        ({"id": "Pendulum-v1", "backend": "ale"}, ConfigError, ["env.backend"]),
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
