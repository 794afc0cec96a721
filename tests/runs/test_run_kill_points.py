"""Killed before each single file operation, a run stays whole.

Random moments (test_run_lifecycle.py) seldom hit the gap between two renames. Here a process works
through the life of a run again and again, and dies before its first, second, third … change to the
file system; each of the folders left behind is then examined.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from gymsolve.runs import list_checkpoints, list_runs, load_checkpoint, open_run, save_checkpoint

DIE = """
import os, shutil, signal, sys
from pathlib import Path
import numpy as np
from gymsolve.runs import *

def save(run, steps, state):
    array = np.full(50, steps)
    save_checkpoint(run, steps, policy={"w": array}, policy_metadata={}, trainer_arrays={"m": array},
                    trainer_state={"state": state}, meta={"eval": {"eval/mean_reward": steps}})

def make(base):
    config = {"env": {"id": "A-v0"}, "algo": {"name": "ppo"}}
    return create_run(base, name="A-v0:ppo", config_json=config, provenance={}, command=[], seed=0, steps=1)

def live(run):
    run.claim(command=["again"])
    run.rewind(300)
    save(run, 300, "again")
    run.append_metrics({"env_steps": 400, "vec_steps": 1})
    save(run, 400, "new")
    mark_best(run, "400")
    update_meta(run, "400", late=True)
    prune(run, 1)
    run.set_status("finished")
    make(run.path.parent)

def die_at(number):
    writing = os.O_WRONLY | os.O_RDWR
    seen = 0
    def hook(event, args):
        nonlocal seen
        change = event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate")
        if change or (event == "open" and isinstance(args[2], int) and args[2] & writing):
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
    sys.addaudithook(hook)

root = Path(sys.argv[1])
template = make(root / "template")
for steps in (100, 200, 300, 350):
    template.append_metrics({"env_steps": steps, "vec_steps": 1})
for steps in (100, 200, 300):
    save(template, steps, "old")
mark_best(template, "100")
template.set_status("stopped")
number, code = 0, 1
while code:
    folder = root / str(number)
    shutil.copytree(root / "template", folder)
    child = os.fork()
    if not child:
        die_at(number)
        live(open_run(folder / template.id))
        os._exit(0)
    code = os.waitpid(child, 0)[1]
    number += 1
"""


def test_run_is_whole_whenever_its_process_dies(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIE, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    (name,) = (path.name for path in (tmp_path / "template").iterdir() if path.name.startswith("2"))
    folders = sorted(
        (path for path in tmp_path.iterdir() if path.name.isdecimal()), key=lambda p: int(p.name)
    )
    assert len(folders) > 60  # every one but the last was cut short
    assert open_run(folders[-1] / name).status == "finished"
    assert list_checkpoints(open_run(folders[-1] / name)) == ["400"]
    for base in folders:
        _examine(base, name)


def _examine(base: Path, name: str) -> None:
    json.loads((base / "index.json").read_text())
    assert name in [run.id for run in list_runs(base)]
    run = open_run(base / name)
    assert run.status in ("stopped", "crashed", "finished")

    rows, problems = run.read_metrics()
    assert problems == []
    assert [row["env_steps"] for row in rows] in ([100, 200, 300, 350], [100, 200, 300], [100, 200, 300, 400])
    if rows[-1]["env_steps"] != 350:
        assert "350" in (run.path / "metrics.discarded.jsonl").read_text()

    for which in ("last", "best", *list_checkpoints(run)):
        found = load_checkpoint(run, which)
        assert found.notes == ()
        assert (found.policy["w"] == found.meta["env_steps"]).all()
        assert (found.trainer["m"] == found.meta["env_steps"]).all()
    assert load_checkpoint(run).name in ("300", "400")

    # And training can go on from there.
    run.claim(command=[])
    fields = {"policy": {}, "policy_metadata": {}, "trainer_arrays": {}, "trainer_state": {}, "meta": {}}
    save_checkpoint(run, 500, **fields)
    assert not [path for path in (run.path / "checkpoints").iterdir() if path.name.startswith(".")]
