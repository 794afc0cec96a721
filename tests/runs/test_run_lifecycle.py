"""A run from creation to its end, and what others may do to it meanwhile."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.runs import Run, create_run, load_checkpoint, open_run, runs_folder

MakeRun = Callable[..., Run]


def _rewrite(run: Run, **fields: Any) -> None:
    path = run.path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_new_run_tells_everything_about_itself(make_run: MakeRun, base: Path) -> None:
    run = make_run(parent={"run": "old", "checkpoint": "best"})
    assert re.fullmatch(r"\d{8}-\d{6}-CartPole-v1-ppo-[0-9a-f]{4}", run.id)
    info = json.loads((run.path / "run.json").read_text())
    assert info["schema_version"] == 1
    assert (info["id"], info["name"], info["env_id"]) == (run.id, "CartPole-v1:ppo", "CartPole-v1")
    assert (info["variant"], info["algo"], info["seed"], info["steps"]) == ("ppo", "ppo", 3, 1000)
    assert info["pid"] == os.getpid()
    assert set(info["versions"]) == {"gymsolve", "python", "torch", "numpy", "gymnasium"}
    assert info["parent"] == {"run": "old", "checkpoint": "best"}
    assert run.status == "running"
    assert run.config_json()["provenance"] == {"steps": "recipe"}
    assert (base / "@last").read_text() == run.id + "\n"
    assert json.loads((base / "index.json").read_text())["runs"][0]["id"] == run.id


@pytest.mark.parametrize(
    ("name", "env_id", "label"),
    [
        ("ALE/Pong-v5:fast", "ALE/Pong-v5", "ALE-Pong-v5-fast"),
        ("my.module:Maze-v0", "my.module:Maze-v0", "my.module-Maze-v0-ppo"),
        ("my.module:Maze-v0:a@b", "my.module:Maze-v0", "my.module-Maze-v0-a-b"),
        ("Taxi-v3", "Taxi-v3", "Taxi-v3-ppo"),
        ("../../etc:x", "etc", "etc-x"),
    ],
)
def test_any_name_makes_a_safe_folder(
    make_run: MakeRun, base: Path, name: str, env_id: str, label: str
) -> None:
    run = make_run(name, env_id=env_id)
    assert run.path.parent == base.absolute()
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{re.escape(label)}-[0-9a-f]{{4}}", run.id)


def test_folder_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GYMSOLVE_RUNS", raising=False)
    assert runs_folder() == Path("runs")
    monkeypatch.setenv("GYMSOLVE_RUNS", "elsewhere")
    assert runs_folder() == Path("elsewhere")
    assert runs_folder("given") == Path("given")


def test_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, make_run: MakeRun) -> None:
    (tmp_path / "file").write_text("")
    config = {"env": {"id": "A"}, "algo": {"name": "ppo"}}
    with pytest.raises(RunDamagedError, match=r"file/runs: a part of this path is a file.*GYMSOLVE_RUNS"):
        create_run(
            tmp_path / "file" / "runs",
            name="A:ppo",
            config_json=config,
            provenance={},
            command=[],
            seed=0,
            steps=1,
        )


def test_failed_start_leaves_no_run(make_run: MakeRun, base: Path) -> None:
    base.mkdir()
    (base / "index.json").mkdir()  # something in the way of the registry
    with pytest.raises(RunDamagedError, match=r"index\.json"):
        make_run()
    assert [path.name for path in base.iterdir() if path.name.startswith("2")] == []


def test_metrics_events_and_log(make_run: MakeRun) -> None:
    run = make_run()
    run.append_metrics({"env_steps": 8, "vec_steps": 1, "train/loss": float("nan")})
    run.append_event("evaluated", env_steps=8, mean_reward=20.5)
    run.log("one\ntwo\n")
    run.log("three")
    (row,), problems = run.read_metrics()
    assert (row["env_steps"], problems) == (8, [])
    assert row["train/loss"] != row["train/loss"]  # NaN, for the alert that looks for it
    assert "null" in (run.path / "metrics.jsonl").read_text()
    (event,), _ = run.read_events()
    assert (event["kind"], event["env_steps"], event["mean_reward"]) == ("evaluated", 8, 20.5)
    assert event["time"].endswith("+00:00")
    assert (run.path / "log.txt").read_text() == "one\ntwo\nthree\n"


def test_status_result_and_steps_are_kept(make_run: MakeRun, base: Path) -> None:
    run = make_run()
    run.append_metrics({"env_steps": 640, "vec_steps": 80})
    assert run.summary().env_steps == 640
    run.set_status("solved", reason="confirmed", result={"mean_reward": 500.0})
    summary = open_run(run.path).summary()
    assert (summary.status, summary.reason, summary.env_steps) == ("solved", "confirmed", 640)
    assert summary.result == {"mean_reward": 500.0}
    assert json.loads((base / "index.json").read_text())["runs"][0]["status"] == "solved"
    run.set_status("finished", env_steps=700)
    assert (run.summary().result, run.summary().env_steps) == ({"mean_reward": 500.0}, 700)
    assert 0 <= run.duration < 60


def test_busy_index_does_not_fail_a_finished_run(make_run: MakeRun, base: Path) -> None:
    run = make_run()
    (base / "index.json").unlink()
    (base / "index.json").mkdir()
    run.set_status("finished")
    assert run.status == "finished"
    assert "index.json was not updated" in (run.path / "log.txt").read_text()


IDENTITY = """
import json, sys
from gymsolve.runs.process import identity
print(json.dumps(identity()), flush=True)
sys.stdin.read()
"""


def test_process_that_is_gone_has_crashed(make_run: MakeRun) -> None:
    run = make_run()
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", IDENTITY], **pipes) as child:
        assert child.stdout is not None
        _rewrite(run, **json.loads(child.stdout.readline()))
        assert run.status == "running"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, but its parent has not asked yet
        assert run.status == "crashed"
    assert run.status == "crashed"
    assert run.summary().reason == "the process ended without a word"


def test_without_proc_the_process_id_has_to_do(make_run: MakeRun) -> None:
    run = make_run()
    _rewrite(run, process_start=None)
    assert run.status == "running"
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    _rewrite(run, process_start=None, pid=child.pid)
    assert run.status == "crashed"


def test_another_process_with_the_same_id_is_not_ours(make_run: MakeRun) -> None:
    run = make_run()
    assert run.status == "running"
    _rewrite(run, process_start="deadbeef:12345")
    assert run.status == "crashed"


def test_run_of_another_machine_lives_as_long_as_it_writes(make_run: MakeRun) -> None:
    run = make_run()
    _rewrite(run, host="elsewhere", pid=1)
    assert run.status == "running"
    os.utime(run.path / "run.json", (0, 0))
    assert run.status == "crashed"
    run.append_metrics({"env_steps": 1, "vec_steps": 1})
    assert run.status == "running"


def test_stop_is_a_file(make_run: MakeRun) -> None:
    run = make_run()
    assert not run.stop_requested()
    run.request_stop()
    assert run.stop_requested()
    assert (run.path / "stop").is_file()
    run.clear_stop()
    run.clear_stop()
    assert not run.stop_requested()
    run.set_status("stopped")
    with pytest.raises(UsageError, match="is not running"):
        run.request_stop()


def test_a_run_on_another_machine_is_said_to_be_there(make_run: MakeRun, base: Path) -> None:
    run = make_run()
    (run.path / "run.json").write_text(json.dumps(run.info() | {"host": "far-away"}))
    with pytest.raises(UsageError, match=r"is being trained on another machine, 'far-away'.* Stop it there"):
        run.claim(command=["gymsolve", "resume"])


def test_only_one_process_trains_a_run(make_run: MakeRun, base: Path) -> None:
    run = make_run()
    make_run()
    with pytest.raises(UsageError, match=rf"is being trained by process {os.getpid()} .*gymsolve stop"):
        run.claim(command=["gymsolve", "resume"])
    run.request_stop()
    run.set_status("stopped")
    (run.path / ".run.json-1234.tmp").write_text("left by a kill")
    run.claim(command=["gymsolve", "resume"])
    assert run.status == "running"
    assert run.info()["resumed_with"] == ["gymsolve", "resume"]
    assert run.info()["command"][:2] == ["gymsolve", "train"], "how it was started stays known"
    assert not run.stop_requested()
    assert not list(run.path.glob(".*.tmp"))
    assert (base / "@last").read_text().strip() == run.id


CLAIM = """
import sys
from gymsolve.errors import UsageError
from gymsolve.runs import open_run
try:
    open_run(sys.argv[1]).claim(command=["resume"])
    print("mine", flush=True)
except UsageError:
    print("refused", flush=True)
sys.stdin.read()
"""


def test_of_many_claims_at_once_one_wins(make_run: MakeRun) -> None:
    run = make_run()
    run.set_status("stopped")
    args = [sys.executable, "-c", CLAIM, str(run.path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(args, **pipes) for _ in range(4)]
    answers = [child.stdout.readline().strip() for child in children if child.stdout]
    assert sorted(answers) == ["mine", "refused", "refused", "refused"]
    assert run.status == "running"
    for child in children:
        child.communicate("")
    assert run.status == "crashed"


def test_rewind_sets_later_metrics_aside(make_run: MakeRun) -> None:
    run = make_run()
    for steps in (100, 200, 300, 400):
        run.append_metrics({"env_steps": steps, "vec_steps": steps // 10})
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"env_steps": 5')
    assert run.rewind(200) == 2
    assert run.rewind(200) == 0
    assert [row["env_steps"] for row in run.read_metrics().rows] == [100, 200]
    assert run.read_metrics().problems == []
    discarded = (run.path / "metrics.discarded.jsonl").read_text().splitlines()
    assert [json.loads(line)["env_steps"] for line in discarded] == [300, 400]


def test_changed_settings_leave_a_trace(make_run: MakeRun) -> None:
    run = make_run()
    config = run.config_json()["config"] | {"steps": 5000}
    run.change_config(config, {"steps": "--set"})
    assert run.config_json()["config"]["steps"] == 5000
    assert run.summary().steps == 5000
    assert run.read_events().rows[-1]["previous"]["steps"] == 1000


def test_open_run_refuses_what_is_no_run(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(UnknownRunError, match="not the folder of a run"):
        open_run(tmp_path)
    run = make_run()
    _rewrite(run, schema_version=99)
    with pytest.raises(RunDamagedError, match="newer gymsolve"):
        open_run(run.path)


TRAIN = """
import sys
from pathlib import Path
import numpy as np
from gymsolve.runs import create_run, open_run, save_checkpoint, mark_best, prune
if sys.argv[1] == "new":
    config = {"env": {"id": "A-v0"}, "algo": {"name": "ppo"}}
    fields = dict(config_json=config, provenance={}, command=[], seed=0, steps=1)
    run = create_run(sys.argv[2], name="A-v0:ppo", **fields)
else:
    run = open_run(sys.argv[1])
    run.claim(command=[])
step = run.summary().env_steps
print(run.path, flush=True)
while True:
    step += 1
    run.append_metrics({"env_steps": step, "vec_steps": step, "padding": "x" * 2000})
    steps = step // 2 * 2  # every name is saved twice: the second replaces the first
    array = np.full(5000, steps)
    save_checkpoint(run, steps, policy={"w": array}, policy_metadata={}, trainer_arrays={"m": array},
                    trainer_state={"steps": steps}, meta={"eval": {"eval/mean_reward": steps}})
    mark_best(run, str(steps))
    prune(run, 2)
    print(steps, flush=True)
"""


def test_killed_at_any_moment_a_run_can_be_listed_read_and_resumed(base: Path) -> None:
    """At a few random moments; test_run_kill_points.py tries every single change to the file system."""
    target, numbers = "new", random.Random(7)
    for delay in [numbers.uniform(0.0, 0.15) for _ in range(12)]:
        child = subprocess.Popen(
            [sys.executable, "-c", TRAIN, target, str(base)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        target = child.stdout.readline().strip()
        first = child.stdout.readline()
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        said = [int(line) for line in (first + child.stdout.read()).split("\n")[:-1]]
        child.wait()
        child.stdout.close()

        run = open_run(target)
        assert run.status == "crashed"
        rows, problems = run.read_metrics()
        steps = [row["env_steps"] for row in rows]
        assert steps == list(range(1, len(steps) + 1))
        assert len(problems) <= 1
        found = load_checkpoint(run, "last")
        assert found.notes == ()
        assert found.meta["env_steps"] >= said[-1]  # what was reported as saved is there
        assert (found.policy["w"] == found.meta["env_steps"]).all()
        assert found.trainer_state == {"steps": found.meta["env_steps"]}
        best = load_checkpoint(run, "best")
        assert best.meta["eval"] == {"eval/mean_reward": best.meta["env_steps"]}
