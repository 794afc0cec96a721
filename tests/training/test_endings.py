"""Stops: by signal, by file, while the environment hangs. They end, say so, and leave a run to go on with."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killing import KillAt, in_child

import gymsolve
from gymsolve.errors import UsageError
from gymsolve.runs.checkpoints import list_checkpoints, pointed
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.run import Run
from gymsolve.training.observer import Silent

TINY = {
    "steps": 2000,
    "checkpoint.every": 400,
    "eval.every": 500,
    "eval.episodes": 2,
    "algo.num_epochs": 1,
    "solved_at": 1e9,
    "video.enabled": False,
}
HANGING = """
import os, time
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit
from gymsolve.training import time_limit

class Hanging(Bandit):
    def __init__(self, stubborn=False):
        super().__init__()
        self.stubborn = stubborn
    def step(self, action):
        if os.path.exists("hang"):
            with open("hangs", "w"):
                pass
            time_limit.now = lambda: float("inf")  # whatever time there was is over
            while True:
                try:
                    time.sleep(0.05)
                except BaseException:
                    if not self.stubborn:
                        raise
        return super().step(action)

gym.register("Hanging-v0", entry_point=Hanging)
"""


def metrics(run):
    rows, problems = run.read_metrics()
    assert not problems
    return [{k: v for k, v in row.items() if not k.startswith(("time/", "eval/seconds"))} for row in rows]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The run that nobody stops."""
    return gymsolve.train("CartPole-v1", TINY, runs_dir=tmp_path_factory.mktemp("straight")).run


class _SignalAt(Silent):
    """Signals its own process at the n-th record, or in the n-th step of evaluations."""

    def __init__(self, number, *, record=0, eval_step=0):
        self.number, self.left = number, {"record": record, "eval_step": eval_step}

    def _count(self, what):
        self.left[what] -= 1
        if self.left[what] == 0:
            os.kill(os.getpid(), self.number)

    def record(self, record):
        self._count("record")

    def eval_step(self, done, total):
        self._count("eval_step")


SIGNALS = [(signal.SIGINT, "interrupt"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "hangup")]


@pytest.mark.parametrize("when", [{"record": 3}, {"eval_step": 3}, {"eval_step": 40}], ids=str)
@pytest.mark.parametrize(("number", "reason"), SIGNALS)
def test_a_signal_costs_nothing(number, reason, when, straight):
    """Also not the evaluation that it cut short: the resume makes up for it, at the same weights."""
    stopped = gymsolve.train("CartPole-v1", TINY, observer=_SignalAt(number, **when))
    assert (stopped.status, stopped.reason) == ("stopped", reason)
    assert stopped.env_steps < 2000
    (told,) = [e for e in stopped.run.read_events().rows if e["kind"] == "stopping"]
    assert told["reason"] == reason
    assert gymsolve.resume(stopped.run).status == "finished"
    assert json.dumps(metrics(stopped.run)) == json.dumps(metrics(straight))
    for which in ("last", "best"):
        mine, theirs = load_checkpoint(stopped.run, which).path, load_checkpoint(straight, which).path
        for file in ("policy.safetensors", "trainer.safetensors"):
            assert (mine / file).read_bytes() == (theirs / file).read_bytes()


def test_the_last_evaluation_is_made_up_for_too(straight):
    """A signal during the evaluation after the last step leaves a stopped run, not a finished one."""
    steps = [row["env_steps"] for row in metrics(straight) if "eval/mean_reward" in row]

    class Last(Silent):
        trainer = None

        def started(self, run, trainer):
            Last.trainer = trainer

        def eval_step(self, done, total):
            if Last.trainer.counters.env_steps == steps[-1]:
                os.kill(os.getpid(), signal.SIGTERM)

    stopped = gymsolve.train("CartPole-v1", TINY, observer=Last())
    assert (stopped.status, stopped.reason, stopped.env_steps) == ("stopped", "terminated", steps[-1])
    assert gymsolve.resume(stopped.run).status == "finished"
    assert json.dumps(metrics(stopped.run)) == json.dumps(metrics(straight))


def test_an_asynchronous_evaluation_under_way_at_a_kill_is_made_up_for():
    settings = TINY | {"eval.asynchronous": True, "eval.every": 1500, "eval.episodes": 400}

    class Die(Silent):
        def record(self, record):
            if record["env_steps"] > 1600:  # the evaluation has begun and takes longer than this
                os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(lambda: gymsolve.train("CartPole-v1", settings, observer=Die())) == signal.SIGKILL
    run = gymsolve.open_run("@last")
    counters = load_checkpoint(run, "last").trainer_state["parts"]["counters"]
    judged = counters["judging"]
    assert judged is not None
    assert not [row for row in metrics(run) if "eval/mean_reward" in row]
    gymsolve.resume(run)
    (row,) = [row for row in metrics(run) if row["env_steps"] == judged and "eval/mean_reward" in row]
    again = gymsolve.evaluate(f"{run.path}@{pointed(run, 'best')}", episodes=400, run_seeds=True)
    rows = {str(row["env_steps"]): row for row in metrics(run) if "eval/mean_reward" in row}
    assert again.mean == rows[pointed(run, "best")]["eval/mean_reward"]
    assert row["eval/episodes"] == 400


def test_a_resume_without_anything_to_do_changes_nothing(straight):
    folder = straight.path.parent
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    outcome = gymsolve.resume(straight)
    assert outcome.status == "finished"
    assert "--steps" in outcome.nothing_to_do
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_larger_budget_alone_changes_nothing_in_a_solved_run():
    settings = {"solved_at": 1.0, "eval.every": 200, "eval.episodes": 2}
    run = gymsolve.train("CartPole-v1", settings | {"steps": 600, "video.enabled": False}).run
    assert run.status == "solved"
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    outcome = gymsolve.resume(run, steps=4000)
    assert "eval.stop_when_solved=false" in outcome.nothing_to_do
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before
    longer = gymsolve.resume(run, {"eval.stop_when_solved": False}, steps=1200)
    assert longer.env_steps >= 1200


def test_of_equals_the_latest_is_best():
    settings = {"steps": 600, "eval.every": 200, "algo.learning_rate": 0.0, "solved_at": 1e9}
    run = gymsolve.train("CartPole-v1", settings | {"eval.episodes": 2, "video.enabled": False}).run
    judged = [row for row in metrics(run) if "eval/mean_reward" in row]
    assert len({row["eval/mean_reward"] for row in judged}) == 1
    assert pointed(run, "best") == str(judged[-1]["env_steps"])


def test_killed_before_its_first_checkpoint_a_run_keeps_the_weights_it_began_with(straight, tmp_path):
    def die():
        origin = f"{straight.path}@last"
        gymsolve.train("CartPole-v1", TINY, start_from=origin, observer=KillAt(steps=3))

    assert in_child(die) == signal.SIGKILL
    run = gymsolve.open_run("@last")
    assert list_checkpoints(run) == ["0"]
    mine, theirs = load_checkpoint(run, "0").policy, load_checkpoint(straight, "last").policy
    assert all((mine[name] == theirs[name]).all() for name in theirs)
    assert gymsolve.resume(run).status == "finished"
    assert metrics(run)[0]["env_steps"] == 0  # judged before anything else, once
    (run.path / "checkpoints").rename(tmp_path / "gone")  # as if it had been killed before it saved any
    with pytest.raises(UsageError, match="before it had saved the weights"):
        gymsolve.resume(run)


def test_an_old_proof_does_not_outlive_its_settings_when_a_resume_is_killed():
    run = gymsolve.train("Bandit-v0:ppo", {"video.enabled": False}).run
    assert run.status == "solved"

    class Die(Silent):
        def started(self, run, trainer):
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(lambda: gymsolve.resume(run, {"solved_at": 1e6}, observer=Die())) == signal.SIGKILL
    outcome = gymsolve.resume(run, steps=run.summary().env_steps + 512)
    assert (outcome.threshold, outcome.solved, outcome.status) == (1e6, False, "finished")


def test_after_an_asynchronous_proof_all_counters_agree():
    outcome = gymsolve.train("Bandit-v0:ppo", {"eval.asynchronous": True, "steps": 200_000})
    parts = load_checkpoint(outcome.run, "last").trainer_state["parts"]
    assert parts["collector"]["env_steps"] == parts["counters"]["env_steps"] == outcome.env_steps
    assert parts["counters"]["solved"]


def test_whoever_watches_hears_why_nothing_happens(monkeypatch):
    monkeypatch.setattr("gymsolve.training.observer._SILENCE", 0.0)
    heard = []

    class Listener(Silent):
        def started(self, run, trainer):
            heard.append("started")

        def event(self, kind, data):
            heard.append(data["text"] if kind == "waiting" else kind)

    settings = {"eval.asynchronous": True, "eval.every": 600, "solved_at": 1e9, "video.enabled": False}
    gymsolve.train("Bandit-v0:ppo", settings | {"steps": 256}, observer=Listener())
    assert "trying what seeds do" in heard[0]
    assert heard[1] == "started"
    assert "waiting for the evaluation under way in another process" in heard[2:]


# ------------------------------------------------------------------------------- real processes


def start(folder: Path, *words: str, **options) -> "subprocess.Popen[bytes]":
    (folder / "hanging_env.py").write_text(HANGING)
    sets = {"env.num_envs": 2, "algo.num_steps": 16, "env.backend": "sync", "eval.every": "90m"}
    sets |= {"checkpoint.every": 64, "video.enabled": "false", "solved_at": 1e9}
    changes = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "gymsolve", "train", "hanging_env:Hanging-v0", "--steps", "100m"]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True} | options
    return subprocess.Popen([*command, *changes, *words], cwd=folder, **given)


def wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def let_hang(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    """Once it trains and has a checkpoint, its environment hangs."""
    while not list(folder.glob("runs/*/checkpoints/last")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    (folder / "hang").touch()
    wait_for(folder / "hangs", process)


def the_run(folder: Path) -> Run:
    return gymsolve.open_run("@last", runs_dir=folder / "runs")


HANGS = {
    # What ends the training, exit code, whether the environment holds on to the thread, settings.
    "SIGTERM": (143, False, ["grace_seconds=0.5"]),
    "SIGHUP stubborn": (129, True, ["grace_seconds=0.5"]),
    "stop": (130, False, ["grace_seconds=0.5"]),
    "SIGTERM and SIGTERM": (143, True, []),
    "SIGHUP and SIGTERM": (143, False, []),
    "SIGINT and SIGINT": (130, False, []),
    "max_seconds": (1, False, ["grace_seconds=0.5", "max_seconds=1h"]),
}


@pytest.mark.parametrize("how", HANGS)
def test_a_hanging_environment_does_not_hold_up_a_stop(how, tmp_path):
    code, stubborn, changes = HANGS[how]
    changes = [*changes, f"env.kwargs.stubborn={str(stubborn).lower()}"]
    process = start(tmp_path, *(word for one in changes for word in ("--set", one)), "--json")
    let_hang(tmp_path, process)
    run = the_run(tmp_path)
    first, *second = [signal.Signals[word] for word in how.split() if word.startswith("SIG")] or [None]
    if how == "stop":
        run.request_stop()
    if first is not None:
        os.killpg(process.pid, first)
    for number in second:
        while "stopping" not in [event["kind"] for event in run.read_events().rows]:
            time.sleep(0.02)
        time.sleep(0.8)  # within half a second it would be the same request
        os.killpg(process.pid, number)
    out, err = process.communicate()
    assert process.returncode == code, err
    assert b"Traceback" not in err
    assert json.loads(out)["error"]["exit_code"] == code
    assert f"gymsolve resume {run.id}".encode() in err
    assert run.status == ("crashed" if how == "max_seconds" else "stopped")
    if how != "max_seconds":
        assert [e["kind"] for e in run.read_events().rows].count("stopping") == 1
    assert load_checkpoint(run, "last").meta["env_steps"] >= 64
    # Once the environment answers again, the run goes on.
    (tmp_path / "hang").unlink()
    command = [sys.executable, "-m", "gymsolve", "resume", "@last", "--set", "max_seconds=null"]
    done = subprocess.run([*command, "--steps", "1k"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


SLEEPING = """
import time
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Sleeping(Bandit):
    def __init__(self, at=0):
        self.at = at
        if not at:
            self.sleep()
        super().__init__()
    def sleep(self):
        try:
            open("hangs", "w").close()
            time.sleep(1e6)
        finally:
            open("unwound", "w").close()
    def step(self, action):
        self.at -= 1
        if not self.at:
            self.sleep()
        return super().step(action)

gym.register("Hanging-v0", entry_point=Sleeping)
"""


def start_sleeping(folder: Path, at: int) -> "subprocess.Popen[bytes]":
    (folder / "sleeping_env.py").write_text(SLEEPING)
    command = [sys.executable, "-m", "gymsolve", "train", "sleeping_env:Hanging-v0", "--json"]
    sets = [f"env.kwargs.at={at}", "env.backend=sync", "env.num_envs=2", "algo.num_steps=16"]
    command += [word for one in [*sets, "video.enabled=false"] for word in ("--set", one)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*command, "--steps", "1m"], cwd=folder, start_new_session=True, **pipes)
    wait_for(folder / "hangs", process)
    return process


def test_two_signals_that_come_together_are_one_request(tmp_path):
    """A closed terminal, `timeout` and service managers send several."""
    process = start(tmp_path, "--json")
    while not list(tmp_path.glob("runs/*/checkpoints/last")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    for number in (signal.SIGSTOP, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
        os.killpg(process.pid, number)
    out, err = process.communicate()
    run = the_run(tmp_path)
    assert process.returncode == {"hangup": 129, "terminated": 143}[run.info()["reason"]], err
    assert json.loads(out)["status"] == "stopped"  # no error: it has finished its update and saved
    assert run.summary().env_steps == load_checkpoint(run, "last").meta["env_steps"]


def test_a_second_signal_wakes_an_environment_that_sleeps(tmp_path):
    process = start_sleeping(tmp_path, at=6_000)
    os.killpg(process.pid, signal.SIGINT)
    while "stopping" not in [event["kind"] for event in the_run(tmp_path).read_events().rows]:
        time.sleep(0.02)
    time.sleep(0.5)  # sooner it would be the same request
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert json.loads(out)["error"]["message"] == "interrupted twice"
    assert (tmp_path / "unwound").exists()  # it was not given up


@pytest.mark.parametrize(("number", "told"), [(2, "stopped by Ctrl-C"), (15, "terminated"), (1, "hangup")])
def test_a_signal_before_the_training_is_told_to_programs(number, told, tmp_path):
    process = start_sleeping(tmp_path, at=0)
    os.killpg(process.pid, number)
    out, err = process.communicate()
    assert process.returncode == 128 + number, err
    assert json.loads(out)["error"] == {
        "message": told,
        "where": None,
        "hint": None,
        "exit_code": 128 + number,
    }
    assert (tmp_path / "unwound").exists()


def test_a_stop_is_told_in_the_terminal_of_the_training_at_once(tmp_path):
    process = start(tmp_path)
    try:
        let_hang(tmp_path, process)
        the_run(tmp_path).request_stop()
        assert process.stderr is not None
        while b"asked to stop by `gymsolve stop`" not in (line := process.stderr.readline()):
            assert line, "the training ended without a word"
        assert process.poll() is None  # it still waits, and has said so
        assert "asked to stop by `gymsolve stop`" in (the_run(tmp_path).path / "log.txt").read_text()
    finally:
        process.kill()
        process.communicate()


def test_a_closed_terminal_ends_a_training_in_order(tmp_path):
    ours, theirs = pty.openpty()

    def take_terminal():
        import fcntl
        import termios

        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    process = start(tmp_path, **streams, preexec_fn=take_terminal)
    os.close(theirs)
    while not list(tmp_path.glob("runs/*/metrics.jsonl")):
        assert process.poll() is None, os.read(ours, 100_000)
        os.read(ours, 100_000)
    os.close(ours)
    assert process.wait() == 129
    run = the_run(tmp_path)
    assert (run.status, run.info()["reason"]) == ("stopped", "hangup")


def test_nohup_keeps_a_training_from_hearing_a_hangup(tmp_path):
    process = start(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while not list(tmp_path.glob("runs/*/metrics.jsonl")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGHUP)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143
    assert the_run(tmp_path).info()["reason"] == "terminated"


def test_a_signal_before_the_run_begins_claims_no_run(tmp_path):
    (tmp_path / "waiting_env.py").write_text(
        "import gymnasium as gym, time\n"
        "from gymsolve.envs.families.bandit.env import Bandit\n"
        "class Waiting(Bandit):\n"
        "    def __init__(self):\n"
        "        open('waits', 'w').close()\n"
        "        time.sleep(600)\n"
        "gym.register('Waiting-v0', entry_point=Waiting)\n"
    )
    settings = ["--set", "env.num_envs=1", "--set", "algo.name=ppo", "-q"]
    command = [sys.executable, "-m", "gymsolve", "train", "waiting_env:Waiting-v0", *settings]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for(tmp_path / "waits", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert b"resume" not in err
    assert not (tmp_path / "runs").exists()
