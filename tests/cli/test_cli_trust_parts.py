"""A run from elsewhere that names an encoder, an algorithm or an observer of its own executes nothing."""

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import gymsolve
from gymsolve.errors import CodeRefusedError, GymsolveError
from gymsolve.own_code import code_of
from gymsolve.runs.checkpoints import _sealed
from gymsolve.runs.run import Run
from gymsolve.runs.tensors import pack, unpack
from gymsolve.service.run_changes import look_at
from gymsolve.view.run_page import look_over

PART = "stuff_of_others"
CODE = """
from torch import nn
open({marker!r}, "w").write(__name__)

class Part(nn.Module):
    def __init__(self, observations):
        super().__init__()

    def forward(self, observations):
        return observations["obs"]
"""
NAMES: dict[str, dict[str, Any]] = {
    "encoder": {"net": {"encoder": {"name": f"{PART}:Part", "options": {}}}},
    "encoder as a word": {"net": {"encoder": f"{PART}:Part"}},
    "encoder with options": {"net": {"encoder": {f"{PART}:Part": {"x": 1}}}},
    "algorithm": {"algo": {"name": f"{PART}:Part"}},
    "algorithm with settings": {"algo": {"name": f"{PART}:Part", "kind": {"of": 3}}},
    "observer": {"observers": [f"{PART}:Part"]},
    "observer with options": {"observers": [{f"{PART}:Part": {"x": 1}}]},
}
IMPORTING = {
    "eval": ("eval", "@last", "--episodes", "1"),
    "record": ("record", "@last", "--max-seconds", "1"),
    "resume": ("resume", "@last", "--steps", "1000"),
    "fork": ("fork", "@last", "--steps", "1000"),
    "review": ("review", "@last"),
    "detached": ("resume", "@last", "--steps", "1000", "--detach"),
}
READING = {
    "show": ("runs", "show", "@last", "--json"),
    "list": ("runs", "--json"),
    "compare": ("runs", "compare", "@last", "other", "--json"),
    "report": ("report", "@last", "--json"),
    "diagnose": ("diagnose", "@last", "--json"),
}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stock")
    settings = {"env.num_envs": 2, "algo.num_steps": 32, "algo.num_minibatches": 2, "solved_at": 1000}
    settings |= {"eval.episodes": 2, "eval.every": 64, "checkpoint.every": 64, "video.enabled": False}
    gymsolve.train("CartPole-v1", settings, steps=256, runs_dir=folder / "runs")
    return folder


@pytest.fixture
def hostile(stock, place, monkeypatch, tmp_path_factory):
    """That run with other settings, and a module beside it that says when it is imported."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.syspath_prepend(str(place))
    shutil.copytree(stock / "runs", place / "runs")
    run = Run(place / "runs" / (place / "runs" / "@last").read_text().strip())
    shutil.copytree(run.path, place / "runs" / "other")
    marker = place / "executed"
    (place / f"{PART}.py").write_text(CODE.format(marker=str(marker)))

    def make(kind: str) -> tuple[Run, Path]:
        stored = json.loads((run.path / "config.json").read_text())
        for section, value in NAMES[kind].items():
            old = stored["config"].get(section)
            stored["config"][section] = old | value if isinstance(old, dict) else value
        (run.path / "config.json").write_text(json.dumps(stored))
        return run, marker

    yield make
    sys.modules.pop(PART, None)


@pytest.mark.parametrize("kind", NAMES)
def test_no_door_imports_what_a_run_names(kind, hostile, cli):
    run, marker = hostile(kind)
    for door, command in IMPORTING.items():
        answer = cli(*command)
        assert not marker.exists(), door
        assert (answer.code, "would import" in answer.err) == (2, True), (door, answer)
        assert PART in answer.err
    for door, command in READING.items():
        answer = cli(*command)
        assert not marker.exists(), door
        assert answer.code == 0, (door, answer)
    look_over(run)
    look_at(run.id)
    if kind.startswith("encoder"):  # the others are of no use for acting
        with pytest.raises(CodeRefusedError, match="trust=True"):
            gymsolve.load_policy(run)
    for refused in (gymsolve.evaluate, gymsolve.resume, gymsolve.inspect):
        with pytest.raises(CodeRefusedError, match="would import"):
            refused(run)
    assert not marker.exists()
    assert PART not in sys.modules


def edit_policy(run: Run, changes: dict[str, str]) -> None:
    """The metadata of every policy file, with checksums that fit."""
    for place in (run.path / "checkpoints").iterdir():
        file = place / "policy.safetensors"
        if not place.is_dir() or not file.exists():
            continue
        arrays, metadata = unpack(file.read_bytes())
        data = pack(arrays, metadata | changes)
        file.write_bytes(data)
        meta = json.loads((place / "meta.json").read_text())
        meta["files"][file.name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        (place / "meta.json").write_text(_sealed(meta))


@pytest.mark.parametrize("what", ["kind", "net"])
def test_a_policy_file_imports_nothing_that_its_run_does_not_name(what, hostile, cli, stock):
    run, marker = hostile("observer")
    (sound,) = (stock / "runs").glob("*-CartPole*/config.json")
    (run.path / "config.json").write_bytes(sound.read_bytes())
    _, metadata = unpack(next(run.path.glob("checkpoints/*/policy.safetensors")).read_bytes())
    net = json.dumps(json.loads(metadata["net"]) | {"encoder": {"name": f"{PART}:Part", "options": {}}})
    edit_policy(run, {"kind": f"{PART}:Part"} if what == "kind" else {"net": net})
    for command in ("eval", "record"):
        answer = cli(*IMPORTING[command])
        assert answer.code == 2, answer
        assert f"{PART}:Part" in answer.err
    for use in (gymsolve.load_policy, gymsolve.inspect):
        with pytest.raises(GymsolveError, match=f"{PART}:Part"):
            use(run, trust=True)
    assert not marker.exists()
    assert PART not in sys.modules


def test_trust_is_asked_for_once_and_until_the_settings_change(hostile, cli):
    run, _ = hostile("encoder")
    assert cli("eval", "@last", "--episodes", "1").code == 2
    assert cli("eval", "@last", "--episodes", "1", "--trust").code == 0
    assert cli("eval", "@last", "--episodes", "1").code == 0
    stored = json.loads((run.path / "config.json").read_text())
    stored["config"]["net"]["encoder"]["options"] = {"width": 3}
    (run.path / "config.json").write_text(json.dumps(stored))
    assert "would import" in cli("eval", "@last", "--episodes", "1").err


def test_what_names_code_among_all_settings():
    config = {
        "env": {"id": "a:Env-v0", "wrappers": ["b:Wrapper"]},
        "net": {"encoder": {"name": "c:Encoder", "options": {"inner": "d:Inner"}}},
        "algo": {"name": "e:Algo", "critic": ["f:Critic"], "gamma": 0.9},
        "observers": [{"name": "g:Observer", "options": {"h:Key": 1}}],
    }
    assert sorted(name[0] for name in code_of(config)) == list("abcdefgh")
    plain = {"env": {"id": "CartPole-v1"}, "net": {"encoder": None}, "algo": {"name": "ppo"}, "observers": []}
    assert code_of(plain) == ()
