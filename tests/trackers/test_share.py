"""Runs that leave this machine and come back: zip files, and W&B's client against a stand-in server."""

import io
import json
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest
from own_process import commands_in_one_process, python
from wandb_files import of_kind, read_wandb
from wandb_server import ENTITY, Store

import gymsolve
from gymsolve.cli import main
from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.runs.index import list_runs
from gymsolve.runs.refs import find_run
from gymsolve.runs.run import Run
from gymsolve.runs.zip_files import pack_run, unpack_run
from gymsolve.service.share import pull_run


def shell(folder: Path, extra: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(folder, extra, "-m", "gymsolve", *arguments)


@pytest.fixture
def trained(tmp_path):
    return gymsolve.train("Bandit-v0", steps=500).run


def contents(run: Run) -> dict[str, bytes]:
    files = (path for path in run.path.rglob("*") if path.is_file() and "wandb" not in path.parts)
    return {str(path.relative_to(run.path)): path.read_bytes() for path in files}


def test_a_run_survives_the_zip(trained, tmp_path):
    (trained.path / "wandb").mkdir()
    (trained.path / "wandb" / "log.txt").write_text("theirs")
    pack_run(trained, tmp_path / "run.zip")
    back = unpack_run(tmp_path / "run.zip", tmp_path / "elsewhere")
    assert back.id == trained.id
    assert contents(back) == contents(trained)
    assert not (back.path / "wandb").exists()
    assert [one.id for one in list_runs(tmp_path / "elsewhere")] == [trained.id]
    assert len(gymsolve.evaluate(back, episodes=2).episodes) == 2
    with pytest.raises(UsageError, match="is here already"):
        unpack_run(tmp_path / "run.zip", tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").glob(".unpack-*"))


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "..\\evil", "C:evil"])
def test_an_archive_cannot_write_elsewhere(name, tmp_path):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        packed.writestr("run.json", "{}")
        packed.writestr(name, "evil")
    with pytest.raises(RunDamagedError, match="would be written elsewhere"):
        unpack_run(tmp_path / "bad.zip", tmp_path / "runs")
    assert not list(tmp_path.rglob("*evil*"))


def test_links_other_files_and_odd_ids_are_refused(tmp_path):
    link = zipfile.ZipInfo("checkpoints")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as packed:
        packed.writestr(link, "/etc")
    (tmp_path / "text.zip").write_text("no zip at all")
    with zipfile.ZipFile(tmp_path / "id.zip", "w") as packed:
        packed.writestr("run.json", json.dumps({"id": "../../home"}))
    for name, said in (("link", "elsewhere"), ("text", "not a zip file"), ("id", "names no run")):
        with pytest.raises(RunDamagedError, match=said):
            unpack_run(tmp_path / f"{name}.zip", tmp_path / "runs")
    assert not [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]


def test_push_and_pull_through_wandb(trained, server: Store, tmp_path):
    pushed = shell(tmp_path, server.environment, "push", trained.id, "--json")
    assert pushed.returncode == 0, pushed.stderr
    told = json.loads(pushed.stdout)
    place = f"{ENTITY}/Bandit-v0/{trained.id}"
    assert told["next"] == f"gymsolve pull {place}"
    assert server.artifact is not None
    assert server.artifact["runName"] == trained.id
    packed = zipfile.ZipFile(io.BytesIO(server.files[f"/files/{trained.id}.zip"]))
    assert "run.json" in packed.namelist()
    other = trained.id[:-4] + "0000"
    *pulls, absent = commands_in_one_process(
        tmp_path,
        server.environment,
        ["pull", place, "--runs-dir", "one", "--json"],
        ["pull", trained.id, "--runs-dir", "two", "--json"],
        ["pull", f"{ENTITY}/Other-v0/{other}"],
    )
    for pulled in pulls:
        assert pulled["code"] == 0, pulled
        back = Run(Path(json.loads(pulled["out"])["path"]))
        assert contents(back) == contents(trained)
    assert absent["code"] == 2
    assert "Traceback" not in absent["err"]
    assert f"W&B gave no run '{ENTITY}/Other-v0/run-{other}'" in absent["err"]


def hostile_archives(run: Run) -> dict[str, tuple[bytes, str]]:
    """What a server may send instead of a run, and what is said about it."""
    link = zipfile.ZipInfo("checkpoints")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    other = json.loads((run.path / "run.json").read_text()) | {"id": run.id[:-4] + "0000"}
    return {
        "text": (b"no zip at all", "not a zip file"),
        "outside": (zipped({"run.json": "{}", "../evil": "evil"}), "evil"),
        "link": (zipped({link: "/etc"}), "elsewhere"),
        "other": (zipped({"run.json": json.dumps(other)}), "it is that of another run"),
    }


def zipped(entries: dict[str | zipfile.ZipInfo, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        for name, text in entries.items():
            packed.writestr(name, text)
    return held.getvalue()


def test_what_a_server_sends_instead_of_a_run_is_one_sentence(trained, server: Store, tmp_path):
    assert shell(tmp_path, server.environment, "push", trained.id).returncode == 0
    archives = hostile_archives(trained)
    server.files = InTurn(server.files, f"/files/{trained.id}.zip", [sent for sent, _ in archives.values()])
    pulls = [["pull", trained.id, "--runs-dir", f"from-{name}"] for name in archives]
    answers = commands_in_one_process(tmp_path, server.environment, *pulls)
    for (name, (_, said)), pulled in zip(archives.items(), answers, strict=True):
        assert pulled["code"] in (1, 2), name
        assert said in pulled["err"]
        assert "Traceback" not in pulled["err"]
        assert not [path for path in (tmp_path / f"from-{name}").glob("*") if path.is_dir()], name
    assert not list(tmp_path.rglob("*evil*"))


class InTurn(dict[str, bytes]):
    """Files, one of which is another each time that it is asked for."""

    def __init__(self, files: dict[str, bytes], place: str, contents: list[bytes]) -> None:
        super().__init__(files)
        self._place, self._contents = place, iter(contents)

    def get(self, path: str, otherwise: bytes | None = None) -> bytes | None:  # type: ignore[override]
        return next(self._contents) if path == self._place else super().get(path, otherwise)


def test_an_offline_push_waits_to_be_sent(trained, tmp_path):
    pushed = shell(tmp_path, {"WANDB_MODE": "offline"}, "push", trained.id, "--json")
    assert pushed.returncode == 0, pushed.stderr
    assert json.loads(pushed.stdout)["next"].startswith(f"wandb sync {trained.path}")
    records = read_wandb(trained.path)
    assert [one.name for one in of_kind(records, "artifact")] == [f"run-{trained.id}"]


def test_a_run_that_is_not_here_may_be_pulled(trained, capsys):
    absent = trained.id[:-4] + "0000"
    with pytest.raises(UnknownRunError, match=f"gymsolve pull {absent}"):
        find_run(absent)
    assert main(["runs", "show", absent]) == 2
    assert f"gymsolve pull {absent}" in capsys.readouterr().err


def test_a_part_of_an_id_cannot_be_pulled():
    with pytest.raises(UsageError, match="not the whole id"):
        pull_run("cartpole")


def test_a_run_in_progress_is_not_packed(trained, tmp_path):
    trained.claim(command=["gymsolve", "resume"])
    with pytest.raises(UsageError, match="still training"):
        pack_run(trained, tmp_path / "run.zip")


def test_training_online_prints_the_address_once(server: Store, tmp_path):
    done = shell(tmp_path, server.environment, "train", "Bandit-v0", "--steps", "500", "--track", "wandb")
    assert done.returncode == 0, done.stderr
    run = find_run("@last")
    said = done.stdout + done.stderr
    assert said.count(f"{server.url}/{ENTITY}/Bandit-v0/runs/{run.id}") == 1
    assert said.count(server.url) == 1
    files = [stream.get("files", {}) for stream in server.streams]
    lines = [line for one in files for line in one.get("wandb-history.jsonl", {}).get("content", [])]
    told = [json.loads(line) for line in lines]
    kept = run.read_metrics().rows
    assert [row["env_steps"] for row in told if "progress" in row] == [row["env_steps"] for row in kept]
    assert server.streams[-1]["complete"] is True
    assert server.streams[-1]["exitcode"] == 0


@pytest.mark.slow
def test_an_unreachable_server_means_offline(tmp_path):
    nobody = {"WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "0" * 40}
    done = shell(tmp_path, nobody, "train", "Bandit-v0", "--steps", "500", "--track", "wandb")
    assert done.returncode == 0, done.stderr
    assert "W&B cannot be reached" in done.stdout
    assert of_kind(read_wandb(find_run("@last").path), "exit")


def test_without_an_account_it_is_offline(tmp_path):
    nobody = {"HOME": str(tmp_path), "NETRC": str(tmp_path / "netrc"), "WANDB_API_KEY": ""}
    done = shell(tmp_path, nobody, "train", "Bandit-v0", "--steps", "500", "--track", "wandb")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("W&B has no account here") == 1
    assert of_kind(read_wandb(find_run("@last").path), "exit")
    pushed = shell(tmp_path, nobody, "push", "@last")
    assert pushed.returncode == 2
    assert "wandb login" in pushed.stderr
