"""Recorded episodes from anybody: commands read what is one, and refuse the rest without unpacking it."""

import io
import json
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nasty import call, rounds
from run_mutators import ODD, damage_bytes, damage_json

from gymsolve.envs.describe import describe_env
from gymsolve.errors import RunDamagedError
from gymsolve.runs.episodes import load_episode, read_actors, read_facts
from gymsolve.settings.config import EnvConfig

STEPS = 5
COMMANDS = (
    ["demos"],
    ["demos", "--json"],
    ["demos", "show", "odd"],
    ["demos", "show", "odd", "--json"],
    ["demos", "export", "odd", "--out", "datasets"],
    ["train", "CartPole-v1", "--set", "imitate.episodes=[runs/demos/odd.npz]", "--steps", "64", "-q"],
)
FACTS = {
    "env_id": "CartPole-v1",
    "time": "2026-01-02T03:04:05+00:00",
    "end": "cut",
    "length": STEPS,
    "by_person": STEPS,
    "seed": 1,
    "return": 5.0,
    "action_names": ["left", "right"],
    "run": None,
}


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    spec = describe_env(EnvConfig(id="CartPole-v1"), "play")
    return {
        "facts": np.array(json.dumps(FACTS | {"spec": spec.to_json()})),
        "obs/obs": np.zeros((STEPS + 1, 4), np.float32),
        "actions": np.zeros(STEPS, np.int64),
        "rewards": np.ones(STEPS),
        "returns": np.arange(1.0, STEPS + 1),
        "values": np.zeros(STEPS + 1),
        "who": np.array(["person"] * STEPS),
        "proposed": np.zeros(STEPS, np.int64),
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_DEBUG", "MINARI_DATASETS_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "runs" / "demos").mkdir(parents=True)
    return tmp_path / "runs" / "demos" / "odd.npz"


def stored(arrays: dict[str, Any]) -> dict[str, bytes]:
    """The entries of a file with these arrays."""
    held = io.BytesIO()
    np.savez_compressed(held, **arrays)
    with zipfile.ZipFile(held) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def zipped(entries: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries.items():
            packed.writestr(name, data)
    return held.getvalue()


def header(shape: str, kind: str = "<f8") -> bytes:
    """The beginning of an array that claims to have this shape."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def odd_array(chance: random.Random) -> Any:
    kinds = [np.float64, np.int8, bool, "U3", "S2", np.complex64, "M8[s]"]
    shapes = [(), (0,), (STEPS,), (STEPS + 1,), (STEPS, 3), (STEPS, 0), (1,) * 20, (100_000,)]
    return np.zeros(chance.choice(shapes), chance.choice(kinds))


def odd_file(arrays: dict[str, Any], chance: random.Random) -> bytes:
    """A file in which an array, its header, the facts or the bytes are not what they should be."""
    name = chance.choice(list(arrays))
    kind = chance.choice(("array", "array", "gone", "more", "facts", "facts", "header", "entry", "bytes"))
    if kind == "array":
        return zipped(stored(arrays | {name: odd_array(chance)}))
    if kind == "more":
        return zipped(stored(arrays | {chance.choice(("x", "obs/x", "obs/", "a\x1b")): odd_array(chance)}))
    if kind == "facts":
        text = str(arrays["facts"])
        damaged = chance.choice((damage_json(text.encode(), chance).decode(), chance.choice(ODD)))
        return zipped(stored(arrays | {"facts": np.array(damaged)}))
    entries = stored(arrays)
    name = f"{name}.npy"
    if kind == "gone":
        del entries[name]
    elif kind == "header":
        shape = chance.choice(
            ("()", "(5,)", "(-1,)", "(2**40,)", "(99999999999,)", "5", "[5]", "(5", "x", "(" * 99)
        )
        entries[name] = header(shape, chance.choice(("<f8", "|O", "<U9", "x", "V8", ""))) + b"\0" * 40
    else:
        entries[name] = damage_bytes(entries[name], chance)
    whole = zipped(entries)
    return damage_bytes(whole, chance) if kind == "bytes" else whole


def test_any_file_is_told_or_refused(arrays: dict[str, Any], place: Path) -> None:
    wrong = []
    for number in range(rounds(60)):
        chance = random.Random(number)
        place.write_bytes(odd_file(arrays, chance))
        for words in (COMMANDS[chance.randrange(2)], chance.choice(COMMANDS[2:])):
            said = call(words)
            wrong += [f"case {number}: {said}"] if said.fault else []
    assert not wrong, f"{len(wrong)}:\n\n" + "\n\n".join(wrong[:10])


def test_the_file_that_is_changed_is_a_good_one(arrays: dict[str, Any], place: Path) -> None:
    place.write_bytes(zipped(stored(arrays)))
    said = call(["demos", "show", "odd", "--json"])
    assert json.loads(said.out)["acted"] == {"person": STEPS}
    assert load_episode(place).obs["obs"].shape == (STEPS + 1, 4)


ROWS = 60_000_000


@pytest.fixture(scope="module", params=["one array", "all arrays"])
def bomb(arrays: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, request: Any) -> Path:
    """Some hundred kilobytes that stand for half a gigabyte, in one array or in several that agree."""
    entries, rows = stored(arrays), {"actions": ROWS}
    if request.param == "all arrays":
        rows |= {"rewards": ROWS, "returns": ROWS, "values": ROWS + 1}
        entries = {"facts.npy": entries["facts.npy"]}
    path = tmp_path_factory.mktemp("bombs") / "odd.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, data in entries.items():
            if name != "actions.npy":
                packed.writestr(name, data)
        for name, count in rows.items():
            with packed.open(f"{name}.npy", "w") as file:
                file.write(header(f"({count},)", "<f8" if len(rows) == 1 else "|i1"))
                for _ in range(8 if len(rows) == 1 else 1):
                    file.write(bytes(count))
    assert path.stat().st_size < 4 << 20
    return path


@pytest.mark.parametrize("read", [load_episode, read_actors, read_facts])
def test_what_stands_for_half_a_gigabyte_is_not_unpacked(bomb: Path, read: Callable[[Path], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(RunDamagedError):
            read(bomb)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
