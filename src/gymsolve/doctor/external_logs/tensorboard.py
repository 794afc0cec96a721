"""Reads TensorBoard folders of Stable-Baselines3 and CleanRL; needs the `tensorboard` extra.

An event file is a row of records: 8 bytes of length, 4 of checksum, an event, 4 of checksum. TensorBoard's
own reader keeps only samples and fails on a damaged file; this one keeps all points before the damage.
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
    """The contents of the event files of one training."""

    scalars: Scalars
    settings: dict[str, Any]
    problems: list[str]


def read_tensorboard(files: tuple[Path, ...]) -> Events:
    """All points of a training; files whose steps begin again belong to several trainings, and are listed."""
    whole = Events(defaultdict(list), {}, [])
    parts = sorted(((file, _read(file)) for file in files), key=lambda part: _began(part[1]))
    furthest = -1
    for file, events in parts:
        steps = [step for points in events.scalars.values() for step, _, _ in points]
        if steps and min(steps) < furthest:
            names = "".join(f"\n  {path}" for path in files)
            raise UsageError(f"'{file.parent}' holds {len(files)} logs; name one of them:{names}")
        furthest = max([furthest, *steps])
        for tag, points in events.scalars.items():
            whole.scalars[tag] += points
        whole.settings.update(events.settings)
        whole.problems.extend(events.problems)
    return whole


def name_records(scalars: Scalars, where: str) -> tuple[str, list[dict[str, Any]]]:
    """The tool that gave these names, and the records under our names, in order of steps."""
    if not any(is_known(tag) or tag == _RETURN for tag in scalars):
        has = ", ".join(repr(tag[:60])[1:-1] for tag in sorted(scalars)[:5]) or "no scalars"
        raise RunDamagedError(f"holds no metric of Stable-Baselines3 or CleanRL (but {has}).", where=where)
    began = min((seconds for points in scalars.values() for _, seconds, _ in points), default=0.0)
    records = [*_episodes(scalars, began), *_measured(scalars, began)]
    cleanrl = any(tag.startswith(("charts/", "losses/")) for tag in scalars)
    owner = "CleanRL" if cleanrl else "Stable-Baselines3"
    # The sort is stable: episodes come before the updates that learned from them.
    return owner, sorted(records, key=lambda record: record["env_steps"])


# -------------------------------------------------------------------------------------- event files


def _read(file: Path) -> Events:
    try:
        protocol: Any = import_module("tensorboard.compat.proto.event_pb2")
    except ImportError as error:
        raise MissingExtraError.of("tensorboard", "tensorboard") from error
    from google.protobuf.message import DecodeError

    events = Events(defaultdict(list), {}, [])
    data = file.read_bytes()
    for place, record in _framed(data):
        event = protocol.Event()
        try:
            event.ParseFromString(record)
            _take(events, event, protocol.SessionLog.START)
        except (DecodeError, ValueError):
            events.problems.append(f"{file.name} is damaged from byte {place:,} on; the rest was not read")
            break
    else:
        if data and not events.scalars and not events.settings:
            events.problems.append(f"{file.name} holds nothing that can be read")
    return events


def _framed(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The place and bytes of each record; a record that was cut off ends the file."""
    place = 0
    while place + _HEAD <= len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        end = place + _HEAD + length
        if end + _FOOT > len(data):
            return
        yield place, data[place + _HEAD : end]
        place = end + _FOOT


def _take(events: Events, event: Any, start: int) -> None:
    step, seconds = as_steps(event.step), tame(event.wall_time)
    if step is None or seconds - seconds != 0:  # not finite
        return
    if event.HasField("session_log") and event.session_log.status == start:
        # The training went back: drop all that it had logged from this step on.
        for points in events.scalars.values():
            points[:] = [point for point in points if point[0] < step]
    for value in event.summary.value:
        if value.HasField("simple_value"):
            events.scalars[value.tag].append((step, seconds, tame(value.simple_value)))
        elif value.HasField("tensor") and value.tag == _SETTINGS and value.tensor.string_val:
            events.settings.update(parse_table(value.tensor.string_val[0].decode(errors="replace")))
        elif value.HasField("tensor") and len(value.tensor.float_val) == 1:
            events.scalars[value.tag].append((step, seconds, tame(value.tensor.float_val[0])))


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
    """All other points; those of one step make one record."""
    rows: dict[int, dict[str, Any]] = {}
    for tag, points in scalars.items():
        for step, seconds, value in points:
            ours = convert(tag, value)
            if ours is not None:
                row = rows.setdefault(step, {"env_steps": step, "time/elapsed": seconds - began})
                row[ours[0]] = ours[1]
    return list(rows.values())
