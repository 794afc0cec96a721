"""TensorBoard directories of Stable-Baselines3 and CleanRL; needs the `tensorboard` extra."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from gymsolve.errors import MissingExtraError, RunDamagedError
from gymsolve.metrics.foreign.episodes import LoggedEpisode, episode_records
from gymsolve.metrics.foreign.names import convert, is_known

__all__ = ["Scalars", "find_event_files", "name_records", "read_tensorboard"]

Scalars = dict[str, list[tuple[int, float, float]]]
"""Step, time and value of every point, by name."""

_RETURN, _LENGTH = "charts/episodic_return", "charts/episodic_length"
_ALL = {"scalars": 0}
"""TensorBoard keeps a sample of long series unless told that it may keep all."""


def find_event_files(path: Path) -> list[Path]:
    """The event files of one run: in the folder itself, or one level below it."""
    own = sorted(path.glob("*tfevents*"))
    return own or sorted(path.glob("*/*tfevents*"))


def read_tensorboard(files: list[Path]) -> tuple[str, list[dict[str, Any]]]:
    """Whose log it is, and the records of all event files of a folder, in order of steps."""
    scalars: Scalars = defaultdict(list)
    for file in files:
        for tag, points in _scalars(file).items():
            scalars[tag] += points
    owner, records = name_records(scalars, str(files[0].parent))
    return f"{owner} TensorBoard", records


def name_records(scalars: Scalars, where: str) -> tuple[str, list[dict[str, Any]]]:
    """Whose names these are, and the records under ours, in order of steps."""
    if not any(is_known(tag) or tag == _RETURN for tag in scalars):
        has = ", ".join(sorted(scalars)[:5]) or "no scalars"
        raise RunDamagedError(
            f"holds no metric of Stable-Baselines3 or CleanRL (but {has}).",
            where=where,
        )
    began = min(seconds for points in scalars.values() for _, seconds, _ in points)
    records = [*_episodes(scalars, began), *_measured(scalars, began)]
    owner = (
        "CleanRL" if any(tag.startswith(("charts/", "losses/")) for tag in scalars) else "Stable-Baselines3"
    )
    # The order is stable: episodes come before what was learned from them.
    return owner, sorted(records, key=lambda record: record["env_steps"])


def _scalars(file: Path) -> Scalars:
    """Step, time and value of every scalar."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError as error:
        raise MissingExtraError.of("tensorboard", "tensorboard") from error
    events = EventAccumulator(str(file), size_guidance=_ALL)
    events.Reload()
    return {
        tag: [(int(point.step), float(point.wall_time), float(point.value)) for point in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


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
