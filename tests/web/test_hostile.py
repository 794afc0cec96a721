"""What strangers put into run folders, requests and messages: refused in a sentence, or shown as text."""

import asyncio
import io
import json
import os
import resource
import socket
import struct
import time
import zipfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from gymsolve.apps.play.keys import Pressed
from gymsolve.apps.play.opening import open_request, read_request
from gymsolve.errors import CheckpointError, GymsolveError, RunDamagedError
from gymsolve.recipes import validate
from gymsolve.runs.demos import list_demos
from gymsolve.runs.episodes import load_episode
from gymsolve.runs.inspections import InspectionWriter, RowField, list_inspections, open_inspection
from gymsolve.runs.refs import checkpoint_ref, open_checkpoint
from gymsolve.runs.run import Run, open_run
from gymsolve.training.engines.choose import load_policy
from gymsolve.web.guard import Guard
from tests.web.conftest import Served, serving
from tests.web.test_guard import ask, hear, open_socket
from tests.web.test_watch import KEPT, keep

V4, V6 = "127.0.0.1", "2001:db8::5"


@pytest.mark.parametrize(
    ("bound", "asked", "served"),
    [
        (V4, "localhost", True),
        (V4, "LOCALHOST:8650", True),
        (V4, "[::1]:8650", True),
        (V4, "127.0.0.1.", False),
        (V4, "localhost.", False),
        (V4, "2130706433", False),
        (V4, "0x7f.1", False),
        (V4, "127.0.0.1:8650:80", False),
        (V6, f"[{V6}]:8650", True),
        (V6, f"[{V6}]", True),
        (V6, V6, False),
        ("0.0.0.0", "box.example:8650", True),
        ("::", "box.example:8650", True),
        (V4, "localhost|evil.example", False),
        ("::", "box.example|evil.example", False),
    ],
)
def test_a_server_has_the_names_that_it_was_given(bound: str, asked: str, served: bool) -> None:
    told: list[int] = []

    async def send(message: Any) -> None:
        told.extend([message["status"]] if "status" in message else [])

    async def app(*_: Any) -> None:
        told.append(200)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
    headers = [(b"cookie", b"gymsolve_8650=secret"), *((b"host", one.encode()) for one in asked.split("|"))]
    guard = Guard(app, token="secret", host=bound, port=8650)
    asyncio.run(guard({**scope, "headers": headers}, send, send))  # type: ignore[arg-type]
    assert told == [200 if served else 400]


@pytest.mark.parametrize(
    "first",
    ['{"run": NaN}', '{"run": 1e999}', '{"seed": %s}' % ("9" * 400), '{"a": ' * 70 + "1" + "}" * 70, b"{}"],
)
def test_messages_that_no_session_can_read_are_told(server: Served, first: str | bytes) -> None:
    with open_socket(server, "play", origin=server.origin) as tab:
        tab.send(first)
        assert hear(tab) == {"type": "error", "text": "the first message is not a JSON object."}


@pytest.mark.parametrize("body", ["NaN", '{"steps": 1e999}', '{"seed": %s}' % ("9" * 400), "[]", '{"a"'])
def test_requests_that_no_handler_can_read_are_told(server: Served, body: str) -> None:
    status, _, told = ask(server, "/api/runs", method="POST", body=body, Origin=server.origin)
    assert status == 400
    assert json.loads(told)["error"]["text"].startswith("the request is not")


def test_a_key_is_no_longer_than_keys_are() -> None:
    pressed = Pressed()
    long = "#" + "9" * 5000
    assert pressed.hear({"type": "keys", "pressed": ["left", long], "levels": {"9" * 5000: 1.0}}) == ["left"]


@pytest.mark.parametrize("field", ["run", "against"])
def test_a_page_plays_runs_of_its_folder_alone(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = keep(tmp_path / "elsewhere", "20260102-000000-CartPole-v1-ppo-0000")
    monkeypatch.chdir(elsewhere.path.parent)
    env = {"env": "VizdoomDeathmatch-v1"} if field == "against" else {}
    for name in (str(elsewhere.path), elsewhere.id, f"../elsewhere/{elsewhere.id}"):
        with pytest.raises(GymsolveError, match=r"is a path|is in another folder"):
            open_request(read_request({field: name, **env, "runs_dir": str(tmp_path / "runs")}))


def _npy(shape: str, kind: str, data: bytes) -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(_npy("()", "<U5000000", bytes(20_000_000)), id="unpacks to much"),
        pytest.param(_npy(f"({10**15},)", "<f8", b""), id="claims much"),
        pytest.param(_npy("()", "<U4", "[1]\0".encode("utf-32-le")), id="no object"),
        pytest.param(b"\x93NUMPY", id="cut off"),
    ],
)
def test_demonstrations_of_strangers_are_damaged_at_most(facts: bytes, tmp_path: Path) -> None:
    place = tmp_path / "demos" / "stranger.npz"
    place.parent.mkdir()
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("facts.npy", facts)
    assert [demo.facts for demo in list_demos(tmp_path)] == [{"end": "damaged"}]
    with pytest.raises(RunDamagedError, match="not a recorded episode"):
        load_episode(place)


def begin_inspection(folder: Path) -> tuple[Run, InspectionWriter]:
    run = keep(folder, "20260102-000000-CartPole-v1-ppo-0000")
    facts = {"checkpoint": "64", "env_id": "CartPole-v1", "policy_sha256": "", "env_steps": 64, "seed": 1}
    facts |= {"deterministic": True, "camera": False, "role": "eval", "spec": {}, "credit": {}}
    facts |= {"action_names": [], "obs_names": {}, "frame_stack": 1}
    return run, InspectionWriter(run, "64-seed1", [RowField("value", "f4")], facts)


def test_an_inspection_that_the_disk_cannot_hold_leaves_nothing(tmp_path: Path) -> None:
    run, writer = begin_inspection(tmp_path)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))
    try:
        writer.add_frame(bytes(5000))  # waits in its buffer
        with pytest.raises(RunDamagedError, match="size limit"):
            writer.add_rows(bytes(4))
        writer.abandon()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list((run.path / "inspections").iterdir()) == []


def test_an_inspection_of_more_states_than_are_played_is_damaged(tmp_path: Path) -> None:
    run, writer = begin_inspection(tmp_path)
    writer.add_rows(bytes(4))
    found = writer.finish("whole", {"length": 0})
    assert len(list_inspections(run)) == 1
    os.truncate(found.path / "rows.bin", 1 << 40)  # a hole: it takes no room
    assert list_inspections(run) == []
    with pytest.raises(RunDamagedError, match="states are not written here"):
        open_inspection(run, found.name)


def test_what_fails_inside_is_told_to_page_and_terminal(
    server: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from starlette.testclient import TestClient

    from gymsolve.service.agent_limits import Home, Limits
    from gymsolve.web import reading
    from gymsolve.web.server import make_app

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("of this test")

    monkeypatch.setattr(reading.RunsTable, "look", fail)
    home = Home(str(server.runs_dir), Limits(runs=None), by="person")
    app = make_app(home, token="t", host=V4, port=80)
    headers = {"host": V4, "cookie": "gymsolve_80=t"}
    answer = TestClient(app, raise_server_exceptions=False).get("/api/runs", headers=headers)
    assert answer.status_code == 500
    assert answer.json()["error"]["text"] == "this failed inside gymsolve (ZeroDivisionError)."
    assert "of this test" in capsys.readouterr().err


def test_arrays_of_a_sound_episode_are_read(tmp_path: Path) -> None:
    place, held = tmp_path / "e.npz", io.BytesIO()
    arrays = {name: np.zeros(2) for name in ("actions", "rewards", "returns")}
    arrays |= {name: np.zeros(3) for name in ("values", "obs/obs")}  # a row for the state at the end
    np.savez_compressed(held, facts=np.array(json.dumps({"end": "cut"})), **arrays)  # type: ignore[arg-type]
    place.write_bytes(held.getvalue())
    assert load_episode(place).facts == {"end": "cut"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"new_thing": 3}, "has a setting 'new_thing' that this gymsolve does not know"),
        ({"hidden": "wide"}, "cannot be read (hidden: "),
    ],
)
def test_a_network_of_another_version_is_told_by_name(change: dict[str, Any], told: str) -> None:
    run, saved = open_checkpoint(str(KEPT), None, policy_only=True)
    settings = validate(run.config_json()["config"])
    net = json.dumps(json.loads(saved.policy_metadata["net"]) | change)
    with pytest.raises(CheckpointError) as refused:
        load_policy(saved.policy, {**saved.policy_metadata, "net": net}, settings)
    assert told in str(refused.value)


@pytest.mark.parametrize("checkpoint", ["../..", "stage-/../../x"])
def test_a_checkpoint_is_no_path(checkpoint: str) -> None:
    run = open_run(KEPT)
    with pytest.raises(GymsolveError, match="has no checkpoint"):
        checkpoint_ref(run, checkpoint)


def test_connections_up_to_the_limit_of_files_are_told_and_survived(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as served, ExitStack() as held:
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        place = urlsplit(served.origin)
        for _ in range(80):  # none of which ever asks for anything
            held.enter_context(socket.create_connection((place.hostname, place.port)))
        said = ""
        while "new connections are refused" not in said:  # the suite's limit of time ends it
            said += capfd.readouterr().err
            time.sleep(0.05)
        held.close()
        while True:
            with suppress(OSError):  # until the server has seen that they are gone
                assert ask(served, "/")[0] == 200
                break
