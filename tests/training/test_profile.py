"""`--profile`: where the time went, without changing what happens."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from gymsolve.runs.loading import load_policy_file
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.profile.sampling import PHASES, Samples, phase_of, split_times
from gymsolve.training.profile.speedscope import speedscope_profile
from gymsolve.training.session import resume_run, start_run

LOOP = ("training/loop.py", "train_loop")
COLLECT = ("experience/collect.py", "Collector.collect")
EVALUATE = ("training/evaluation/scheduler.py", "InlineScheduler.submit")
RECORD = ("training/publish.py", "write_record")
NUMPY = ("numpy/_ufunc_config.py", "errstate.__call__.<locals>.inner")
SMALL = {"steps": 2000, "eval.every": 1000, "eval.episodes": 10, "env.num_envs": 4, "solved_at": 1e6}


@pytest.mark.parametrize(
    ("stack", "phase"),
    [
        ((LOOP,), "other"),
        ((LOOP, COLLECT), "collecting"),
        ((LOOP, COLLECT, NUMPY), "collecting"),
        ((LOOP, COLLECT, ("envs/backends/envpool.py", "EnvPoolEnvs.step"), NUMPY), "env"),
        ((LOOP, COLLECT, NUMPY, ("fast/policy.py", "FastPolicy.act")), "acting"),
        ((LOOP, COLLECT, ("nn/policy.py", "Policy.act")), "acting"),
        ((LOOP, NUMPY, ("fast/ppo.py", "FastPPO.update")), "update"),
        ((LOOP, ("algos/ppo.py", "PPO.update"), ("nn/policy.py", "Policy.forward")), "update"),
        (
            (
                LOOP,
                ("training/evaluation/scheduler.py", "InlineScheduler.submit"),
                ("envs/make.py", "make_envs"),
            ),
            "evaluation",
        ),
        ((("apps/video/automatic.py", "leave_videos"), ("envs/make.py", "make_envs")), "video"),
        ((LOOP, ("training/checkpoint.py", "save"), ("runs/files.py", "replace_bytes")), "checkpoint"),
        ((LOOP, RECORD, ("runs/run.py", "Run.append_metrics")), "records"),
        ((LOOP, RECORD, ("cli/live/console.py", "Watcher.record")), "records"),
    ],
)
def test_a_stack_belongs_to_the_phase_that_started_it(stack, phase):
    assert phase_of(stack) == phase


def test_the_split_adds_up():
    samples = Samples()
    samples.seconds[LOOP, COLLECT, ("envs/make.py", "f")] = 3.0
    samples.seconds[LOOP, ("fast/ppo.py", "FastPPO.update")] = 1.0
    told = split_times(samples)
    assert told["seconds"] == 4.0
    assert told["phases"]["env"] == {"seconds": 3.0, "share": 0.75}
    assert told["phases"]["update"] == {"seconds": 1.0, "share": 0.25}
    assert set(told["phases"]) == set(PHASES)
    assert split_times(Samples())["phases"]["env"]["share"] == 0.0


def test_the_profile_holds_every_stack_below_its_phase():
    update = ("fast/ppo.py", "FastPPO.update")
    seconds = {(LOOP, COLLECT): 1.0, (LOOP,): 0.5, (LOOP, update): 2.0}
    told = speedscope_profile("a run", seconds, phase_of)
    (profile,), frames = told["profiles"], told["shared"]["frames"]
    named = [[frames[index]["name"] for index in sample] for sample in profile["samples"]]
    assert named == [
        ["collecting", "train_loop", "Collector.collect"],
        ["other", "train_loop"],
        ["update", "train_loop", "FastPPO.update"],
    ]
    assert profile["weights"] == [1.0, 0.5, 2.0]
    assert (profile["type"], profile["unit"]) == ("sampled", "seconds")
    assert (profile["startValue"], profile["endValue"]) == (0, 3.5)
    assert {"name": "FastPPO.update", "file": "fast/ppo.py"} in frames
    assert told["name"] == profile["name"] == "a run"
    assert told["$schema"] == "https://www.speedscope.app/file-format-schema.json"


class Slow(Silent):
    """Takes its time, so that there is something to see."""

    def rollout_step(self, step, total):
        time.sleep(0.001)


def test_a_profiled_run_has_a_split_and_its_stacks_and_learns_the_same(tmp_path):
    plan = plan_run("CartPole-v1", SMALL)
    bare = start_run(plan, runs_dir=tmp_path / "bare")
    outcome = start_run(plan, runs_dir=tmp_path / "profiled", profile=True, observer=Slow())

    folder = outcome.run.path / "profile"
    split = json.loads((folder / "split.json").read_text())
    assert split["seconds"] > 0
    assert sum(one["share"] for one in split["phases"].values()) == pytest.approx(1, abs=0.01)
    stacks = json.loads((folder / "speedscope.json").read_text())
    names = {frame["name"] for frame in stacks["shared"]["frames"]}
    assert stacks["name"] == outcome.run.id
    assert "train_loop" in names
    assert "start_run" not in names  # what is above the loop says nothing
    assert stacks["profiles"][0]["endValue"] == pytest.approx(split["seconds"], abs=0.01)
    assert "profile:" in (outcome.run.path / "log.txt").read_text()
    assert not (bare.run.path / "profile").exists()
    one, other = _weights(bare.run.path), _weights(outcome.run.path)
    assert all(np.array_equal(one[name], other[name]) for name in one)

    again = resume_run(
        outcome.run.id, overrides={"steps": 3000}, runs_dir=tmp_path / "profiled", profile=True
    )
    assert json.loads((again.run.path / "profile" / "split.json").read_text()) != split


def _weights(run: Path) -> dict[str, np.ndarray]:
    last = run / "checkpoints" / (run / "checkpoints" / "last").read_text().strip()
    return load_policy_file(last / "policy.safetensors")[0]
