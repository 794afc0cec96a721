"""Checkpoints: what is loaded is exactly what was saved, or an error that names another one."""

import contextlib
import itertools
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymsolve.errors import CheckpointError, RunDamagedError, UnknownRunError
from gymsolve.runs import (
    Run,
    list_checkpoints,
    load_checkpoint,
    load_policy_file,
    mark_best,
    prune,
    read_meta,
    save_checkpoint,
    update_meta,
)
from gymsolve.seeding import generator, restore_generator, save_generator

MakeRun = Callable[..., Run]
Save = Callable[..., Path]
FILES = ("policy.safetensors", "trainer.safetensors", "trainer.json", "meta.json")


def _folder(run: Run) -> Path:
    return run.path / "checkpoints"


def test_everything_comes_back_unchanged(make_run: MakeRun) -> None:
    run = make_run()
    rng = generator(5, "policy")
    square = rng.normal(size=(4, 6))
    policy: dict[str, Any] = {
        "strided": square[:, ::2],
        "transposed": square.T,
        "scalar": np.asarray(3.5),
        "empty": np.zeros((0, 3), np.float32),
        "mask": np.asarray([True, False]),
        "half": np.asarray([1.5, np.nan, np.inf], np.float16),
        "big_endian": np.asarray([1, 2, 3], ">i4"),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    state = {
        "rng": save_generator(rng),
        "best": float("-inf"),
        "lr": 0.1 + 0.2,
        "none": None,
        "list": [1, [2.5]],
    }
    save_checkpoint(
        run,
        120,
        policy=policy,
        policy_metadata={"spec": '{"ä": 1}'},
        trainer_arrays={},
        trainer_state=state,
        meta={"vec_steps": 15, "updates": 2, "reason": "periodic", "eval": {"eval/mean_reward": 1 / 3}},
    )
    found = load_checkpoint(run)
    assert set(found.policy) == set(policy)
    for name, array in policy.items():
        np.testing.assert_array_equal(found.policy[name], array)
        assert found.policy[name].shape == array.shape
        assert found.policy[name].dtype == array.dtype.newbyteorder("=")
        assert found.policy[name].flags.writeable
    assert found.policy_metadata == {"spec": '{"ä": 1}'}
    assert (found.trainer, found.trainer_state, found.notes) == ({}, state, ())
    assert found.trainer_state["rng"]["state"]["state"] > 2**64  # 128 bits survive JSON
    assert restore_generator(found.trainer_state["rng"]).normal() == rng.normal()
    assert (found.name, found.meta["env_steps"], found.meta["vec_steps"]) == ("120", 120, 15)
    assert found.meta["eval"] == {"eval/mean_reward": 1 / 3}


def test_pointers(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    for steps in (900, 1000, 20_000):
        save(run, steps)
    assert list_checkpoints(run) == ["900", "1000", "20000"]
    with pytest.raises(UnknownRunError, match="no best checkpoint"):
        load_checkpoint(run, "best")
    mark_best(run, "1000")
    assert (load_checkpoint(run, "best").name, load_checkpoint(run, "last").name) == ("1000", "20000")
    assert load_checkpoint(run, "20_000").policy["count"] == 20_000
    with pytest.raises(UnknownRunError, match=r"no checkpoint '7'\. There are: 900, 1000, 20000"):
        load_checkpoint(run, "7")
    with pytest.raises(UnknownRunError):
        mark_best(run, "../900")


def test_run_without_checkpoints(make_run: MakeRun) -> None:
    run = make_run()
    assert list_checkpoints(run) == []
    for which in ("last", "best", "100"):
        with pytest.raises(UnknownRunError, match=r"(?i)none has been saved yet"):
            load_checkpoint(run, which)


def test_saving_again_at_the_same_step_replaces(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    save(run, 100, state={"try": 1})
    save(run, 100, state={"try": 2}, reason="final")
    found = load_checkpoint(run)
    assert (found.trainer_state, found.meta["reason"]) == ({"try": 2}, "final")
    assert sorted(path.name for path in _folder(run).iterdir()) == ["100", "last"]


def test_what_a_kill_left_is_used_or_removed(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    save(run, 100)
    folder = _folder(run)
    (folder / "100").rename(folder / ".old-100")  # killed while replacing, before the new one was in place
    (folder / ".new-100").mkdir()
    (folder / ".drop-50-aa").mkdir()
    (folder / ".last-aa.tmp").write_text("")
    assert load_checkpoint(run).name == "100"
    assert list_checkpoints(run) == ["100"]
    save(run, 200)
    assert sorted(path.name for path in folder.iterdir()) == ["100", "200", "last"]


REPLACE = """
import sys
import numpy as np
from gymsolve.runs import open_run, save_checkpoint
run, number = open_run(sys.argv[1]), 0
while True:
    number += 1
    array = np.full(2000, number)
    save_checkpoint(run, 100, policy={"w": array}, policy_metadata={}, trainer_arrays={"m": array},
                    trainer_state={"number": number}, meta={"number": number})
    if number == 1:
        print("ready", flush=True)
"""


def test_reader_never_sees_a_mixture(make_run: MakeRun) -> None:
    run = make_run()
    args = [sys.executable, "-c", REPLACE, str(run.path)]
    seen = set()
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as writer, contextlib.ExitStack() as stack:
        stack.callback(writer.kill)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for which in ("last", "100") * 100:
            found = load_checkpoint(run, which)
            number = found.meta["number"]
            assert found.notes == ()
            assert (found.policy["w"] == number).all()
            assert (found.trainer["m"] == number).all()
            assert found.trainer_state == {"number": number}
            seen.add(number)
    assert len(seen) > 1


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_cut, _flip, _empty, Path.unlink])
@pytest.mark.parametrize("file", FILES)
def test_damage_of_any_file_is_noticed(
    make_run: MakeRun, save: Save, file: str, damage: Callable[[Path], None]
) -> None:
    run = make_run()
    save(run, 100)
    save(run, 200)
    mark_best(run, "200")
    damage(_folder(run) / "200" / file)
    for which in ("best", "200"):
        with pytest.raises(CheckpointError) as caught:
            load_checkpoint(run, which)
        assert f"200/{file}" in str(caught.value)
        assert f"Use another checkpoint: {run.id}@100" in str(caught.value)
    found = load_checkpoint(run, "last")
    assert found.name == "100"
    assert f"200/{file}" in found.notes[0]
    assert found.notes[-1] == "checkpoint 100 was loaded instead"


def test_flipped_digit_in_meta_is_noticed(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    path = save(run, 100, eval={"eval/mean_reward": 195.0}) / "meta.json"
    path.write_text(path.read_text().replace("195.0", "495.0"))
    with pytest.raises(CheckpointError, match=r"meta\.json: the file was changed .* There is no other one"):
        load_checkpoint(run)


def test_policy_is_usable_when_only_the_trainer_is_damaged(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    path = save(run, 100)
    _flip(path / "trainer.safetensors")
    found = load_checkpoint(run, "last", policy_only=True)
    assert (found.policy["w"] == 100).all()
    assert (found.trainer, found.trainer_state) == ({}, {})


@pytest.mark.parametrize("pointer", [b"", b"999", b"../../x", b"\xff\x00", None])
def test_bad_last_pointer_falls_back_to_the_newest(
    make_run: MakeRun, save: Save, pointer: bytes | None
) -> None:
    run = make_run()
    save(run, 300)
    save(run, 200)  # resumed from an earlier one: fewer steps, but newer
    last = _folder(run) / "last"
    if pointer is None:
        last.unlink()
    else:
        last.write_bytes(pointer)
    found = load_checkpoint(run)
    assert found.name == "200"
    if pointer == b"999":
        assert found.notes == (
            "checkpoint 999 is missing",
            "checkpoint 200 was loaded instead",
        )


def test_meta_can_be_completed_later(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    save(run, 100)
    assert read_meta(run, "100")["eval"] is None
    update_meta(run, "100", eval={"eval/mean_reward": 7.0}, verified=True)
    meta = load_checkpoint(run).meta
    assert (meta["eval"], meta["verified"], meta["reason"]) == ({"eval/mean_reward": 7.0}, True, "periodic")


def test_prune_keeps_the_newest_best_and_last(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    for steps in (100, 200, 300, 400, 500):
        save(run, steps)
    mark_best(run, "100")
    assert prune(run, None) == []
    assert prune(run, 2) == ["200", "300"]
    assert list_checkpoints(run) == ["100", "400", "500"]
    save(run, 150)  # after resuming from 100
    assert prune(run, 1) == ["400", "500"]
    assert list_checkpoints(run) == ["100", "150"]
    assert load_checkpoint(run, "best").name == "100"


@pytest.mark.parametrize("count", [6, 20, 50])
def test_prune_leaves_checkpoints_of_the_whole_run(make_run: MakeRun, save: Save, count: int) -> None:
    run = make_run()
    for number in range(1, count + 1):
        save(run, 100 * number)
        prune(run, 5)
    kept = [int(name) // 100 for name in list_checkpoints(run)]
    assert len(kept) == 5
    assert (kept[0], kept[-2:]) == (1, [count - 1, count])
    gaps = [after - before for before, after in itertools.pairwise(kept)]
    assert max(gaps) <= count / 2, "a stretch without any"


def test_save_that_fails_leaves_the_others_alone(make_run: MakeRun, save: Save) -> None:
    run = make_run()
    save(run, 100)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60, limits[1]))
    try:
        for steps in (100, 200):
            with pytest.raises(RunDamagedError, match=f"checkpoints/{steps}: .*size limit"):
                save(run, steps)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(path.name for path in _folder(run).iterdir()) == ["100", "last"]
    assert load_checkpoint(run).notes == ()


def test_policy_file_on_its_own(make_run: MakeRun, save: Save, tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    shutil.copy(save(make_run(), 100) / "policy.safetensors", path)
    arrays, metadata = load_policy_file(path)
    assert (arrays["w"] == 100).all()
    assert metadata == {"spec": "{}"}
    for damage in (_cut, _empty, Path.unlink):
        damage(path)
        with pytest.raises(CheckpointError, match=r"policy\.safetensors: "):
            load_policy_file(path)


def test_policy_file_of_a_type_without_arrays(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    path = tmp_path / "policy.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(CheckpointError, match="BF16 is not supported"):
        load_policy_file(path)
