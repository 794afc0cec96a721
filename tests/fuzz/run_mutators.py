"""Damage for the files of a run: bytes, JSON values, things that are no files, checkpoints sealed again."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gymsolve.runs.checkpoints import _sealed
from gymsolve.runs.tensors import pack, unpack

__all__ = ["damage_bytes", "damage_file", "damage_json", "damage_lines", "damage_sealed", "rounds"]

DEEP = "[" * 5000 + "]" * 5000
ODD = (
    *(
        "null",
        "true",
        "false",
        "0",
        "-1",
        "5",
        "1e999",
        "-1e999",
        "1e308",
        "NaN",
        "0.5",
        "9" * 25,
        "9" * 400,
        "9" * 5000,
    ),
    *(
        '""',
        '"x"',
        json.dumps("y" * 5000),
        r'"\u001b[31m\u0007red\u001b]0;title\u0007"',
        r'"\ud800"',
        r'"\u0000"',
    ),
    *(
        '"../../../etc/passwd"',
        '"/etc/passwd"',
        '"2026-01-02"',
        '"0001-01-01T00:00:00+00:00"',
        '"running"',
        '"ü\u2028"',
    ),
    *(
        "[]",
        "{}",
        "[[]]",
        "[null]",
        '{"a": 1}',
        '{"": {}}',
        '[1, "x", {}]',
        '{"$float": "x"}',
        '{"$float": []}',
        DEEP,
    ),
)
"""Values as JSON texts; Python could not write some of them."""
_PLACEHOLDER = "the odd value goes here"


def rounds(usual: int) -> int:
    """How many cases to try: `make fuzz` asks for more."""
    return int(os.environ.get("GYMSOLVE_FUZZ_ROUNDS", usual))


def damage_bytes(raw: bytes, chance: random.Random) -> bytes:
    """Flipped, cut, doubled, filled or recoded bytes."""
    place = chance.randrange(len(raw) + 1)
    flipped = bytearray(raw)
    for _ in range(chance.choice((1, 3, 30)) if raw else 0):
        flipped[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    text = raw.decode(errors="replace")
    return chance.choice(
        (
            *(bytes(flipped), raw[:place], raw[place:], b"", raw + raw, raw[:place] + raw),
            *(raw[:place] + chance.randbytes(20) + raw[place:], b"\0" * len(raw), chance.randbytes(200)),
            *(
                text.encode("utf-16"),
                text.encode("latin-1", errors="replace"),
                b"\xef\xbb\xbf" + raw,
                b"[]",
                b"5",
                b"null",
            ),
        )
    )


def damage_json(raw: bytes, chance: random.Random) -> bytes:
    """An odd value at some place, or a key that is gone, renamed or new."""
    data = json.loads(raw)
    node, key = _place(data, chance)
    if node is None:
        return chance.choice(ODD).encode()
    kind = chance.choice(("odd", "odd", "odd", "gone", "new"))
    if kind == "gone":
        del node[key]
    elif kind == "new" and isinstance(node, dict):
        node["surprise \u001b[31m"] = _PLACEHOLDER
    else:
        node[key] = _PLACEHOLDER
    return json.dumps(data).replace(json.dumps(_PLACEHOLDER), chance.choice(ODD)).encode()


def _place(data: Any, chance: random.Random) -> tuple[Any, Any]:
    """A container somewhere in JSON, and a key of it."""
    places = [(None, None)]
    waiting = [data]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        places += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    return chance.choice(places[1:] or places) if chance.random() > 0.03 else (None, None)


def damage_lines(raw: bytes, chance: random.Random) -> bytes:
    """One of several lines of JSON, damaged likewise; or lines out of order, twice or missing."""
    lines = raw.splitlines(keepends=True)
    place = chance.randrange(len(lines))
    kind = chance.choice(("json", "json", "json", "bytes", "shuffled", "twice", "gone"))
    if kind == "shuffled":
        chance.shuffle(lines)
    elif kind == "twice":
        lines.insert(place, lines[place])
    elif kind == "gone":
        del lines[place]
    else:
        change = damage_json if kind == "json" else damage_bytes
        lines[place] = change(lines[place], chance) + b"\n"
    return b"".join(lines)


def damage_file(path: Path, chance: random.Random) -> str:
    """Damage a file, or put something else into its place; says how."""
    others: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "link out": lambda: path.symlink_to("/etc/passwd"),
        "endless link": lambda: path.symlink_to("/dev/zero"),
        "link to itself": lambda: path.symlink_to(path),
        "dangling link": lambda: path.symlink_to("/nowhere/at/all"),
        "gone": lambda: None,
    }
    kinds = ["bytes"] * 3
    if path.suffix in (".json", ".jsonl"):
        kinds += ["json"] * 8
    kind = chance.choice([*kinds, *others]) if chance.random() < 0.6 else kinds[-1]
    if kind in others:
        path.unlink()
        others[kind]()
        return kind
    change = damage_bytes if kind == "bytes" else damage_lines if path.suffix == ".jsonl" else damage_json
    path.write_bytes(change(path.read_bytes(), chance))
    return kind


def damage_sealed(place: Path, chance: random.Random) -> str:
    """Change what is in a checkpoint and make all checksums right again; says what."""
    kind = chance.choice(
        ("state", "state", "state", "meta", "metadata", "metadata", "arrays", "arrays", "no tensors")
    )
    if kind == "state":
        path = place / "trainer.json"
        path.write_bytes(damage_json(path.read_bytes(), chance))
    elif kind != "meta":
        path = place / chance.choice(("policy.safetensors", "trainer.safetensors"))
        path.write_bytes(_odd_tensors(path.read_bytes(), kind, chance))
    _seal(place, chance if kind == "meta" else None)
    return kind


def _odd_tensors(raw: bytes, kind: str, chance: random.Random) -> bytes:
    import numpy as np

    if kind == "no tensors":
        return damage_bytes(raw, chance)
    arrays, metadata = unpack(raw)
    if kind == "metadata" and metadata:
        name = chance.choice(list(metadata))
        metadata[name] = damage_json(metadata[name].encode(), chance).decode(errors="replace")
        if chance.random() < 0.1:
            del metadata[name]
        return pack(arrays, metadata)
    name = chance.choice(list(arrays))
    array = arrays.pop(name)
    changed = chance.choice(
        (
            *(
                array[..., None],
                array.ravel(),
                np.zeros(0, np.float32),
                np.zeros((3, 3), bool),
                array.astype(np.int8),
            ),
            *(
                np.full_like(array, 255 if array.dtype.kind == "u" else -1),
                array.astype(np.float64) * np.nan,
                None,
            ),
        )
    )
    renamed = chance.choice((name, name, "surprise", "optimizer/99/x", "optimizer/", ""))
    return pack(arrays if changed is None else {**arrays, renamed: changed}, metadata)


def _seal(place: Path, chance: random.Random | None) -> None:
    """Write `meta.json` anew, with the sizes and checksums of the files that are there."""
    path = place / "meta.json"
    meta = json.loads(path.read_bytes())
    for name in meta["files"]:
        data = (place / name).read_bytes()
        meta["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    if chance is None:
        path.write_text(_sealed(meta))
        return
    raw = damage_json(path.read_bytes(), chance)
    try:
        path.write_text(_sealed(json.loads(raw)))
    except (TypeError, ValueError, AttributeError, RecursionError):  # it cannot even be sealed
        path.write_bytes(raw)


def copy_runs(source: Path, target: Path) -> None:
    """Copy a runs folder over what an earlier case left."""
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)
