"""The registry and the names of runs."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymsolve.errors import UnknownRunError, UsageError
from gymsolve.runs import Run, best_reward, find_run, list_runs, mark_best, split_ref

MakeRun = Callable[..., Run]
Save = Callable[..., Path]


def _ids(runs: list[Any]) -> list[str]:
    return [run.id for run in runs]


def _index(base: Path) -> list[dict[str, Any]]:
    data = json.loads((base / "index.json").read_text())
    assert data["schema_version"] == 1
    runs: list[dict[str, Any]] = data["runs"]
    return runs


def test_newest_first(make_run: MakeRun, base: Path) -> None:
    made = [make_run().id for _ in range(5)]
    assert _ids(list_runs(base)) == made[::-1]
    assert [entry["id"] for entry in _index(base)] == made[::-1]
    assert _ids(list_runs(base, limit=2)) == made[:2:-1]


def test_no_runs_yet(base: Path) -> None:
    assert list_runs(base) == []
    assert not base.exists()
    with pytest.raises(UnknownRunError, match=r"there are no runs in .* yet.*gymsolve train"):
        find_run("@last", base)


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[]", b'{"runs": 3}', b'{"runs": [{"x": 1}]}', b"\xff"]
)
def test_index_is_rebuilt_from_the_folders(make_run: MakeRun, base: Path, content: bytes | None) -> None:
    made = [make_run().id for _ in range(3)]
    if content is None:
        (base / "index.json").unlink()
    else:
        (base / "index.json").write_bytes(content)
    assert _ids(list_runs(base)) == made[::-1]
    assert [entry["id"] for entry in _index(base)] == made[::-1]


def test_new_run_heals_a_damaged_index(make_run: MakeRun, base: Path) -> None:
    first = make_run().id
    (base / "index.json").write_text("{")
    second = make_run().id
    assert [entry["id"] for entry in _index(base)] == [second, first]


def test_folders_come_and_go(make_run: MakeRun, base: Path) -> None:
    first, second = make_run(), make_run()
    shutil.rmtree(second.path)
    shutil.copytree(first.path, base / "copied-by-hand")
    (base / "20260101-000000-half-made-0000").mkdir()
    (base / "notes.txt").write_text("")
    assert set(_ids(list_runs(base))) == {first.id, "copied-by-hand"}
    assert {entry["id"] for entry in _index(base)} == {first.id, "copied-by-hand"}
    assert find_run("@last", base).id in {first.id, "copied-by-hand"}


def test_one_damaged_run_hides_no_other(make_run: MakeRun, base: Path) -> None:
    good, bad, poor = make_run(), make_run(), make_run()
    (bad.path / "run.json").write_text("{")
    (poor.path / "run.json").write_text('{"schema_version": 1, "id": "x"}')
    statuses = {run.id: run.status for run in list_runs(base)}
    assert statuses == {good.id: "running", bad.id: "damaged", poor.id: "damaged"}


def test_crashed_run_is_listed_as_such(make_run: MakeRun, base: Path) -> None:
    run = make_run()
    info = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(info | {"process_start": "x:1"}))
    assert list_runs(base)[0].status == "crashed"
    assert _index(base)[0]["status"] == "crashed"


def test_queries(make_run: MakeRun, base: Path) -> None:
    cart, fast, lake = make_run(), make_run("CartPole-v1:fast"), make_run("FrozenLake-v1:ppo")
    lake.set_status("solved")
    assert _ids(list_runs(base, "cartpole")) == [fast.id, cart.id]
    assert _ids(list_runs(base, "CartPole-v1:ppo")) == [cart.id]
    assert _ids(list_runs(base, "status:solved")) == [lake.id]
    assert _ids(list_runs(base, "env:cart variant:fast")) == [fast.id]
    assert _ids(list_runs(base, "algo:ppo", limit=1)) == [lake.id]
    assert _ids(list_runs(base, cart.id[-4:] + " status:running")) == [cart.id]
    assert list_runs(base, "status:crashed cartpole") == []
    with pytest.raises(UsageError, match=r"no filter 'stauts:'\. Did you mean 'status'"):
        list_runs(base, "stauts:solved")
    with pytest.raises(UsageError, match=r"no run has the status 'solve'\. Did you mean 'solved'"):
        list_runs(base, "status:solve")


CREATE = """
import sys
from gymsolve.runs import create_run
config = {"env": {"id": "A-v0"}, "algo": {"name": "ppo"}}
fields = dict(config_json=config, provenance={}, command=[], seed=0, steps=1)
for _ in range(int(sys.argv[2])):
    run = create_run(sys.argv[1], name="A-v0:ppo", **fields)
    run.set_status("finished")
    print(run.id, flush=True)
"""


def test_processes_creating_runs_at_once_are_all_in_the_index(base: Path) -> None:
    args = [sys.executable, "-c", CREATE, str(base), "8"]
    children = [subprocess.Popen(args, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    made = [name for child in children for name in child.communicate()[0].split()]
    assert [child.returncode for child in children] == [0] * 5
    assert len(set(made)) == 40
    entries = _index(base)  # as the last writer left it, before any listing could repair it
    assert {entry["id"] for entry in entries} == set(made)
    assert {entry["status"] for entry in entries} == {"finished"}
    assert [entry["created"] for entry in entries] == sorted((e["created"] for e in entries), reverse=True)


def test_killed_while_creating_runs_the_list_stays_right(base: Path) -> None:
    numbers, made = random.Random(11), set()
    for _ in range(10):
        child = subprocess.Popen(
            [sys.executable, "-c", CREATE, str(base), "1000"], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        made.add(child.stdout.readline().strip())
        time.sleep(numbers.uniform(0.0, 0.1))
        child.send_signal(signal.SIGKILL)
        made |= set(child.stdout.read().split("\n")[:-1])
        child.wait()
        child.stdout.close()
        _index(base)
        runs = list_runs(base)
        assert made <= set(_ids(runs))
        assert {run.status for run in runs} <= {"finished", "crashed"}
        assert find_run("@last", base).id in _ids(runs)


# ---------------------------------------------------------------------------------- references


def test_run_by_id_part_or_path(make_run: MakeRun, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cart, lake = make_run(), make_run("FrozenLake-v1:ppo")
    for ref in (cart.id, cart.id[:-1], cart.id[-7:], "cartpole", "CartPole-v1:ppo", str(cart.path)):
        assert find_run(ref, base) == cart
    assert find_run("lake", base) == lake
    monkeypatch.chdir(base.parent)
    assert find_run(f"runs/{cart.id}/", "nowhere") == cart
    monkeypatch.chdir(cart.path)
    assert find_run(".", base) == cart


def test_ambiguous_and_unknown_runs(make_run: MakeRun, base: Path) -> None:
    made = [make_run().id for _ in range(7)]
    with pytest.raises(UnknownRunError) as caught:
        find_run("CartPole", base)
    assert "fits 7 runs" in str(caught.value)
    assert "and 2 more" in str(caught.value)
    assert sum(name in str(caught.value) for name in made) == 5
    with pytest.raises(UnknownRunError, match="Did you mean 'CartPole-v1-ppo'"):
        find_run("CratPole-v1-ppo", base)
    with pytest.raises(UnknownRunError, match="gymsolve runs"):
        find_run("zzz", base)
    with pytest.raises(UnknownRunError, match="Use @last, @best"):
        find_run("@lats", base)
    with pytest.raises(UnknownRunError):
        find_run("", base)


def test_last_follows_starts_and_resumes(make_run: MakeRun, base: Path) -> None:
    first, second = make_run(), make_run()
    assert find_run("@last", base) == second
    first.set_status("stopped")
    first.claim(command=[])
    assert find_run("@last", base) == first
    (base / "@last").write_bytes(b"\xff..")
    assert find_run("@last", base) == second


def test_best_compares_runs_of_one_environment(make_run: MakeRun, base: Path, save: Save) -> None:
    runs = {}
    for name, reward in (("A-v0:ppo", 10.0), ("A-v0:fast", 30.0), ("A-v0:ppo", 30.0), ("B-v0:ppo", 900.0)):
        run = make_run(name)
        save(run, 100, eval={"eval/mean_reward": reward})
        mark_best(run, "100")
        runs.setdefault(name, []).append(run)
    unevaluated = make_run("A-v0:ppo")
    assert best_reward(unevaluated) is None
    assert find_run("@best", base) == runs["A-v0:ppo"][1]  # the environment of @last; newest of equals
    assert find_run("@best:B-v0", base) == runs["B-v0:ppo"][0]
    assert find_run("@best:A-v0:fast", base) == runs["A-v0:fast"][0]
    with pytest.raises(UnknownRunError, match="no run of 'C-v0'"):
        find_run("@best:C-v0", base)


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("abc", ("abc", None)),
        ("abc@best", ("abc", "best")),
        ("abc@last", ("abc", "last")),
        ("abc@120000", ("abc", "120000")),
        ("@last", ("@last", None)),
        ("@best", ("@best", None)),
        ("@last@best", ("@last", "best")),
        ("@best@120_000", ("@best", "120_000")),
        ("@best:A-v0", ("@best:A-v0", None)),
        ("@best:A-v0@last", ("@best:A-v0", "last")),
        ("/home/me@work/runs/abc", ("/home/me@work/runs/abc", None)),
        ("/home/me@work/runs/abc@best", ("/home/me@work/runs/abc", "best")),
    ],
)
def test_references_split_into_run_and_checkpoint(ref: str, expected: tuple[str, str | None]) -> None:
    assert split_ref(ref) == expected


def test_bad_references_are_explained() -> None:
    with pytest.raises(UnknownRunError, match="Did you mean 'best'"):
        split_ref("abc@bset")
    with pytest.raises(UnknownRunError, match="but no run"):
        split_ref("@1200")
    with pytest.raises(UnknownRunError, match="no checkpoint called ''"):
        split_ref("abc@")


def test_listing_imports_nothing_heavy(base: Path, make_run: MakeRun) -> None:
    make_run()
    code = (
        "import sys; from gymsolve.runs import list_runs, find_run; list_runs(sys.argv[1]);"
        "find_run('@last', sys.argv[1]);"
        "print([m for m in ('numpy', 'torch', 'gymnasium', 'safetensors', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(base)], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"
