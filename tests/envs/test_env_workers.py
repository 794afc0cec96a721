"""Worker processes: whoever steps the environments, and however many they are, nothing else changes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs

from gymsolve.envs.backends.same_step import SameStepEnvs
from gymsolve.envs.backends.worker import Worker
from gymsolve.envs.backends.worker_process import STEP
from gymsolve.envs.contract import Envs, Step
from gymsolve.envs.make import make_envs
from gymsolve.envs.processes import can_fork
from gymsolve.envs.random_policy import random_actions
from gymsolve.envs.step_timing import cores_spare, worth_workers
from gymsolve.errors import EnvFaultError
from gymsolve.settings.config import EnvConfig
from processes import soon_gone

SEEDS = [3, 1, 4, 1, 5]
SETTINGS: list[dict[str, Any]] = [
    {"id": "CartPole-v1"},
    {"id": "LunarLander-v3"},
    {"id": "Pendulum-v1", "max_episode_steps": 30, "lean": False},
    {"id": "Taxi-v4", "max_episode_steps": 40, "legal_actions": [0, 1, 2, 3, 4]},
    {"id": "sample_envs:Sample/Mixed-v0"},
    {"id": "sample_envs:Sample/Counter-v0", "wrappers": [{"scale_reward": {"factor": 0.5}}]},
    {
        "id": "sample_envs:Sample/Paid-v0",
        "wrappers": [{"reward_components": {"components": {"reward_cost": 0.5, "speed": 2}}}],
    },
]


def make(settings: dict[str, Any], **more: Any) -> Envs:
    return make_envs(EnvConfig.model_validate({"num_envs": 5, **settings, **more}), "train")


def play(envs: Envs, steps: int, masks: Any, seed: int = 0) -> list[Step]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(steps):
        actions = random_actions(envs.spec.action, envs.num_envs, masks, rng)
        found.append(envs.step(envs.spec.action.to_env(actions)))
        masks = found[-1].masks
    return found


def assert_same(one: Any, other: Any) -> None:
    """Equal to the last bit, through dicts, lists and arrays."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


# A process costs a second: every environment is stepped by two of them, and the one with the most kinds of
# observations and masks by one, and by more than there are copies of it.
STEPPED = [*((settings, 2) for settings in SETTINGS), (SETTINGS[4], 1), (SETTINGS[4], 9)]


@pytest.mark.parametrize(
    ("settings", "workers"), STEPPED, ids=[f"{settings['id']}-{workers}" for settings, workers in STEPPED]
)
def test_any_number_of_workers_gives_what_one_process_gives(settings: dict[str, Any], workers: int) -> None:
    here, there = make(settings, backend="sync"), make(settings, backend="async", workers=workers)
    first, other = here.reset(SEEDS), there.reset(SEEDS)
    assert_same(first[0], other[0])
    assert_same(first[1], other[1])
    for one, two in zip(play(here, 120, first[1]), play(there, 120, other[1]), strict=True):
        for name in Step.__slots__:
            assert_same(getattr(one, name), getattr(two, name))
    assert_same(here.capture(), there.capture())
    there.close()


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings["id"])
def test_a_state_moves_between_one_process_and_workers(settings: dict[str, Any]) -> None:
    here = make(settings, backend="sync")
    before = play(here, 60, here.reset(SEEDS)[1])
    state = here.capture()
    assert state is not None
    there = make(settings, backend="async", workers=2)
    obs, masks, restarted = there.restore(state, [1, 2, 3, 4, 5])
    assert restarted == []
    assert_same(obs, before[-1].obs)
    for one, two in zip(play(here, 60, before[-1].masks), play(there, 60, masks), strict=True):
        for name in Step.__slots__:
            assert_same(getattr(one, name), getattr(two, name))
    there.close()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` takes workers whatever a step costs, and whatever else runs here or is loaded."""
    monkeypatch.setattr("gymsolve.envs.make.can_fork", lambda: True)
    monkeypatch.setattr("gymsolve.envs.make.cores_spare", lambda _: True)
    monkeypatch.setattr("gymsolve.envs.make.worth_workers", lambda *_: True)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("settings", SETTINGS[1:], ids=lambda settings: settings["id"])
def test_a_process_that_takes_a_slice_itself_changes_nothing(settings: dict[str, Any]) -> None:
    here, there = make(settings, backend="sync"), make(settings, workers=2)
    assert there.backend.startswith("async, 2 processes")
    first, other = here.reset(SEEDS), there.reset(SEEDS)
    assert_same(first[0], other[0])
    assert_same(first[1], other[1])
    before = play(here, 70, first[1])
    for one, two in zip(before, play(there, 70, other[1]), strict=True):
        for name in Step.__slots__:
            assert_same(getattr(one, name), getattr(two, name))
    state = here.capture()
    assert_same(state, there.capture())
    play(there, 10, before[-1].masks, seed=1)
    assert state is not None
    obs, masks, restarted = there.restore(state, [1, 2, 3, 4, 5])
    assert restarted == []
    assert_same(obs, before[-1].obs)
    for one, two in zip(play(here, 40, before[-1].masks), play(there, 40, masks), strict=True):
        for name in Step.__slots__:
            assert_same(getattr(one, name), getattr(two, name))
    there.close()


@pytest.mark.parametrize(
    ("step_us", "num_envs", "workers", "expected"),
    [(22, 16, 2, True), (8, 16, 2, False), (2000, 1, 1, False), (2000, 2, 2, True), (45, 16, 1, False)],
)
def test_workers_are_worth_it_when_steps_are_long_enough(
    step_us: float, num_envs: int, workers: int, expected: bool
) -> None:
    assert worth_workers(step_us, num_envs, workers) is expected


@pytest.mark.parametrize("spare", [True, False])
def test_auto_takes_workers_for_slow_environments_and_says_so(
    spare: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gymsolve.envs.make.cores_spare", lambda _: spare)
    slow = make({"id": "sample_envs:Sample/Slow-v0"}, workers=2)
    quick = make({"id": "sample_envs:Sample/Counter-v0"}, workers=2)
    try:
        assert quick.backend.startswith("sync")
        # A process that cannot be forked, such as one of several test workers, keeps them to itself.
        assert slow.backend.startswith("async, 2 processes (" if can_fork() and spare else "sync")
        assert slow.backend.endswith("other programs use the cores)") is (can_fork() and not spare)
    finally:
        slow.close()


def test_cores_that_others_use_are_not_spare() -> None:
    assert not cores_spare((os.cpu_count() or 1) + 1)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        while not all(Path(f"/proc/{loop.pid}/stat").read_text().split()[2] == "R" for loop in loops):
            time.sleep(0.01)
        assert not cores_spare(1)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_an_environment_that_breaks_when_timed_is_reported_by_training() -> None:
    envs = make({"id": "Sample/Faulty-v0", "kwargs": {"how": "raise"}})
    envs.reset(SEEDS)
    with pytest.raises(EnvFaultError, match="engine on fire"):
        play(envs, 5, None)


def processes(envs: Envs) -> list[Any]:
    assert isinstance(envs, SameStepEnvs)
    return envs._vec.processes  # type: ignore[attr-defined, no-any-return]


def test_a_dead_worker_takes_only_its_own_episodes_with_it() -> None:
    settings = {"id": "CartPole-v1", "max_episode_steps": 9}
    here, there = make(settings, backend="sync"), make(settings, backend="async", workers=2)
    here.reset(SEEDS)
    there.reset(SEEDS)
    ones = np.ones(5, dtype=np.int64)
    for _ in range(3):
        expected, step = here.step(ones), there.step(ones)
    last = step
    victim = processes(there)[0]
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    expected, step = here.step(ones), there.step(ones)
    assert step.truncated.tolist() == [True, True, False, False, False]
    assert step.rewards.tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert step.valid.tolist() == [False, False, True, True, True]
    assert not step.episodes
    assert step.final_obs is not None
    np.testing.assert_array_equal(step.final_obs["obs"][:2], last.obs["obs"][:2])
    assert len(step.faults) == 1
    assert "environments 0 to 1 of CartPole-v1" in step.faults[0]
    for _ in range(12):
        np.testing.assert_array_equal(step.obs["obs"][2:], expected.obs["obs"][2:])
        expected, step = here.step(ones), there.step(ones)
        assert [e for e in step.episodes if e.env > 1] == [e for e in expected.episodes if e.env > 1]
    assert not step.faults
    there.close()


def test_workers_that_are_stuck_are_waited_for_together_and_not_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    envs = make({"id": "Sample/Dying-v0", "kwargs": {"when": "step hang"}}, backend="async", workers=3)
    envs.reset([0, 2, 4, 6, 8])
    stuck = processes(envs)
    for worker in envs._vec._supervisor.workers:  # type: ignore[attr-defined]
        worker.order(STEP)  # as a step that somebody interrupts
    waited: list[float] = []
    bury = Worker.bury

    def watch(worker: Worker, patience: float) -> None:
        waited.append(patience)
        bury(worker, patience)

    monkeypatch.setattr(Worker, "bury", watch)
    envs.close()
    assert 0.0 < waited[0] <= 1.0
    assert waited[1:] == [0.0, 0.0]
    assert not any(process.is_alive() for process in stuck)


def test_an_error_in_a_worker_leaves_the_others_in_step() -> None:
    envs = make({"id": "Sample/Faulty-v0", "kwargs": {"how": "raise"}}, backend="async", workers=2)
    for _ in range(2):  # after the first fault, a reset brings everything back
        envs.reset(SEEDS)
        for _ in range(2):
            assert envs.step(np.ones(5, dtype=np.int64)).obs["obs"].shape == (5, 2)
        with pytest.raises(
            EnvFaultError, match=r"environment 0 of Sample/Faulty-v0 raised ZeroDivisionError"
        ):
            envs.step(np.ones(5, dtype=np.int64))
    envs.close()


@pytest.mark.usefixtures("eager")
def test_an_error_in_this_process_waits_for_the_workers() -> None:
    envs = make({"id": "Sample/Faulty-v0", "kwargs": {"how": "raise"}}, workers=2)
    for _ in range(2):
        envs.reset(SEEDS)
        for _ in range(2):
            envs.step(np.ones(5, dtype=np.int64))
        with pytest.raises(EnvFaultError, match=r"environment 0 of Sample/Faulty-v0"):
            envs.step(np.ones(5, dtype=np.int64))
    envs.close()


def test_an_error_in_a_reset_leaves_nothing_behind_in_the_talk() -> None:
    envs = make(
        {"id": "Sample/Faulty-v0", "kwargs": {"how": "reset"}, "action_masks": "off"},
        backend="async",
        workers=2,
    )
    for _ in range(2):
        with pytest.raises(EnvFaultError, match=r"environment 0 of Sample/Faulty-v0 raised RuntimeError"):
            envs.reset(SEEDS)
    assert envs.capture() is not None
    envs.close()


@pytest.mark.real_start
def test_a_process_with_threads_is_not_forked_and_its_registrations_travel() -> None:
    enough = threading.Event()
    thread = threading.Thread(target=enough.wait)
    thread.start()
    try:
        assert not can_fork()
        gym.register("Sample/Late-v0", entry_point="sample_envs:Counter")  # known to this process only
        here, there = (make({"id": "Sample/Late-v0"}, backend=name) for name in ("sync", "async"))
        for envs in (here, there):
            envs.reset(SEEDS)
        for one, two in zip(play(here, 12, None), play(there, 12, None), strict=True):
            assert_same(one.obs, two.obs)
            assert one.episodes == two.episodes
        there.close()
    finally:
        enough.set()
        thread.join()
        del gym.registry["Sample/Late-v0"]


@pytest.mark.real_start
def test_what_cannot_be_sent_to_a_worker_is_refused_with_advice() -> None:
    enough = threading.Event()
    thread = threading.Thread(target=enough.wait)
    thread.start()
    gym.register("Sample/Local-v0", entry_point=lambda: sample_envs.Counter())
    try:
        with pytest.raises(EnvFaultError, match=r"env\.backend=sync"):
            make({"id": "Sample/Local-v0"}, backend="async")
    finally:
        enough.set()
        thread.join()
        del gym.registry["Sample/Local-v0"]


ORPHANS = """
import os, signal, threading
from gymsolve.settings.config import EnvConfig
from gymsolve.envs.make import make_envs
from gymsolve.envs.step_timing import worth_workers
config = EnvConfig(id="CartPole-v1", num_envs=4, backend="async", workers=2)
if {threads}:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
every = [make_envs(config, "train"), make_envs(config, "eval")]
for envs in every:
    envs.reset([1, 2, 3, 4])
print(*[process.pid for envs in every for process in envs._vec.processes], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("threads", [False, True], ids=["forked", "started afresh"])
def test_no_worker_outlives_a_killed_owner(threads: bool, tmp_path: Path) -> None:
    script = tmp_path / "owner.py"
    body = ORPHANS.format(threads=threads).strip().replace("\n", "\n    ")
    script.write_text(f'if __name__ == "__main__":\n    {body}\n')
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 4, done.stderr
    assert soon_gone(*pids)
