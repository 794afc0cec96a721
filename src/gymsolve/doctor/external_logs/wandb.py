"""Runs logged to W&B: by gymsolve, or by Stable-Baselines3 or CleanRL through their TensorBoard names.

An offline run is a `.wandb` file: blocks as in LevelDB's log, 7 bytes of header and then fragments of at most
32 KiB, each with checksum, length and kind; joined, they are W&B's own protocol buffers. An online one comes
through W&B's interface. Both need the `wandb` extra.

W&B has no public reader of its files, so this one is frozen: it takes history, config and summary, and
nothing is added to it. Should a release of W&B change the format, `wandb sync` and
`wandb:ENTITY/PROJECT/RUN` remain.
"""

import json
import math
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from gymsolve.doctor.external_logs.numbers import as_steps, tame
from gymsolve.doctor.external_logs.tensorboard import Scalars
from gymsolve.errors import GymsolveError, MissingExtraError, RunDamagedError, UnknownRunError, UsageError
from gymsolve.metrics.catalog import find_metric

_BLOCK, _HEAD = 32768, 7
_BEGINNING = b":W&B"
_FIRST_FRAGMENTS, _LAST_FRAGMENTS = (1, 2), (1, 4)
_MOST_ROWS = 10_000
_SECONDS = 15
_FULL_NAME = "Write wandb:ENTITY/PROJECT/RUN."
_UNNUMBERED = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}
_STEPS = ("global_step", "time/total_timesteps", "_step")
"""Columns that hold environment steps in logs that came through TensorBoard; W&B's own counter comes last."""
_SECONDS_IN = ("_timestamp", "_runtime")


@dataclass(frozen=True)
class WandbRun:
    """The rows that were logged, and the settings that were logged with them."""

    name: str
    where: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        nested = (isinstance(self.config.get(name), dict) for name in ("env", "algo"))
        return all(nested) and "run" in self.config

    def records(self) -> list[dict[str, Any]]:
        """Our own records, without columns that W&B or other entries add."""
        kept = [
            {name: tame(value) for name, value in row.items() if _is_number(value) and find_metric(name)}
            | {"env_steps": steps}
            for row in self.rows
            if (steps := as_steps(row.get("env_steps"))) is not None
        ]
        return [record for record in kept if len(record) > 1]

    @property
    def threshold(self) -> float | None:
        """The return that counts as solved, if it was logged."""
        bar = self.summary.get("result/threshold")
        return tame(bar) if bar is not None and _is_finite(bar) else None

    def scalars(self) -> Scalars:
        """The rows as TensorBoard holds them: step, seconds and value by name."""
        scalars: Scalars = defaultdict(list)
        for row in self.rows:
            counts = (as_steps(row.get(name)) for name in _STEPS)
            step = next((count for count in counts if count is not None), None)
            if step is None:
                continue
            seconds = next((tame(row[name]) for name in _SECONDS_IN if _is_finite(row.get(name))), 0.0)
            for name, value in row.items():
                if _is_number(value) and not name.startswith("_"):
                    scalars[name].append((step, seconds, tame(value)))
        return scalars


def find_wandb_files(path: Path) -> list[Path]:
    """The files of the one run in W&B's folder, sitting after sitting; none where there are several runs."""
    files = [file for file in sorted(path.glob("*run-*/run-*.wandb")) if file.is_file()]
    return files if len({file.name for file in files}) == 1 else []


def read_wandb(files: Sequence[Path]) -> WandbRun:
    """The run in the files of its sittings."""
    try:
        protocol: Any = import_module("wandb.proto.wandb_internal_pb2")
    except ImportError as error:
        raise MissingExtraError.of("wandb", "wandb") from error
    from google.protobuf.message import DecodeError

    run = WandbRun(files[0].stem.removeprefix("run-"), str(files[0].parent))
    for file in files:
        try:
            for data in _fragments(file.read_bytes()):
                record = protocol.Record()
                record.ParseFromString(data)
                _take(run, record)
        except (DecodeError, ValueError, RecursionError) as error:
            raise RunDamagedError("is no file of W&B, or a damaged one.", where=str(file)) from error
    return run


def fetch_wandb(ref: str) -> WandbRun:
    """The run `ENTITY/PROJECT/RUN` (or PROJECT/RUN) from W&B's server."""
    try:
        import wandb
    except ImportError as error:
        raise MissingExtraError.of("wandb", "wandb") from error
    if not 2 <= len(ref.strip("/").split("/")) <= 3:
        raise UsageError(f"'wandb:{ref}' names no run.", hint=_FULL_NAME)
    wandb.setup(wandb.Settings(silent=True))
    try:
        run = wandb.Api(timeout=_SECONDS).run(ref.strip("/"))
        rows = run.history(samples=_MOST_ROWS, pandas=False)
        config, summary, where = dict(run.config), dict(run.summary_metrics), str(run.url)
    except wandb.errors.UsageError as error:
        raise UsageError("W&B has no account here.", hint="Log in with: wandb login") from error
    except (wandb.errors.Error, ValueError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        if "could not find" in reason.lower() or "not found" in reason.lower():
            message = f"W&B has no run '{ref}', or not for this account."
            raise UnknownRunError(message, hint=_FULL_NAME) from error
        raise GymsolveError(f"the run could not be read ({reason}).", where="W&B") from error
    return WandbRun(ref.rpartition("/")[2], where, [_plain(row) for row in rows], config, summary)


def _take(run: WandbRun, record: Any) -> None:
    kind = record.WhichOneof("record_type")
    if kind == "history":
        row = {_key(item): json.loads(item.value_json) for item in record.history.item if item.value_json}
        run.rows.append(_plain(row))
    elif kind in ("run", "config"):
        update = record.run.config.update if kind == "run" else record.config.update
        run.config.update({_key(item): json.loads(item.value_json) for item in update})
    elif kind == "summary":
        run.summary.update({_key(item): json.loads(item.value_json) for item in record.summary.update})


def _key(item: Any) -> str:
    return ".".join(item.nested_key) or str(item.key)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose NaN and infinities, which W&B stores as text, are numbers again."""
    return {
        name: _UNNUMBERED.get(value, value) if isinstance(value, str) else value
        for name, value in row.items()
    }


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and _is_number(value) and math.isfinite(tame(value))


def _fragments(data: bytes) -> list[bytes]:
    """The records of a log; a last one that was cut off is left out."""
    if not _BEGINNING.startswith(data[: len(_BEGINNING)]):  # it may be cut off even there
        raise ValueError("another beginning")
    records, place, parts = [], _HEAD, list[bytes]()
    while place + _HEAD <= len(data):
        if _BLOCK - place % _BLOCK < _HEAD:  # too little room for a header: the rest of the block is padding
            place += _BLOCK - place % _BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + _HEAD])
        end = place + _HEAD + length
        if end > len(data):
            break
        parts = [] if kind in _FIRST_FRAGMENTS else parts
        parts.append(data[place + _HEAD : end])
        place = end
        if kind in _LAST_FRAGMENTS:
            records.append(b"".join(parts))
            parts = []
    return records
