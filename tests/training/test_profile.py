"""`--profile`: where the time went, without changing what happens."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from gymsolve.runs.loading import load_policy_file
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.profile.flame import flame_tree, render_flame
from gymsolve.training.profile.sampling import PHASES, Samples, phase_of, split_times
from gymsolve.training.session import resume_run, start_run

LOOP = ("training/loop.py", "train_loop")
COLLECT = ("experience/collect.py", "Collector.collect")
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
            (LOOP, ("training/evaluation/scheduler.py", "LiveJudge.submit"), ("envs/make.py", "make_envs")),
            "evaluation",
        ),
        ((("apps/video/automatic.py", "leave_videos"), ("envs/make.py", "make_envs")), "video"),
        ((LOOP, ("training/checkpoint.py", "save"), ("runs/files.py", "replace_bytes")), "checkpoint"),
        ((LOOP, ("training/loop.py", "write_record"), ("runs/run.py", "Run.append_metrics")), "records"),
        ((LOOP, ("training/loop.py", "write_record"), ("cli/live/console.py", "Watcher.record")), "records"),
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


def test_the_tree_nests_calls_and_sums_their_seconds():
    stacks = {(LOOP, COLLECT): 1.0, (LOOP,): 0.5, (LOOP, ("fast/ppo.py", "FastPPO.update")): 2.0}
    tree = flame_tree(stacks, phase_of)
    (loop,) = tree["c"]
    assert (tree["s"], loop["s"]) == (3.5, 3.5)
    assert [(child["n"], child["s"], child["p"]) for child in loop["c"]] == [
        ("FastPPO.update  fast/ppo.py", 2.0, "update"),
        ("Collector.collect  experience/collect.py", 1.0, "collecting"),
    ]


def test_the_page_stands_alone_whatever_things_are_called():
    page = render_flame("</title>@DATA@", {(("a.py", "</script><b>"),): 1.0}, phase_of, PHASES)
    assert page.count("</script>") == 1
    assert page.count("</title>") == 1
    assert "http" not in page


class Slow(Silent):
    """Takes its time, so that there is something to see."""

    def rollout_step(self, step, total):
        time.sleep(0.001)


def test_a_profiled_run_has_a_split_and_a_flame_graph_and_learns_the_same(tmp_path):
    plan = plan_run("CartPole-v1", SMALL)
    bare = start_run(plan, runs_dir=tmp_path / "bare")
    outcome = start_run(plan, runs_dir=tmp_path / "profiled", profile=True, observer=Slow())

    folder = outcome.run.path / "profile"
    split = json.loads((folder / "split.json").read_text())
    assert split["seconds"] > 0
    assert sum(one["share"] for one in split["phases"].values()) == pytest.approx(1, abs=0.01)
    page = (folder / "flame.html").read_text()
    assert outcome.run.id in page
    assert "train_loop" in page
    assert "start_run" not in page  # what is above the loop says nothing
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
