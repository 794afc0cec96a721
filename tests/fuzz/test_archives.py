"""Archives from anybody: a sentence or a whole run, nothing outside, nothing left over, bounded in size."""

import contextlib
import io
import json
import os
import random
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from run_mutators import ODD, damage_bytes, rounds

import gymsolve
from gymsolve.errors import GymsolveError
from gymsolve.runs import zip_files as archiving
from gymsolve.runs.index import list_runs
from gymsolve.runs.run import Run
from gymsolve.runs.zip_files import pack_run, unpack_run

SMALL = {"env.num_envs": 2, "eval.episodes": 1, "video.enabled": False}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return gymsolve.train("Bandit-v0", SMALL, steps=64, runs_dir=tmp_path_factory.mktemp("made")).run


@pytest.fixture(scope="module")
def packed(run: Run, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("zip") / "run.zip"
    pack_run(run, path)
    return path.read_bytes()


def entries(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(files: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as file:
        for name, data in files.items():
            file.writestr(zipfile.ZipInfo(name), data, compress_type=kind)
    return out.getvalue()


def odd_archive(raw: bytes, chance: random.Random) -> bytes:
    """Bytes that are damaged, or a zip file with files that are damaged, renamed, missing or too many."""
    if chance.random() < 0.4:
        return damage_bytes(raw, chance)
    files = entries(raw)
    name = chance.choice(list(files))
    data = files[name]
    kind = chance.choice(("damaged", "renamed", "gone", "twice", "id"))
    if kind == "damaged":
        files[name] = damage_bytes(data, chance)
    elif kind == "gone":
        del files[name]
    elif kind == "id":
        info = json.loads(files["run.json"])
        text = json.dumps(info | {"id": "ODD"}).replace('"ODD"', chance.choice(ODD))
        files["run.json"] = text.encode()
    else:
        long = "x" * 300
        odd = (
            "/etc/x",
            "../x",
            "a/../../x",
            "C:x",
            "a\\b",
            "\x1b[31m",
            "",
            "/",
            ".",
            "..",
            long,
            f"{long}/{long}",
        )
        odd += (
            "run.json/x",
            "checkpoints",
            "checkpoints/best/x",
            "@last",
            ".lock",
            "é",
            "\u202e",
            "a" * 70_000,
        )
        files[chance.choice(odd[:-1])] = data
        if kind == "renamed":
            del files[name]
    return zipped(files, chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2)))


def test_any_archive_gives_a_run_or_a_sentence(packed: bytes, tmp_path: Path) -> None:
    path, folder = tmp_path / "odd.zip", tmp_path / "deep" / "er" / "runs"
    for number in range(rounds(100)):
        path.write_bytes(odd_archive(packed, random.Random(number)))
        with contextlib.suppress(GymsolveError):
            unpack_run(path, folder)
        found = {one.name for one in folder.iterdir()} - {".lock", "index.json"}
        assert {one.name for one in tmp_path.iterdir()} == {"odd.zip", "deep"}, number
        assert found == {one.id for one in list_runs(folder)}, number
        for name in found:
            subprocess.run(["rm", "-rf", str(folder / name)], check=True)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bomb", "more than any run"),
        ("many", "more than any run"),
        ("locked", "encrypted"),
        ("lie", "zip file"),
        ("nested", "lies deeper than any file of a run"),
    ],
)
def test_limits(kind: str, said: str, packed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "_BYTES", 1 << 20)
    monkeypatch.setattr(archiving, "_ENTRIES", 1000)
    files = entries(packed)
    if kind == "bomb":
        files["log.txt"] = b"\0" * (20 << 20)
    elif kind == "many":
        files |= {f"videos/{number}": b"" for number in range(1001)}
    elif kind == "nested":
        files["d/" * 2000 + "x"] = b""
    raw = bytearray(zipped(files))
    if kind == "locked":
        for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            raw[raw.index(mark) + place] |= 1
    elif kind == "lie":  # a size that is not true
        place = raw.index(b"PK\x01\x02") + 24
        raw[place : place + 4] = (5).to_bytes(4, "little")
    (tmp_path / "run.zip").write_bytes(raw)
    with pytest.raises(GymsolveError, match=said):
        unpack_run(tmp_path / "run.zip", tmp_path / "runs")
    assert not [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]


def test_what_a_killed_process_left_is_removed(packed: bytes, tmp_path: Path) -> None:
    """Killed while it unpacks; an unpacking that still runs keeps its folder."""
    (tmp_path / "run.zip").write_bytes(packed)
    code = """
import sys, time
from pathlib import Path
from gymsolve.runs import zip_files as archive
def hang(source, target):
    target.mkdir()
    (target / "half").write_text("x")
    print("there", flush=True)
    time.sleep(600)
archive._extract = hang
archive.unpack_run(Path("run.zip"), "runs")
"""
    workers = []
    for _ in range(2):
        worker = subprocess.Popen(
            [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "there\n"
        worker.stdout.close()
        workers.append(worker)
    dead, alive = workers
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert len(list((tmp_path / "runs").glob(".unpack-*/run/half"))) == 2
    unpack_run(tmp_path / "run.zip", tmp_path / "runs")
    assert len(list((tmp_path / "runs").glob(".unpack-*/run/half"))) == 1
    alive.kill()
    alive.wait()


def test_nothing_but_plain_files_is_packed(run: Run, tmp_path: Path) -> None:
    copied = Run(tmp_path / run.id)
    subprocess.run(["cp", "-r", str(run.path), str(copied.path)], check=True)
    (tmp_path / "secret").write_text("secret")
    (copied.path / "link").symlink_to(tmp_path / "secret")
    (copied.path / "videos").mkdir(exist_ok=True)
    (copied.path / "folder").symlink_to("/etc", target_is_directory=True)
    os.mkfifo(copied.path / "pipe")
    (copied.path / "\x1b[31m").write_text("red")
    os.utime(copied.path / "config.json", (0, 0))  # earlier than zip files can say
    pack_run(copied, tmp_path / "run.zip")
    found = set(entries((tmp_path / "run.zip").read_bytes()))
    assert not found & {"link", "pipe", "\x1b[31m"}
    assert not any(name.startswith("folder") for name in found)
    assert stat.S_ISFIFO((copied.path / "pipe").stat().st_mode)
