"""What a W&B offline run holds, read back from its `.wandb` file.

The file is a log of blocks (as LevelDB's): 7 bytes of header, then fragments of at most 32 KiB, each with
checksum, length and kind. The records in it are W&B's own protocol buffers.
"""

import json
import struct
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2 as protocol

BLOCK = 32768
LAST_FRAGMENTS = (1, 4)


def read_wandb(folder: Path) -> list[Any]:
    """All records of the only W&B run in the folder of a run, sitting after sitting."""
    files = sorted(folder.glob("wandb/offline-run-*/run-*.wandb"))
    return [record for file in files for record in _records(file.read_bytes())]


def of_kind(records: list[Any], kind: str) -> list[Any]:
    return [getattr(one, kind) for one in records if one.WhichOneof("record_type") == kind]


def history(records: list[Any]) -> list[dict[str, Any]]:
    """What was logged, row by row; parts of media are joined by dots."""
    return [
        {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in row.item}
        for row in of_kind(records, "history")
    ]


def _records(data: bytes) -> list[Any]:
    found, place, parts = [], 7, b""
    while place + 7 <= len(data):
        if BLOCK - place % BLOCK < 7:  # too little room for a header: the rest of the block is padding
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in LAST_FRAGMENTS:
            record = protocol.Record()
            record.ParseFromString(parts)
            found.append(record)
            parts = b""
    return found
