"""Numbers, durations and series as people read them, and text that is safe to print on a terminal."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

UNITS = {"env_steps": "environment steps", "vec_steps": "vector steps"}
"""The names of steps, by their unit."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_COMMANDS = re.compile(
    # Control characters but tab and newline, halves of characters, and marks that turn text around.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def printable(text: str, *, json: bool = False) -> str:
    """The text with escapes for all characters that would control a terminal; `json` escapes as JSON does.

    Names, ids and paths may come from elsewhere.
    """

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\x{code:02x}" if code < 256 and not json else f"\\u{code:04x}"

    return _COMMANDS.sub(escape, text)


def count(value: float) -> str:
    """`12,288`."""
    return f"{value:,.0f}"


def size(steps: int) -> str:
    """A number of steps as people type it: `200k`, `1.5m`, `12345`."""
    for unit, letter in ((1_000_000, "m"), (1_000, "k")):
        if steps >= unit and steps % (unit // 10) == 0:
            return f"{steps / unit:g}{letter}"
    return str(steps)


def number(value: float | None, precision: int = 4) -> str:
    """A number with so many significant digits; a dash for an unknown one."""
    if value is None or math.isnan(value):
        return "–"
    if abs(value) < 1e6 and value == int(value):
        return f"{int(value):,}"
    if 100 <= abs(value) < 1e6:
        return f"{value:,.{max(1, precision - 3)}f}"
    return f"{value:.{precision}g}"


def short(value: float, digits: int = 3) -> str:
    """A number where room is scarce, such as on an axis: `20k`, `1.5m`, `0.003`."""
    for unit, letter in ((1e9, "g"), (1e6, "m"), (1e3, "k"), (1.0, "")):
        if abs(value) >= unit:
            text = f"{value / unit:.{digits}g}"
            return f"{value / unit:.0f}{letter}" if "e" in text else f"{text}{letter}"
    return f"{value:.{digits}g}"


def data_size(size: int) -> str:
    """A number of bytes: `812 B`, `3.4 MB`."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def plural(amount: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count(amount)} {thing}{'' if amount == 1 else 's'}"


def score(mean: float | None, std: float | None = None) -> str:
    """`182.3 ± 20.1`; the spread has no more digits than the mean."""
    if mean is None or std is None:
        return number(mean)
    return f"{number(mean)} ± {f'{std:.1f}' if abs(mean) >= 100 else number(std)}"


def duration(seconds: float) -> str:
    """`0:42`, `1:02:03`, `2 d 3 h`; a dash for an unknown one."""
    if not math.isfinite(seconds):
        return "–"
    whole = int(seconds)
    if whole >= 2 * 86400:
        return f"{whole // 86400} d {whole % 86400 // 3600} h"
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
    return f"{whole // 60}:{whole % 60:02}"


def took(seconds: float) -> str:
    """The time that something took: `0.8 s`, and from ten seconds on as in `duration`."""
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def age(moment: str) -> str:
    """The age of a stored time: `3 min`, `2 h`, `5 d`."""
    if not moment:
        return "–"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name}"
    return "now"


def setting(value: Any) -> str:
    """A setting as `--set` takes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        if set(value) == {"start", "end"}:  # a linear schedule
            return f"{value['start']:g} -> {value['end']:g}"
        return "{" + ", ".join(f"{key}: {setting(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(setting(inner) for inner in value) + "]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def sparkline(values: Sequence[float], width: int = 40, limits: tuple[float, float] | None = None) -> str:
    """A series as blocks from its lowest to its highest value, or between `limits`; NaN becomes a blank."""
    means = resample(values, width)
    finite = [mean for mean in means if mean == mean]
    if not finite:
        return " " * len(means)
    low, high = limits or (min(finite), max(finite))
    scale = (len(_BLOCKS) - 1) / (high - low or 1.0)
    heights = [min(max(mean, low), high) - low for mean in means]
    return "".join([_BLOCKS[round(height * scale)] if height == height else " " for height in heights])


def resample(values: Sequence[float], width: int) -> list[float]:
    """Means of `width` equal parts; fewer values stay as they are. NaN where nothing was finite."""
    total = len(values)
    if total <= width:
        return [value if math.isfinite(value) else math.nan for value in values]
    means = []
    for begin, end in pairwise(index * total // width for index in range(width + 1)):
        mean = sum(values[begin:end]) / (end - begin)
        if not math.isfinite(mean):
            part = [value for value in values[begin:end] if math.isfinite(value)]
            mean = sum(part) / len(part) if part else math.nan
        means.append(mean)
    return means
