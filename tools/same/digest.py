"""Reduces a finished run to digests of what training decided, without times, processes and places.

It reads the run's files and knows nothing of the code that wrote them.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

TIMED = re.compile(r"^time(/|$)|seconds|elapsed|fps|^pid$|process_start|^host$")
"""Keys whose values differ from one run of the same command to the next."""

Result = dict[str, Any]
"""What a case gave: `policy` and `trainer` as digests by name, `metrics` as a list of records."""


def digest_run(run: Path) -> Result:
    """What the last checkpoint and the metrics of a run hold."""
    last = run / "checkpoints" / (run / "checkpoints" / "last").read_text().strip()
    state = json.loads((last / "trainer.json").read_text())
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return {
        "policy": digest_arrays(load_file(last / "policy.safetensors")),
        "trainer": digest_arrays(load_file(last / "trainer.safetensors")) | digest_state(state, run.parent),
        "metrics": [drop_times(json.loads(line)) for line in lines],
    }


def digest_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """A digest of each array: of its type, its shape and every bit of it."""
    return {name: _digest(_array_bytes(array)) for name, array in sorted(arrays.items())}


def digest_state(state: Mapping[str, Any], runs_dir: Path) -> dict[str, str]:
    """A digest of each part of `trainer.json`, times left out; `runs_dir` may be anywhere."""
    parts = {key: value for key, value in state.items() if key != "parts"} | state.get("parts", {})
    texts = {name: json.dumps(drop_times(part), sort_keys=True) for name, part in parts.items()}
    return {
        f"trainer.json {name}": _digest(text.replace(str(runs_dir), "RUNS").encode())
        for name, text in sorted(texts.items())
    }


def drop_times(value: Any) -> Any:
    """The same JSON value without keys that tell times, processes or machines."""
    if isinstance(value, dict):
        return {key: drop_times(inner) for key, inner in value.items() if not TIMED.search(key)}
    if isinstance(value, list):
        return [drop_times(inner) for inner in value]
    return value


def summarise(result: Result) -> dict[str, str]:
    """One sha256 for each of policy, trainer and metrics."""
    return {kind: _digest(json.dumps(value, sort_keys=True).encode()) for kind, value in result.items()}


def find_differences(base: Result, tree: Result) -> list[str]:
    """Where two results differ, one sentence for each of policy, trainer and metrics; empty if nowhere."""
    before, after = summarise(base), summarise(tree)
    sentences = [
        f"{kind}: {_first_name(base[kind], tree[kind])}"
        for kind in ("policy", "trainer")
        if before[kind] != after[kind]
    ]
    if before["metrics"] != after["metrics"]:
        sentences.append(f"metrics: {_first_record(base['metrics'], tree['metrics'])}")
    return sentences


def _first_name(base: Mapping[str, str], tree: Mapping[str, str]) -> str:
    names = sorted(base.keys() | tree.keys())
    differ = [name for name in names if base.get(name) != tree.get(name)]
    first = differ[0]
    where = "" if first in base and first in tree else f" (only in {'BASE' if first in base else 'the tree'})"
    return f"{first}{where}, {len(differ)} of {len(names)} names in all"


def _first_record(base: list[dict[str, Any]], tree: list[dict[str, Any]]) -> str:
    for number, (before, after) in enumerate(zip(base, tree, strict=False), start=1):
        for key in [*before, *(key for key in after if key not in before)]:
            values = [repr(record[key]) if key in record else "absent" for record in (before, after)]
            if values[0] != values[1]:
                steps = before.get("env_steps")
                return f"record {number} (env_steps {steps}): {key} was {values[0]}, is {values[1]}"
    return f"there were {len(base)} records, and there are {len(tree)}"


def _array_bytes(array: np.ndarray) -> bytes:
    return f"{array.dtype.str} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
