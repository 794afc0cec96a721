"""TensorBoard folders of Stable-Baselines3 and CleanRL; needs the `tensorboard` extra.

An event file is a row of records: 8 bytes of length, 4 of checksum, an event, 4 of checksum. It is read here
instead of by TensorBoard, which keeps samples of what it reads and gives up loudly where a file is damaged:
whatever comes before the damage counts.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from gymsolve.doctor.external_logs.episodes import LoggedEpisode, episode_records
from gymsolve.doctor.external_logs.names import convert, is_known
from gymsolve.doctor.external_logs.numbers import as_steps, tame
from gymsolve.doctor.external_logs.settings import parse_table
from gymsolve.errors import MissingExtraError, RunDamagedError, UsageError

Scalars = dict[str, list[tuple[int, float, float]]]
"""Step, time and value of every point, by name."""

_RETURN, _LENGTH = "charts/episodic_return", "charts/episodic_length"
_SETTINGS = "hyperparameters/text_summary"
_HEAD, _FOOT = 12, 4


class Events(NamedTuple):
    """What the event files of one training hold."""

    scalars: Scalars
    settings: dict[str, Any]
    problems: list[str]


def read_tensorboard(files: tuple[Path, ...]) -> Events:
    """All points of a training; files whose steps begin again are of several, and are listed."""
    found = Events(defaultdict(list), {}, [])
    parts = sorted(((file, _read(file)) for file in files), key=lambda part: _began(part[1]))
    furthest = -1
    for file, one in parts:
        steps = [step for points in one.scalars.values() for step, _, _ in points]
        if steps and min(steps) < furthest:
            names = "".join(f"\n  {path}" for path in files)
            raise UsageError(f"'{file.parent}' holds {len(files)} logs; name one of them:{names}")
        furthest = max([furthest, *steps])
        for tag, points in one.scalars.items():
            found.scalars[tag] += points
        found.settings.update(one.settings)
        found.problems.extend(one.problems)
    return found


def name_records(scalars: Scalars, where: str) -> tuple[str, list[dict[str, Any]]]:
    """Whose names these are, and the records under ours, in order of steps."""
    if not any(is_known(tag) or tag == _RETURN for tag in scalars):
        has = ", ".join(repr(tag[:60])[1:-1] for tag in sorted(scalars)[:5]) or "no scalars"
        raise RunDamagedError(
            f"holds no metric of Stable-Baselines3 or CleanRL (but {has}).",
            where=where,
        )
    began = min((seconds for points in scalars.values() for _, seconds, _ in points), default=0.0)
    records = [*_episodes(scalars, began), *_measured(scalars, began)]
    owner = (
        "CleanRL" if any(tag.startswith(("charts/", "losses/")) for tag in scalars) else "Stable-Baselines3"
    )
    # The order is stable: episodes come before what was learned from them.
    return owner, sorted(records, key=lambda record: record["env_steps"])


# -------------------------------------------------------------------------------------- event files


def _read(file: Path) -> Events:
    try:
        protocol: Any = import_module("tensorboard.compat.proto.event_pb2")
    except ImportError as error:
        raise MissingExtraError.of("tensorboard", "tensorboard") from error
    from google.protobuf.message import DecodeError

    found = Events(defaultdict(list), {}, [])
    data = file.read_bytes()
    for place, record in _framed(data):
        event = protocol.Event()
        try:
            event.ParseFromString(record)
            _take(found, event, protocol.SessionLog.START)
        except (DecodeError, ValueError):
            found.problems.append(f"{file.name} is damaged from byte {place:,} on; the rest was not read")
            break
    else:
        if data and not found.scalars and not found.settings:
            found.problems.append(f"{file.name} holds nothing that can be read")
    return found


def _framed(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where each record begins, and the record; one that was cut off ends the file."""
    place = 0
    while place + _HEAD <= len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        end = place + _HEAD + length
        if end + _FOOT > len(data):
            return
        yield place, data[place + _HEAD : end]
        place = end + _FOOT


def _take(found: Events, event: Any, start: int) -> None:
    step, seconds = as_steps(event.step), tame(event.wall_time)
    if step is None or seconds - seconds != 0:  # not finite
        return
    if event.HasField("session_log") and event.session_log.status == start:
        # A training that went back: what it had logged beyond this step is no longer so.
        for points in found.scalars.values():
            points[:] = [point for point in points if point[0] < step]
    for value in event.summary.value:
        if value.HasField("simple_value"):
            found.scalars[value.tag].append((step, seconds, tame(value.simple_value)))
        elif value.HasField("tensor") and value.tag == _SETTINGS and value.tensor.string_val:
            found.settings.update(parse_table(value.tensor.string_val[0].decode(errors="replace")))
        elif value.HasField("tensor") and len(value.tensor.float_val) == 1:
            found.scalars[value.tag].append((step, seconds, tame(value.tensor.float_val[0])))


def _began(events: Events) -> float:
    return min((seconds for points in events.scalars.values() for _, seconds, _ in points), default=0.0)


# ------------------------------------------------------------------------------------------ records


def _episodes(scalars: Scalars, began: float) -> list[dict[str, Any]]:
    """CleanRL logs every episode by itself, return and length one after the other."""
    returns, lengths = scalars.get(_RETURN, []), scalars.get(_LENGTH, [])
    paired: list[float | None] = [length for _, _, length in lengths]
    if len(paired) != len(returns):
        paired = [None] * len(returns)
    return episode_records(
        [
            LoggedEpisode(step, total, length, seconds - began)
            for (step, seconds, total), length in zip(returns, paired, strict=True)
        ]
    )


def _measured(scalars: Scalars, began: float) -> list[dict[str, Any]]:
    """Everything else: what has the same step is one record."""
    rows: dict[int, dict[str, Any]] = {}
    for tag, points in scalars.items():
        for step, seconds, value in points:
            ours = convert(tag, value)
            if ours is not None:
                row = rows.setdefault(step, {"env_steps": step, "time/elapsed": seconds - began})
                row[ours[0]] = ours[1]
    return list(rows.values())
